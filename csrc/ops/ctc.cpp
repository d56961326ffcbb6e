// Connectionist temporal classification. ATen computes the value and its first derivative; a recorded pass writes the
// forward-backward recursion as ops, so that it can be differentiated to any order. Where ATen has no value, or another
// one than the original, the recursion is a loop on the host.
#include <ATen/ops/_ctc_loss.h>
#include <ATen/ops/_ctc_loss_backward.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include "core/mode.h"
#include "core/named.h"
#include "kernels/raw.h"
#include "kernels/trace.h"
#include "ops/ctc_chain.h"
#include "ops/index.h"

namespace cg {
namespace {

struct CtcLoss {
  int64_t blank = 0;
  std::optional<double> lowest;
  std::string reduce = "no";
  static constexpr auto params() {
    return std::make_tuple(param("blank", &CtcLoss::blank), param("lowest", &CtcLoss::lowest),
                           param("reduce", &CtcLoss::reduce));
  }
  static constexpr bool any_dtype = true;
  static constexpr Mask integers = in_bit(1) | in_bit(2) | in_bit(3);
  static constexpr Mask saves = in_bit(0) | in_bit(1) | in_bit(2) | in_bit(3);
  // `loss` is infinite for a sample without a path. Either log_alpha is defined (from ATen's loss), or `through` (the
  // loop's result for each state); without both, backward writes the recursion as ops.
  Tensor log_p, loss, log_alpha, through;
  static constexpr auto stored() {
    return std::make_tuple(param("log_p", &CtcLoss::log_p), param("loss", &CtcLoss::loss),
                           param("log_alpha", &CtcLoss::log_alpha), param("through", &CtcLoss::through));
  }

