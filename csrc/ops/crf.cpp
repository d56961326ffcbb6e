// Conditional random fields on linear chains (Lafferty et al. 2001). Sequences are packed: the rows of each step follow
// those of the previous step, and within a step the sequences are sorted by length, the longest first.
//
// The recursions over the steps consist of ops, on Tensors and on Vars alike; on the CPU, loops compute the value and
// the first derivative of the partition function.
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/max.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <numeric>

#include "core/named.h"
#include "kernels/trace.h"
#include "ops/crf_chain.h"
#include "ops/gather.h"
#include "ops/index.h"

namespace cg {
namespace {

template <class T>
T log_sum(const T& x, int64_t axis) {
  return Named(CG_NAMED("logsumexp")).with("axis", std::optional<Ints>(Ints{axis}))(x);
}
template <class T>
T rows(const T& x, int64_t begin, int64_t end) {
  return begin == 0 && end == value(x).size(0) ? x : get_item(x, along(0, begin, end));
}
template <class T>
T joined(const std::vector<T>& parts) {
  return parts.size() == 1 ? parts[0] : concat(c10::ArrayRef<T>(parts), 0);
}

struct Packed {
  Ints sizes;  // the number of sequences in each step
  static constexpr bool any_dtype = true;

  int64_t steps() const { return static_cast<int64_t>(sizes.size()); }
  int64_t next(int64_t t) const { return t + 1 < steps() ? sizes[t + 1] : 0; }
  void check(const char* op, const Tensor& cost, const Tensor& x) const {
    TORCH_CHECK_VALUE(!sizes.empty() && std::is_sorted(sizes.rbegin(), sizes.rend()) && sizes.back() >= 0 &&
                          x.dim() == 2 && std::accumulate(sizes.begin(), sizes.end(), int64_t(0)) == x.size(0),
                      op, ": sizes must not increase and have the number of rows of x as their sum; sizes are ",
                      at::IntArrayRef(sizes), ", x is of shape ", x.sizes());
    TORCH_CHECK_VALUE(cost.dim() == 2 && cost.size(0) == cost.size(1) && cost.size(0) == x.size(1), op,
                      ": cost of shape ", cost.sizes(), " does not fit x of shape ", x.sizes());
    TORCH_CHECK_TYPE(cost.scalar_type() == x.scalar_type(), op, ": cost and x must have one dtype, not ",
                     cost.scalar_type(), " and ", x.scalar_type());
  }
  template <class T>
  std::vector<T> split(const T& x) const {
    std::vector<T> r;
    int64_t begin = 0;
    for (const int64_t n : sizes) {
      r.push_back(rows(x, begin, begin + n));
      begin += n;
    }
    return r;
  }
  // Collects from the values of each step the rows of the sequences that end there, the longest sequence first.
  template <class T>
  T last(const std::vector<T>& x) const {
    std::vector<T> ended;
    for (int64_t t = steps() - 1; t >= 0; --t)
      if (sizes[t] > next(t) || t + 1 == steps()) ended.push_back(rows(x[t], next(t), sizes[t]));
    return joined(ended);
  }
};

struct CrfLogPartition : Packed {
  static constexpr auto params() { return std::make_tuple(required("sizes", &CrfLogPartition::sizes)); }
  static constexpr Mask saves = in_bit(0) | in_bit(1);
  Tensor alpha;  // `beginnings` of all rows in double, if forward was a loop
  static constexpr auto stored() { return std::make_tuple(param("alpha", &CrfLogPartition::alpha)); }

