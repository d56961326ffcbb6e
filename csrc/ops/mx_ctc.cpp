// Connectionist temporal classification. The value and its first derivative are ATen's; a recorded pass writes the
// forward-backward recursion down in ops, so that it can be differentiated at any order.
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
#include "kernels/trace.h"
#include "ops/index.h"
#include "ops/named.h"

namespace cg {
namespace {

struct CtcLoss {
  int64_t blank = 0;
  static constexpr auto params() { return std::make_tuple(param("blank", &CtcLoss::blank)); }
  static constexpr bool any_dtype = true;
  static constexpr Mask integers = in_bit(1) | in_bit(2) | in_bit(3);
  static constexpr Mask saves = in_bit(0) | in_bit(1) | in_bit(2) | in_bit(3);
  // The loss is infinite where there is no path; log_alpha is that of ATen's loss.
  Tensor log_p, loss, log_alpha;
  static constexpr auto stored() {
    return std::make_tuple(param("log_p", &CtcLoss::log_p), param("loss", &CtcLoss::loss),
                           param("log_alpha", &CtcLoss::log_alpha));
  }

  static Tensor wide(const Tensor& x) { return x.scalar_type() == at::kHalf ? x.to(at::kFloat) : x; }
  // ATen reads where the labels say, also beyond its memory.
  static void check_labels(const Tensor& labels, const Tensor& lengths, int64_t classes) {
    if (!labels.is_cpu() || !lengths.is_cpu() || !labels.numel()) return;
    const Tensor read = at::arange(labels.size(1), lengths.options()).unsqueeze(0).lt(lengths.unsqueeze(1));
    const Tensor wrong = labels.lt(0).logical_or_(labels.ge(classes)).logical_and_(read);
    TORCH_CHECK_INDEX(!wrong.any().item<bool>(), "ctc_loss: labels must be at least 0 and less than ", classes,
                      ", the number of classes; ", labels.masked_select(wrong)[0].item<int64_t>(), " is not");
  }
  Tensor infer(const Tensor& x, const Tensor&, const Tensor&, const Tensor&) {
    return at::empty({x.size(1)}, x.options());
  }
  Tensor forward(const Tensor& x, const Tensor& labels, const Tensor& steps, const Tensor& lengths) {
    TORCH_CHECK_VALUE(x.dim() == 3 && labels.dim() == 2 && labels.size(0) == x.size(1), "ctc_loss: labels of shape ",
                      labels.sizes(), " do not fit data of shape ", x.sizes());
    log_p = at::log_softmax(wide(x), 2);
    if (kernels::traced(x)) return traced_loss(x, labels, steps, lengths);
    TORCH_CHECK_VALUE(lengths.dim() == 1 && lengths.size(0) == x.size(1), "ctc_loss: label lengths of shape ",
                      lengths.sizes(), " do not fit data of shape ", x.sizes());
    check_labels(labels, lengths, x.size(2));
    std::tie(loss, log_alpha) = at::_ctc_loss(log_p, labels, steps, lengths, blank, true);
    return loss.masked_fill(loss.isinf(), 0).to(x.scalar_type());
  }
  void backward(Ctx<Tensor>& c) {
    c.grad(0, [&] {
      if (!log_alpha.defined()) return value(gradient(Var(c.in(0)), c.in(1), c.in(2), c.in(3), Var(c.gy())));
      return at::_ctc_loss_backward(wide(c.gy()), log_p, c.in(1), c.in(2), c.in(3), loss, log_alpha, blank, true)
          .to(c.in_dtype(0));
    });
  }

  // What is fixed by the labels. States: blanks, labels between them; `low` is the logarithm of no probability.
  struct Paths {
    int64_t time, batch, classes, states;
    double lowest;
    Tensor labels;  // of the states, (batch, states)
    Tensor moves;   // low or 0 for each (sample, to, from)
    Tensor begin, final;
    Tensor running;  // which samples have not ended, (time, batch)

