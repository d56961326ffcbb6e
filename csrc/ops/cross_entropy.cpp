// Element-wise losses, and cross entropies along any axis.
#include <ATen/ops/abs.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/clamp_min.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/ge.h>
#include <ATen/ops/gt.h>
#include <ATen/ops/log1p.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/scatter.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <limits>

#include "core/deferred.h"
#include "kernels/loss.h"
#include "kernels/raw.h"
#include "ops/of_difference.h"
#include "ops/one_loop.h"

namespace cg {
namespace {

// The smallest positive normal number; smaller arguments of logarithms are replaced by it.
double tiny(const Tensor& x) {
  if (x.scalar_type() == at::kDouble) return std::numeric_limits<double>::min();
  if (x.scalar_type() == at::kHalf) return 6.103515625e-05;
  return std::numeric_limits<float>::min();
}
template <class T>
T at_least(const T& x, double bound) {
  if constexpr (std::is_same_v<T, Tensor>) return at::clamp_min(x, bound);
  return where(frozen([bound](const Tensor& t) { return t > bound; }, x), x, zeros_as(x) + bound);
}

struct LogisticLoss {
  static constexpr bool any_dtype = true;
  static constexpr Mask integers = in_bit(1);
  static constexpr Mask saves = in_bit(0) | in_bit(1);
  Tensor forward(const Tensor& x, const Tensor& t) {
    return at::clamp_min(x, 0) - x * t.to(x.scalar_type()) + at::log1p(at::exp(-at::abs(x)));
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] {
      const T x = c.in(0);
      const auto dtype = value(x).scalar_type();
      return c.gy() * (sigmoid(x) - frozen([dtype](const Tensor& t) { return t.to(dtype); }, c.in(1)));
    });
  }
};
CG_POINTWISE("logistic_loss", LogisticLoss,
             "-t log(sigmoid(x)) - (1 - t) log(1 - sigmoid(x)), element by element; constant in t.")

struct BinaryCrossEntropy {
  static constexpr Mask saves = in_bit(0) | in_bit(1);
  Tensor forward(const Tensor& p, const Tensor& t) {
    const double least = tiny(p);
    return -(t * at::log(at::clamp_min(p, least)) + (1 - t) * at::log(at::clamp_min(1 - p, least)));
  }
  template <class T>
  void backward(Ctx<T>& c) {
    const T p = c.in(0), t = c.in(1);
    const double least = tiny(value(p));
    c.grad(0, [&] {
      return fused(
          [least](auto g, auto p, auto t) CG_EACH {
            const auto d = p - p * p, bound = decltype(p)(least);
            return g * (p - t) / (d > bound ? d : bound);
          },
          [least](const T& g, const T& p, const T& t) { return g * (p - t) / at_least(p - square(p), least); }, c.gy(),
          p, t);
    });
    c.grad(1, [&] { return c.gy() * (log(at_least(1 - p, least)) - log(at_least(p, least))); });
  }
};
CG_POINTWISE("binary_cross_entropy", BinaryCrossEntropy,
             "-t log(p) - (1 - t) log(1 - p), element by element; the arguments of both logarithms are at least the "
             "smallest positive number.")

struct AbsoluteErrorRight : OfDifference<AbsoluteErrorRight> {
  Tensor forward(const Tensor& a, const Tensor& b) { return at::abs(a - b); }
  template <class T>
  T slope(Ctx<T>& c) {
    return fused([](auto g, auto a, auto b) CG_EACH { return a > b ? g : -g; },
                 [](const T& g, const T& a, const T& b) {
                   return where(frozen([](const Tensor& a, const Tensor& b) { return a > b; }, a, b), g, -g);
                 },
                 c.gy(), c.in(0), c.in(1));
  }
};
CG_POINTWISE("absolute_error_right", AbsoluteErrorRight, "|a - b|; where a and b are equal, the gradient of b is 1.")