  bool mean() const {
    TORCH_CHECK_VALUE(reduce == "mean" || reduce == "no", "ctc_loss: reduce must be 'mean' or 'no', not '", reduce,
                      "'");
    return reduce == "mean";
  }
  static Tensor wide(const Tensor& x) { return x.scalar_type() == at::kHalf ? x.to(at::kFloat) : x; }
  // Whether labels contain the blank, for which ATen's derivative is wrong. Raises an error for invalid labels, with
  // which ATen would read beyond its memory.
  bool check_labels(const Tensor& labels, const Tensor& lengths, int64_t classes) const {
    if (!labels.numel()) return false;
    const Tensor read = at::arange(labels.size(1), lengths.options()).unsqueeze(0).lt(lengths.unsqueeze(1));
    const Tensor wrong = labels.lt(0).logical_or_(labels.ge(classes)).logical_and_(read);
    TORCH_CHECK_INDEX(!wrong.any().item<bool>(), "ctc_loss: labels must be at least 0 and less than ", classes,
                      ", the number of classes; ", labels.masked_select(wrong)[0].item<int64_t>(), " is not");
    return labels.eq(blank).logical_and_(read).any().item<bool>();
  }
  // Checked, because the loop uses these counts as indices.
  static void check_counts(const char* name, const Tensor& n, int64_t batch, int64_t most) {
    TORCH_CHECK_VALUE(n.dim() == 1 && n.size(0) == batch, "ctc_loss: ", name, " must have the shape (", batch,
                      ",), one for each sample, not ", n.sizes());
    const Tensor wrong = n.lt(0).logical_or_(n.gt(most));
    TORCH_CHECK_VALUE(!wrong.any().item<bool>(), "ctc_loss: ", name, " must be at least 0 and at most ", most, "; ",
                      n.masked_select(wrong)[0].item<int64_t>(), " is not");
  }
  // Returns `check_labels`.
  bool check_inputs(const Tensor& x, const Tensor& labels, const Tensor& steps, const Tensor& lengths) const {
    TORCH_CHECK_VALUE(x.dim() == 3 && labels.dim() == 2 && labels.size(0) == x.size(1), "ctc_loss: labels of shape ",
                      labels.sizes(), " do not fit data of shape ", x.sizes());
    check_counts("label lengths", lengths, x.size(1), labels.size(1));
    check_counts("steps", steps, x.size(1), x.size(0));
    return check_labels(labels, lengths, x.size(2));
  }
  // The number of steps of each loss.
  Tensor counted(const Tensor& x, const Tensor& steps) const {
    return lowest ? steps.masked_fill(steps.eq(0), x.size(0)) : steps;
  }
  Tensor reduced(const Tensor& x) const {
    const Tensor y = lowest ? loss : loss.masked_fill(loss.isinf(), 0);
    return (mean() ? y.mean() : y).to(x.scalar_type());
  }
  Tensor infer(const Tensor& x, const Tensor&, const Tensor&, const Tensor&) {
    return mean() ? at::empty({}, x.options()) : at::empty({x.size(1)}, x.options());
  }
  Tensor forward(const Tensor& x, const Tensor& labels, const Tensor& steps, const Tensor& lengths) {
    TORCH_CHECK_VALUE(x.dim() == 3 && labels.dim() == 2 && labels.size(0) == x.size(1), "ctc_loss: labels of shape ",
                      labels.sizes(), " do not fit data of shape ", x.sizes());
    TORCH_CHECK_VALUE(x.size(0) > 0, "ctc_loss: data of shape ", x.sizes(), " has no steps");
    log_p = at::log_softmax(wide(x), 2);
    if (!kernels::traced(x)) {
      const bool has_blanks = check_inputs(x, labels, steps, lengths);
      if (!has_blanks) {
        std::tie(loss, log_alpha) = at::_ctc_loss(log_p, labels, counted(x, steps), lengths, blank, true);
        if (!lowest || !loss.isinf().any().item<bool>()) return reduced(x);
        log_alpha = Tensor();
      }
    }
    // Tracers have no shape function for ATen's loss, and ATen's loss of impossible labels is infinite.
    const ModeScope constant(Mode::enable_backprop, false);
    const Paths p(log_p, labels, counted(x, steps), lengths, *this);
    loss = -(kernels::raw(log_p) ? looped(p) : value(Recursion(p, Var(log_p)).total));
    if (!lowest) {
      loss = loss.masked_fill(loss.gt(p.low / -10), std::numeric_limits<double>::infinity());
      loss = loss.masked_fill(steps.eq(0), 0);
    }
    return reduced(x);
  }
  void backward(Ctx<Tensor>& c) {
    c.grad(0, [&] {
      const Tensor &x = c.in(0), &steps = c.in(2);
      if (!log_alpha.defined()) return value(gradient(Var(x), c.in(1), steps, c.in(3), Var(c.gy()), through));
      // ATen would write beyond its memory if a program had put other numbers into the arrays since forward.
      check_inputs(log_p, c.in(1), steps, c.in(3));
      Tensor gy = wide(c.gy());
      if (mean()) gy = (gy / x.size(1)).expand(x.size(1));
      Tensor g = at::_ctc_loss_backward(gy, log_p, c.in(1), counted(x, steps), c.in(3), loss, log_alpha, blank, true);
      if (lowest) g = g.masked_fill(steps.eq(0).unsqueeze(0).unsqueeze(2), 0);
      return g.to(c.in_dtype(0));
    });
  }

  // Data that depends only on the labels. The states of a sample are its labels, with blanks before, between and after
  // them.
  struct Paths {
    int64_t time, batch, classes, states;
    double low;      // the number that stands for the logarithm of 0
    Tensor labels;   // of the states, (batch, states)
    Tensor inside;   // which states exist, (batch, states)
    Tensor running;  // which samples have not ended at a step, (time, batch)
    // The states from which a path may come and to which it may go, and whether it may: each of shape (batch, states,
    // 3).
    Tensor before, may_come, after, may_go;
    Tensor begin, end;  // initial values before the first and after the last step, (batch, states)