    Paths(const Tensor& x, const Tensor& given, const Tensor& steps, const Tensor& lengths, int64_t blank)
        : time(x.size(0)), batch(x.size(1)), classes(x.size(2)), states(2 * given.size(1) + 1) {
      const double low = lowest = x.scalar_type() == at::kHalf ? -1e4 : -1e30;
      labels = at::full({batch, states}, blank, given.options().dtype(at::kLong));
      if (given.size(1)) labels.slice(1, 1, states, 2).copy_(given);
      const Tensor place = at::arange(states, labels.options());
      const Tensor to = place.unsqueeze(1), from = place.unsqueeze(0);
      const Tensor skips = labels.ne(labels.roll(2, 1)).logical_and_(place.ge(2)).unsqueeze(2);
      const Tensor near = to.eq(from).logical_or(to.eq(from + 1)).unsqueeze(0);
      auto logarithm = [&](const Tensor& possible) {
        return at::zeros(possible.sizes(), x.options()).masked_fill_(possible.logical_not(), low);
      };
      moves = logarithm(near.logical_or(to.eq(from + 2).unsqueeze(0).logical_and(skips)));
      begin = logarithm(place.lt(2)).unsqueeze(0);
      const Tensor last = (lengths.to(at::kLong) * 2).unsqueeze(1);
      final = logarithm(place.unsqueeze(0).eq(last).logical_or(place.unsqueeze(0).eq(last - 1)));
      running = at::arange(time, labels.options()).unsqueeze(1).lt(steps.to(at::kLong).unsqueeze(0));
    }
    Tensor index() const { return labels.unsqueeze(0).expand({time, batch, states}).contiguous(); }
  };
  static Var at_step(const Var& x, int64_t t) { return get_item(x, Index{IndexItem::integer(t)}); }
  static Var log_sum(const Var& x, int64_t axis) {
    return Named(CG_NAMED("logsumexp")).with("axis", std::optional<Ints>(Ints{axis}))(x);
  }
  // Of each state at each step the logarithm of its probability: its class's, and that of all ways to it.
  struct Forward {
    Var scores;
    std::vector<Var> alpha;
    Forward(const Paths& p, const Var& log_p)
        : scores(Named(CG_NAMED("gather_along")).with("axis", int64_t(2))(log_p, Var(p.index()))),
          alpha{at_step(scores, 0) + p.begin} {
      const Var moves(p.moves);
      for (int64_t t = 1; t < p.time; ++t)
        alpha.push_back(log_sum(reshape(alpha.back(), {p.batch, 1, p.states}) + moves, 2) + at_step(scores, t));
    }
  };
  // Tracers know no shape for ATen's loss.
  Tensor traced_loss(const Tensor& x, const Tensor& labels, const Tensor& steps, const Tensor& lengths) {
    const ModeScope constant(Mode::enable_backprop, false);
    const Paths p(log_p, labels, steps, lengths, blank);
    std::vector<Tensor> ends;
    for (const Var& a : Forward(p, Var(log_p)).alpha) ends.push_back(value(a) + p.final);
    const Tensor last = (steps.to(at::kLong) - 1).clamp_min(0).reshape({1, p.batch, 1}).expand({1, p.batch, p.states});
    loss = -at::logsumexp(at::gather(at::stack(ends), 0, last).squeeze(0), {1});
    loss = loss.masked_fill(loss.gt(p.lowest / -10), std::numeric_limits<double>::infinity());
    return loss.masked_fill(loss.isinf().logical_or(steps.eq(0)), 0).to(x.scalar_type());
  }
  // How probable each class is at each step, given the label: (time, batch, classes).
  static Var occupancy(const Paths& p, const Var& x) {
    const Var index(p.index()), moves(p.moves);
    const Var log_p = Named(CG_NAMED("log_softmax")).with("axis", int64_t(2))(x);
    const Forward forward(p, log_p);
    const Var& scores = forward.scores;
    const std::vector<Var>& alpha = forward.alpha;
    std::vector<Var> states(p.time);
    Var beta(p.final);
    for (int64_t t = p.time - 1; t >= 0; --t) {
      if (t + 1 < p.time) {
        const Var next = reshape(at_step(scores, t + 1) + beta, {p.batch, p.states, 1});
        beta = where(Var(p.running[t + 1].unsqueeze(1)), log_sum(next + moves, 1), Var(p.final));
      }
      states[t] = reshape(softmax(alpha[t] + beta, 1), {1, p.batch, p.states});
    }
    const Var all = concat(VarsRef(states), 0);
    return Named(CG_NAMED("scatter_along"))
        .with("axis", int64_t(2))
        .with("shape", Ints{p.time, p.batch, p.classes})(all, index);
  }
  Var gradient(const Var& x, const Tensor& labels, const Tensor& steps, const Tensor& lengths, const Var& gy) const {
    const Paths p(value(x), labels, steps, lengths, blank);
    const Tensor counts = p.running.logical_and(loss.isfinite().unsqueeze(0)).unsqueeze(2).to(value(x).scalar_type());
    return (softmax(x, 2) - occupancy(p, x)) * counts * reshape(gy, {1, p.batch, 1});
  }
  void backward(Ctx<Var>& c) {
    c.grad(0, [&] { return gradient(c.in(0), value(c.in(1)), value(c.in(2)), value(c.in(3)), c.gy()); });
  }
};
CG_OP("ctc_loss", CtcLoss,
      "-log of the probability of labels (batch, length) given x (time, batch, classes) before softmax, steps (batch,) "
      "of which count and label lengths (batch,); 0 where a label needs more steps than there are.")

}  // namespace
}  // namespace cg