struct HuberError : OfDifference<HuberError> {
  double delta = 1;
  static constexpr auto params() { return std::make_tuple(param("delta", &HuberError::delta)); }
  Tensor forward(const Tensor& a, const Tensor& b) {
    return fused(
        [k = delta](auto d) CG_EACH {
          const auto size = d < 0 ? -d : d, limit = decltype(d)(k);
          return size < limit ? d * d : limit * (2 * size - limit);
        },
        [k = delta](const Tensor& d) {
          const Tensor size = at::abs(d);
          return at::where(size < k, at::square(d), size * (2 * k) - k * k);
        },
        a - b);
  }
  template <class T>
  T slope(Ctx<T>& c) {
    const T d = c.in(0) - c.in(1);
    return fused(
        [k = delta](auto g, auto d) CG_EACH {
          const auto limit = decltype(d)(k);
          return 2 * g * (d < limit && d > -limit ? d : d > 0 ? limit : -limit);
        },
        [k = delta](const T& g, const T& d) {
          const T inside = frozen([k](const Tensor& d) { return at::abs(d) < k; }, d);
          const T right = frozen([](const Tensor& d) { return d > 0; }, d);
          return where(inside, g * d * 2.0, where(right, g * (2 * k), g * (-2 * k)));
        },
        c.gy(), d);
  }
};
CG_POINTWISE("huber_error", HuberError, "(a - b) ** 2 where |a - b| < delta, else delta (2 |a - b| - delta).")

// The classes of x are along `axis`, where t has length 1. Labels below 0 are ignored.
void check_labels(const char* op, const Tensor& x, const Tensor& t, int64_t axis) {
  bool fit = x.dim() == t.dim() && axis >= -x.dim() && axis < x.dim();
  axis = wrap_axis(axis, x.dim());
  for (int64_t i = 0; fit && i < x.dim(); ++i) fit = t.size(i) == (i == axis ? 1 : x.size(i));
  TORCH_CHECK_VALUE(fit, op, ": labels of shape ", t.sizes(), " do not fit x of shape ", x.sizes(), " along axis ",
                    axis);
}
Tensor one_hot(const Tensor& x, const Tensor& t, int64_t axis) {
  return at::zeros(x.sizes(), x.options())
      .scatter_(axis, at::clamp_min(t.to(at::kLong), 0), (t >= 0).to(x.scalar_type()));
}

// Ops on x and integer labels.
struct OfLabels {
  static constexpr bool any_dtype = true;
  static constexpr Mask integers = in_bit(1);
  static Tensor infer_along(const char* op, const Tensor& x, const Tensor& t, int64_t axis) {
    check_labels(op, x, t, axis);
    return hollow(t.sizes(), x);
  }
};

struct CrossEntropyAlong : OfLabels {
  int64_t axis = 1;
  static constexpr auto params() { return std::make_tuple(param("axis", &CrossEntropyAlong::axis)); }
  static constexpr Mask saves = in_bit(0) | in_bit(1);
  Tensor log_sum;  // defined only if the CPU kernel ran
  static constexpr auto stored() { return std::make_tuple(param("log_sum", &CrossEntropyAlong::log_sum)); }

  static constexpr kernels::CrossEntropy kernel{-1, false, false};
  Tensor flat(const Tensor& x) const {
    int64_t outer = 1, inner = 1;
    for (int64_t i = 0; i < x.dim(); ++i)
      if (i != axis) (i < axis ? outer : inner) *= x.size(i);
    return shaped(x.contiguous(), {outer, x.size(axis), inner});
  }
  static Tensor labels(const Tensor& t) {
    const auto usual = [&]<class N>(N) {
      const N* first = t.const_data_ptr<N>();
      return std::all_of(first, first + t.numel(), [](N label) { return label >= -1; });
    };
    if (t.device().is_cpu() && t.is_contiguous() && t.numel() <= 1024 && kernels::plain(t))
      if (t.scalar_type() == at::kLong ? usual(int64_t()) : t.scalar_type() == at::kInt && usual(int32_t())) return t;
    return at::clamp_min(t.to(at::kLong), -1).contiguous();
  }