  static bool narrow(const Tensor& x) { return x.element_size() < 4; }
  template <class T>
  static T wide(const T& x) {
    return narrow(value(x)) ? cast(x, at::kFloat) : x;
  }
  // Scores of label pairs (n, from, to), from the scores before and after a transition; either may be absent.
  template <class T>
  static T moves(const T& cost, const T* before, const T* after) {
    T r = cost;
    const int64_t k = value(cost).size(0);
    if (before) r = reshape(*before, {value(*before).size(0), k, 1}) + r;
    if (after) r = r + reshape(*after, {value(*after).size(0), 1, k});
    return r;
  }
  // For each step and label, the logarithm of the sum of exp(score) over all beginnings of a sequence that end with
  // this label, including the label's score.
  template <class T>
  std::vector<T> beginnings(const T& cost, const std::vector<T>& x) const {
    std::vector<T> sums{x[0]};
    for (int64_t t = 1; t < steps(); ++t) {
      const T before = rows(sums.back(), 0, sizes[t]);
      sums.push_back(log_sum(moves<T>(cost, &before, nullptr), 1) + x[t]);
    }
    return sums;
  }
  Tensor infer(const Tensor&, const Tensor& x) { return at::empty({sizes.empty() ? 0 : sizes[0]}, x.options()); }
  Tensor forward(const Tensor& cost, const Tensor& x) {
    check("crf_log_partition", cost, x);
    if (x.is_cpu() && cost.is_cpu() && x.is_floating_point() && !kernels::traced(x) && !kernels::traced(cost))
      return loop(cost, x);
    return log_sum(last(beginnings(wide(cost), split(wide(x)))), 1).to(x.scalar_type());
  }
  Tensor loop(const Tensor& cost, const Tensor& given) {
    const Tensor x = given.to(at::kDouble).contiguous(), y = at::empty({sizes[0]}, x.options());
    alpha = at::empty_like(x, at::MemoryFormat::Contiguous);
    CrfChain chain(cost);
    const int64_t k = x.size(1);
    const double* score = x.const_data_ptr<double>();
    double *to = alpha.mutable_data_ptr<double>(), *log_z = y.mutable_data_ptr<double>();
    std::copy_n(score, sizes[0] * k, to);
    for (int64_t t = 0; t < steps(); ++t) {
      const int64_t below = sizes[t] * k;  // the offset from a row to the same sequence's row in the next step
      for (int64_t b = 0; b < sizes[t]; ++b, to += k, score += k)
        if (b < next(t))
          chain.move(to, score + below, to + below);
        else
          log_z[b] = chain.total(to);
    }
    return y.to(given.scalar_type());
  }
  void loop_back(Ctx<Tensor>& c) const {
    check("crf_log_partition", c.in(0), c.in(1));  // other arrays than in forward, if a program has replaced them
    const Tensor x = c.in(1).to(at::kDouble).contiguous(), gy = c.gy().to(at::kDouble).contiguous();
    TORCH_CHECK_VALUE(alpha.sizes() == x.sizes(), "crf_log_partition: x of shape ", x.sizes(),
                      " replaced one of shape ", alpha.sizes());
    const Tensor gx = at::zeros_like(x), gcost = at::empty(c.in(0).sizes(), x.options());
    CrfChain chain(c.in(0));
    const int64_t k = x.size(1);
    const double *from = alpha.const_data_ptr<double>(), *score = x.const_data_ptr<double>();
    double* g = gx.mutable_data_ptr<double>();
    int64_t row = x.numel();
    for (int64_t t = steps() - 1; t >= 0; --t)
      for (int64_t b = sizes[t] - 1; b >= 0; --b) {
        row -= k;
        const int64_t below = row + sizes[t] * k;
        if (b < next(t)) {
          chain.move_back(from + row, score + below, from + below, g + below, g + row);
          continue;
        }
        const double log_z = chain.total(from + row), scale = gy.const_data_ptr<double>()[b];
        for (int64_t i = row; i < row + k; ++i) g[i] = std::exp(from[i] - log_z) * scale;
      }
    chain.cost_gradient(gcost.mutable_data_ptr<double>());
    if (steps() > 1) c.grad(0, [&] { return gcost.to(c.in_dtype(0)); });
    c.grad(1, [&] { return gx.to(c.in_dtype(1)); });
  }
  // The gradient of a label's score is the label's probability at its step; that of a pair's cost is the sum of the
  // pair's probabilities over the steps.
  template <class T>
  void backward(Ctx<T>& c) {
    if constexpr (std::is_same_v<T, Tensor>)
      if (alpha.defined() && !kernels::traced(c.gy()) && !kernels::traced(c.in(0)) && !kernels::traced(c.in(1)))
        return loop_back(c);
    const T cost = wide(c.in(0)), gy = reshape(wide(c.gy()), {sizes[0], 1});
    const std::vector<T> x = split(wide(c.in(1))), sums = beginnings(cost, x);
    const T total = reshape(log_sum(last(sums), 1), {sizes[0], 1});
    const auto options = value(cost).options();
    const int64_t k = value(cost).size(0);
    std::vector<T> gx(steps());
    T gcost, ends;  // ends: for each label at a step, the logarithm of the sum of exp(score) over all following endings
    for (int64_t t = steps() - 1; t >= 0; --t) {
      const int64_t n = sizes[t], go_on = next(t);
      std::vector<T> parts;
      if (go_on || t + 1 < steps()) parts.push_back(ends);
      if (n > go_on || parts.empty()) parts.push_back(T(at::zeros({n - go_on, k}, options)));
      const T beta = joined(parts), log_z = rows(total, 0, n), g = rows(gy, 0, n);
      gx[t] = exp(sums[t] + beta - log_z) * g;
      if (t == 0) break;
      const T after = x[t] + beta;
      if (c.needs(0)) {
        const T before = rows(sums[t - 1], 0, n) - log_z;
        const T p = sum(exp(moves<T>(cost, &before, &after)) * reshape(g, {n, 1, 1}), {0});
        gcost = value(gcost).defined() ? gcost + p : p;
      }
      ends = log_sum(moves<T>(cost, nullptr, &after), 2);
    }
    if (steps() > 1) c.grad(0, [&] { return narrow(value(c.in(0))) ? cast(gcost, c.in_dtype(0)) : gcost; });
    c.grad(1, [&] { return narrow(value(c.in(1))) ? cast(joined(gx), c.in_dtype(1)) : joined(gx); });
  }
};
CG_OP("crf_log_partition", CrfLogPartition,
      "log of the sum, over all label sequences, of exp(score), for each sequence; a score is the sum of x (rows, "
      "labels) over the labels and of cost (from, to) over the pairs. sizes: how many rows each step has.")

struct CrfScore : Packed {
  static constexpr auto params() { return std::make_tuple(required("sizes", &CrfScore::sizes)); }
  static constexpr Mask integers = in_bit(2);
  static constexpr Mask saves = in_bit(2);