    Paths(const Tensor& x, const Tensor& given, const Tensor& steps, const Tensor& lengths, const CtcLoss& op)
        : time(x.size(0)), batch(x.size(1)), classes(x.size(2)), states(2 * given.size(1) + 1) {
      low = op.lowest.value_or(-1e10);
      labels = at::full({batch, states}, op.blank, given.options().dtype(at::kLong));
      if (given.size(1)) labels.slice(1, 1, states, 2).copy_(given);
      const Tensor place = at::arange(states, labels.options()), last = (lengths.to(at::kLong) * 2).unsqueeze(1);
      inside = place.le(last);
      labels = labels.masked_fill(inside.logical_not(), op.blank);  // padding may be an invalid class
      running = at::arange(time, labels.options()).unsqueeze(1).lt(steps.to(at::kLong).unsqueeze(0));
      const Tensor by = at::arange(3, labels.options());
      // A blank may be skipped between different labels
      const auto moves = [&](const Tensor& to, const Tensor& there) {
        const Tensor at = to.clamp(0, states - 1).unsqueeze(0).expand({batch, states, 3}).contiguous();
        const Tensor differs =
            at::gather(labels, 1, at.reshape({batch, -1})).reshape(at.sizes()).ne(labels.unsqueeze(2));
        return std::pair(at, there.logical_and(differs.logical_or(by.lt(2))));
      };
      std::tie(before, may_come) = moves(place.unsqueeze(1) - by, (place.unsqueeze(1) - by).ge(0).unsqueeze(0));
      const Tensor next = place.unsqueeze(1) + by;
      std::tie(after, may_go) = moves(next, next.unsqueeze(0).le(last.unsqueeze(2)));
      const auto only = [&](const Tensor& where) {
        return at::zeros({batch, states}, x.options()).masked_fill_(where.logical_not(), low);
      };
      begin = only(place.eq(0).unsqueeze(0));
      end = only(place.unsqueeze(0).eq(last));
    }
    Tensor index() const { return labels.unsqueeze(0).expand({time, batch, states}).contiguous(); }
  };
  static Var at_step(const Var& x, int64_t t) { return get_item(x, Index{IndexItem::integer(t)}); }
  static Var log_sum(const Var& x, int64_t axis) {
    return Named(CG_NAMED("logsumexp")).with("axis", std::optional<Ints>(Ints{axis}))(x);
  }
  // For each state at each step, the logarithm of the probability of all paths through it.
  struct Recursion {
    std::vector<Var> through;
    Var total;  // (batch,)