  Tensor infer(const Tensor& x, const Tensor& t) const { return infer_along("softmax_cross_entropy", x, t, axis); }
  Tensor forward(const Tensor& x, const Tensor& t) {
    check_labels("softmax_cross_entropy", x, t, axis);
    axis = wrap_axis(axis, x.dim());
    if (kernels::raw(x)) {
      log_sum = few::empty(t.sizes(), x);
      const Tensor y = few::empty(t.sizes(), x);
      kernels::softmax_cross_entropy(kernel, flat(x), labels(t), Tensor(), log_sum, y);
      return y;
    }
    log_sum.reset();  // from an earlier run
    const Tensor safe = at::clamp_min(t.to(at::kLong), 0);
    const Tensor y = -at::gather(cg::log_softmax(x, axis), axis, safe);
    return at::where(t >= 0, y, at::zeros_like(y));  // as in the kernel, even if a score is NaN
  }
  template <class T>
  T composed(const T& x, const T& t, const T& gy) const {
    const auto target = [axis = axis](const Tensor& x, const Tensor& t) { return one_hot(x, t, axis); };
    const T counts = frozen([](const Tensor& t) { return t >= 0; }, t);
    const T gx = (softmax(x, axis) - frozen(target, x, t)) * gy;
    return where(counts, gx, zeros_as(gx));
  }
  void backward(Ctx<Tensor>& c) {
    c.grad(0, [&] {
      const Tensor x = c.in(0);
      if (!log_sum.defined()) return composed(x, c.in(1), c.gy());
      const Tensor gx = few::empty(x.sizes(), x);
      kernels::softmax_cross_entropy_grad(kernel, 1, flat(x), labels(c.in(1)), Tensor(), log_sum, c.gy().contiguous(),
                                          flat(gx));
      return gx;
    });
  }
  void backward(Ctx<Var>& c) {
    c.grad(0, [&] { return composed(c.in(0), c.in(1), c.gy()); });
  }
};
CG_OP("softmax_cross_entropy_along", CrossEntropyAlong,
      "-log(softmax(x))[t] along axis, where t has length 1; 0 for labels below 0.")

struct CategoricalCrossEntropy : OfLabels {
  int64_t axis = 1;
  static constexpr auto params() { return std::make_tuple(param("axis", &CategoricalCrossEntropy::axis)); }
  static constexpr Mask saves = in_bit(0) | in_bit(1);
  Tensor infer(const Tensor& p, const Tensor& t) const { return infer_along("categorical_cross_entropy", p, t, axis); }
  Tensor forward(const Tensor& p, const Tensor& t) {
    check_labels("categorical_cross_entropy", p, t, axis);
    axis = wrap_axis(axis, p.dim());
    const Tensor taken = at::gather(p, axis, at::clamp_min(t.to(at::kLong), 0));
    return at::log(at::clamp_min(taken, tiny(p))) * (-(t >= 0).to(p.scalar_type()));
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] {
      const T p = c.in(0);
      const auto target = [axis = axis](const Tensor& p, const Tensor& t) { return -one_hot(p, t, axis); };
      return c.gy() * frozen(target, p, c.in(1)) / at_least(p, tiny(value(p)));
    });
  }
};
CG_OP(
    "categorical_cross_entropy", CategoricalCrossEntropy,
    "-log(p)[t] along axis, where t has length 1, with p at least the smallest positive number; 0 for labels below 0.")

struct TopNError : OfLabels {
  int64_t axis = 1, n = 1;
  static constexpr auto params() { return std::make_tuple(param("axis", &TopNError::axis), param("n", &TopNError::n)); }
  static constexpr Mask saves = 0;
  Tensor infer(const Tensor& x, const Tensor& t) const { return infer_along("top_n_error", x, t, axis); }
  Tensor forward(const Tensor& x, const Tensor& t) {
    check_labels("top_n_error", x, t, axis);
    const Tensor threshold = at::gather(x, axis, t.to(at::kLong));
    return at::gt(at::sum(at::ge(x, threshold), {axis}, true), n).to(x.scalar_type());
  }
  template <class T>
  void backward(Ctx<T>&) {}
};
CG_OP("top_n_error", TopNError, "1 where t is not among the n largest classes along axis, else 0; no gradient.")

struct ConfusionMatrix : OfLabels {
  int64_t axis = 1;
  static constexpr auto params() { return std::make_tuple(param("axis", &ConfusionMatrix::axis)); }
  static constexpr Mask saves = 0;
  Tensor infer(const Tensor& x, const Tensor& t) const {
    check_labels("confusion_matrix", x, t, axis);
    const int64_t classes = x.size(axis);
    return classes ? hollow({classes, classes}, at::kInt, x.device()) : Tensor();
  }
  Tensor forward(const Tensor& x, const Tensor& t) {
    check_labels("confusion_matrix", x, t, axis);
    const int64_t classes = x.size(axis);
    const Tensor cell = (t.to(at::kLong) * classes + at::argmax(x, axis, true)).reshape(-1);
    const Tensor y = at::zeros({classes * classes}, x.options().dtype(at::kInt));
    return y.scatter_add(0, cell, at::ones_like(cell, at::kInt)).view({classes, classes});
  }
  template <class T>
  void backward(Ctx<T>&) {}
};
CG_OP(
    "confusion_matrix", ConfusionMatrix,
    "How often label t (row) occurred together with the largest class of x along axis (column), as int32; no gradient.")

}  // namespace
}  // namespace cg