  struct Places {
    Tensor sequence;  // of each row
    Tensor moved;     // for each row except those of the first step
    Tensor labels;    // (rows, 1)
    Tensor pairs;     // for each transition, its index in cost

    Places(const Ints& sizes, const Tensor& given, int64_t k) {
      const Tensor t = given.to(at::kLong);
      std::vector<Tensor> sequences, before;
      const Tensor ramp = at::arange(sizes[0], t.options());
      int64_t begin = 0;
      for (size_t s = 0; s < sizes.size(); ++s) {
        sequences.push_back(ramp.narrow(0, 0, sizes[s]));
        if (s + 1 < sizes.size()) before.push_back(t.narrow(0, begin, sizes[s + 1]));
        begin += sizes[s];
      }
      sequence = at::cat(sequences);
      moved = sequence.narrow(0, sizes[0], sequence.size(0) - sizes[0]);
      labels = t.where(t.ge(0), t + k).unsqueeze(1);
      if (before.empty()) return;
      const Tensor p = at::cat(before) * k + t.narrow(0, sizes[0], moved.size(0));
      pairs = p.where(p.ge(0), p + k * k);
    }
  };
  Tensor infer(const Tensor&, const Tensor& x, const Tensor&) {
    return at::empty({sizes.empty() ? 0 : sizes[0]}, x.options());
  }
  Tensor forward(const Tensor& cost, const Tensor& x, const Tensor& labels) {
    check("crf_score", cost, x);
    const int64_t k = x.size(1);
    TORCH_CHECK_VALUE(labels.dim() == 1 && labels.size(0) == x.size(0), "crf_score: labels of shape ", labels.sizes(),
                      " do not fit x of shape ", x.sizes());
    check_index("crf_score", labels, -k, k);
    const Places p(sizes, labels, k);
    Tensor y = at::zeros({sizes[0]}, x.options());
    y.index_add_(0, p.sequence, x.gather(1, p.labels).squeeze(1));
    if (p.pairs.defined()) y.index_add_(0, p.moved, cost.reshape(-1).index_select(0, p.pairs));
    return y;
  }
  template <class T>
  void backward(Ctx<T>& c) {
    const int64_t k = c.in_sizes(1)[1], n = c.in_sizes(1)[0];
    const Places p(sizes, known(c.in(2)), k);
    if (p.pairs.defined())
      c.grad(0, [&] { return reshape(add_along(select_along(c.gy(), T(p.moved), 0), T(p.pairs), 0, k * k), {k, k}); });
    c.grad(1, [&] {
      return scatter_along(reshape(select_along(c.gy(), T(p.sequence), 0), {n, 1}), T(p.labels), 1, {n, k});
    });
  }
};
CG_OP("crf_score", CrfScore,
      "The score of given labels (rows,), for each sequence: the sum of x (rows, labels) over the labels and of cost "
      "(from, to) over the pairs. sizes: how many rows each step has.")

struct CrfPath : Packed {
  static constexpr auto params() { return std::make_tuple(required("sizes", &CrfPath::sizes)); }
  static constexpr Mask saves = 0;

  Tensor infer(const Tensor&, const Tensor& x) { return at::empty({x.size(0)}, x.options().dtype(at::kLong)); }
  Tensor forward(const Tensor& cost, const Tensor& x) {
    check("crf_path", cost, x);
    const std::vector<Tensor> scores = split(x);
    std::vector<Tensor> alpha{scores[0]}, choices(1), path(steps());
    for (int64_t t = 1; t < steps(); ++t) {
      const auto [best, from] = at::max(rows(alpha.back(), 0, sizes[t]).unsqueeze(2) + cost, 1);
      choices.push_back(from);
      alpha.push_back(best + scores[t]);
    }
    for (int64_t t = steps() - 1; t >= 0; --t) {
      std::vector<Tensor> parts;
      if (t + 1 < steps()) parts.push_back(choices[t + 1].gather(1, path[t + 1].unsqueeze(1)).squeeze(1));
      if (sizes[t] > next(t) || parts.empty())
        parts.push_back(std::get<1>(at::max(rows(alpha[t], next(t), sizes[t]), 1)));
      path[t] = parts.size() == 1 ? parts[0] : at::cat(parts);
    }
    return at::cat(path);
  }
  template <class T>
  void backward(Ctx<T>&) {}
};
CG_OP("crf_path", CrfPath,
      "The labels (rows,) with the best score for each sequence, the first of equal ones; the score is that of "
      "crf_score. sizes: how many rows each step has.")

}  // namespace
}  // namespace cg