    Recursion(const Paths& p, const Var& log_p) : through(p.time) {
      const Var low(at::full({1, 1, 1}, p.low, value(log_p).options()));
      const Var scores = Named(CG_NAMED("gather_along")).with("axis", int64_t(2))(log_p, Var(p.index()));
      const auto moved = [&](const Var& x, const Tensor& places, const Tensor& may) {
        const Var flat = Named(CG_NAMED("gather_along")).with("axis", int64_t(1))(x, Var(places.flatten(1)));
        return log_sum(where(Var(may), reshape(flat, places.sizes()), low), 2);
      };
      Var alpha(p.begin), beta(p.end);
      for (int64_t t = 0; t < p.time; ++t) {
        through[t] = moved(alpha, p.before, p.may_come);
        alpha = through[t] = through[t] + at_step(scores, t);
      }
      for (int64_t t = p.time - 1; t >= 0; --t) {
        const Var to_end = moved(beta, p.after, p.may_go);
        through[t] = through[t] + to_end;
        beta = where(Var(p.running[t].unsqueeze(1)), to_end + at_step(scores, t), Var(p.end));
      }
      total = log_sum(where(Var(p.inside), through[0], reshape(low * 2, {1, 1})), 1);
    }
  };
  // `Recursion` in a loop over samples, without recording; sets `through` and returns `total`.
  Tensor looped(const Paths& p) {
    const Tensor dense = log_p.contiguous(), total = at::empty({p.batch}, log_p.options());
    through = at::empty({p.time, p.batch, p.states}, log_p.options());
    const Tensor begin = p.begin.contiguous(), end = p.end.contiguous(), inside = p.inside.contiguous();
    const Tensor labels = p.labels.contiguous(), running = p.running.contiguous();
    const auto full = [&](const Tensor& t) { return t.expand({p.batch, p.states, 3}).contiguous(); };
    const Tensor before = full(p.before), may_come = full(p.may_come), after = full(p.after), may_go = full(p.may_go);
    kernels::with_dtype(log_p, [&]<class X>(X) {
      CtcChain<X> chain(p.time, p.batch, p.classes, p.states, static_cast<X>(p.low));
      for (int64_t b = 0; b < p.batch; ++b) {
        const auto at = [&]<class V>(const Tensor& t, V) { return t.const_data_ptr<V>() + b * t.stride(0); };
        const typename CtcChain<X>::Sample sample{
            at(labels, int64_t()), at(before, int64_t()), at(after, int64_t()),
            at(may_come, bool()),  at(may_go, bool()),    at(inside, bool()),
            at(begin, X()),        at(end, X()),          running.const_data_ptr<bool>() + b};
        total.mutable_data_ptr<X>()[b] = chain.run(dense.const_data_ptr<X>(), sample, b, through.mutable_data_ptr<X>());
      }
    });
    return total;
  }
  // `known`: the loop's result, in a pass that is not recorded.
  Var gradient(const Var& given, const Tensor& labels, const Tensor& steps, const Tensor& lengths, const Var& gy,
               const Tensor& known = {}) const {
    const bool narrow = value(given).scalar_type() == at::kHalf;
    const Var x = narrow ? cast(given, at::kFloat) : given;
    const Paths p(value(x), labels, counted(value(x), steps), lengths, *this);
    Tensor counts = p.running.logical_and(steps.ne(0).unsqueeze(0));
    if (!lowest) counts = counts.logical_and(loss.isfinite().unsqueeze(0));
    counts = counts.unsqueeze(2);
    Var rows(known), total(-loss);
    if (!known.defined()) {
      const Recursion r(p, Named(CG_NAMED("log_softmax")).with("axis", int64_t(2))(x));
      std::vector<Var> parts;
      for (const Var& part : r.through) parts.push_back(reshape(part, {1, p.batch, p.states}));
      rows = concat(VarsRef(parts), 0);
      total = r.total;
    }
    const Var low(at::full({1, 1, 1}, p.low, value(x).options()));
    const Var share =
        exp(where(Var(counts.logical_and(p.inside.unsqueeze(0))), rows - reshape(total, {1, p.batch, 1}), low));
    const Var occupancy = Named(CG_NAMED("scatter_along"))
                              .with("axis", int64_t(2))
                              .with("shape", Ints{p.time, p.batch, p.classes})(share, Var(p.index()));
    const Var g = (softmax(x, 2) - occupancy) * counts.to(value(x).scalar_type()) *
                  reshape(mean() ? gy / double(p.batch) : gy, {1, mean() ? 1 : p.batch, 1});
    return narrow ? cast(g, at::kHalf) : g;
  }
  void backward(Ctx<Var>& c) {
    c.grad(0, [&] { return gradient(c.in(0), value(c.in(1)), value(c.in(2)), value(c.in(3)), c.gy()); });
  }
};
CG_OP("ctc_loss", CtcLoss,
      "-log of the probability of labels (batch, length) given x (time, batch, classes) before softmax; inputs three "
      "and four: the numbers of steps (batch,) and of labels (batch,). If the labels need more steps than there are, "
      "the loss is 0, or with `lowest` the recursion's result with this number as the logarithm of 0; a sample of 0 "
      "steps then has the loss of all steps and no gradient.")

}  // namespace
}  // namespace cg
