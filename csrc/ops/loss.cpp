// Losses.
#include <ATen/ops/clamp.h>
#include <ATen/ops/clamp_min.h>
#include <ATen/ops/dot.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/le.h>
#include <ATen/ops/log1p.h>
#include <ATen/ops/mse_loss_backward.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/scatter.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "kernels/loss.h"
#include "kernels/raw.h"
#include "ops/of_difference.h"
#include "ops/one_loop.h"

namespace cg {
namespace {

// Half precision is too imprecise for sums.
Tensor widened(const Tensor& x) { return x.scalar_type() == at::kHalf ? x.to(at::kFloat) : x; }

bool is_mean(const std::string& reduce) {
  TORCH_CHECK_VALUE(reduce == "mean" || reduce == "no", "reduce must be 'mean' or 'no', not '", reduce, "'");
  return reduce == "mean";
}
// The weights of elements in a mean: 1 / maximum(1, n).
Tensor mean_weights(const Tensor& valid, bool normalize, const Tensor& like) {
  const Tensor w = valid.to(like.scalar_type());
  if (normalize) return w / at::clamp_min(at::sum(w), 1);
  return w / std::max<double>(1, static_cast<double>(valid.dim() ? valid.size(0) : 1));
}

struct SoftmaxCrossEntropy {
  int64_t ignore_label = -1;
  bool normalize = true;
  std::string reduce = "mean";
  static constexpr auto params() {
    return std::make_tuple(param("ignore_label", &SoftmaxCrossEntropy::ignore_label),
                           param("normalize", &SoftmaxCrossEntropy::normalize),
                           param("reduce", &SoftmaxCrossEntropy::reduce));
  }
  static constexpr bool any_dtype = true;
  static constexpr Mask integers = in_bit(1);
  static constexpr Mask optional = in_bit(2);
  static constexpr Mask saves = in_bit(0) | in_bit(1) | in_bit(2);
  Tensor log_sum;  // defined only if the CPU kernel ran
  static constexpr auto stored() { return std::make_tuple(param("log_sum", &SoftmaxCrossEntropy::log_sum)); }
  double coefficient = 1;

  kernels::CrossEntropy for_kernel() const { return {ignore_label, is_mean(reduce), normalize}; }
  static Tensor flat(const Tensor& x) {
    return x.contiguous().view({x.size(0), x.size(1), x.numel() / std::max<int64_t>(1, x.size(0) * x.size(1))});
  }
  static Tensor labels(const Tensor& t) {
    return (t.scalar_type() == at::kInt || t.scalar_type() == at::kLong ? t : t.to(at::kLong)).contiguous();
  }
  static Tensor weights(const Tensor& w, const Tensor& x) {
    return w.defined() ? w.to(x.scalar_type()).contiguous() : w;
  }

  Tensor forward(const Tensor& x_, const Tensor& t, const Tensor& weight) {
    const bool mean = is_mean(reduce);
    const Tensor x = widened(x_);
    TORCH_CHECK_VALUE(
        x.dim() >= 2 && t.dim() == x.dim() - 1 && t.size(0) == x.size(0) && t.sizes().slice(1) == x.sizes().slice(2),
        "softmax_cross_entropy: labels of shape ", t.sizes(), " do not fit x of shape ", x.sizes());
    TORCH_CHECK_VALUE(x.size(1) > 0 || t.numel() == 0, "softmax_cross_entropy: x of shape ", x.sizes(),
                      " has no classes");
    TORCH_CHECK_VALUE(!weight.defined() || (weight.dim() == 1 && weight.size(0) == x.size(1)),
                      "softmax_cross_entropy: class_weight must have the shape (", x.size(1),
                      ",), one number per class, not ", weight.sizes());
    Tensor y;
    if (kernels::raw(x)) {
      log_sum = at::empty(t.sizes(), x.options());
      y = mean ? at::empty({}, x.options()) : at::empty(t.sizes(), x.options());
      coefficient = kernels::softmax_cross_entropy(for_kernel(), flat(x), labels(t), weights(weight, x), log_sum, y);
    } else {
      log_sum.reset();  // from an earlier run
      auto [safe, factor] = read(x, t, weight);
      const Tensor each = -(at::gather(cg::log_softmax(x, 1), 1, safe) * factor);
      y = at::where(valid(t), each, at::zeros_like(each));  // as in the kernel, even if a score is NaN
      y = mean ? at::sum(y) : y.reshape(t.sizes());
    }
    return y.to(x_.scalar_type());
  }
  Tensor valid(const Tensor& t) const { return at::ne(t, ignore_label).unsqueeze(1); }
  // Labels, with ignored ones replaced by class 0, and the factor of each loss; both with a class axis of length 1.
  std::pair<Tensor, Tensor> read(const Tensor& x, const Tensor& t, const Tensor& weight) const {
    const Tensor counts = valid(t);
    Tensor safe = t.to(at::kLong).unsqueeze(1) * counts;
    safe = at::where(safe < 0, safe + x.size(1), safe);
    Tensor factor = is_mean(reduce) ? mean_weights(counts, normalize, x) : counts.to(x.scalar_type());
    if (weight.defined()) factor = factor * weights(weight, x).index({safe});
    return {safe, factor};
  }
  template <class T>
  T composed(const T& x, const T& t, const T& weight, const T& gy) const {
    const auto self = *this;
    const T one_hot = frozen(
        [self](const Tensor& x, const Tensor& t, const Tensor& w) {
          return at::zeros(x.sizes(), x.options()).scatter_(1, self.read(x, t, w).first, 1);
        },
        x, t, weight);
    const T factor = frozen(
        [self](const Tensor& x, const Tensor& t, const Tensor& w) { return self.read(x, t, w).second; }, x, t, weight);
    const T g = gy.dim() ? reshape(gy, factor.sizes()) : gy;
    const T counts = frozen([self](const Tensor& t) { return self.valid(t); }, t);
    const T gx = (softmax(x, 1) - one_hot) * (g * factor);
    return where(counts, gx, zeros_as(gx));
  }
  void backward(Ctx<Tensor>& c) {
    c.grad(0, [&] {
      const Tensor x = widened(c.in(0)), gy = widened(c.gy());
      if (!log_sum.defined()) return composed(x, c.in(1), c.in(2), gy);
      Tensor gx = at::empty(x.sizes(), x.options());
      kernels::softmax_cross_entropy_grad(for_kernel(), coefficient, flat(x), labels(c.in(1)), weights(c.in(2), x),
                                          log_sum, gy.contiguous(), flat(gx));
      return gx;
    });
  }
  void backward(Ctx<Var>& c) {
    c.grad(0, [&] { return composed(c.in(0), c.in(1), c.in(2), c.gy()); });
  }
};
CG_OP("softmax_cross_entropy", SoftmaxCrossEntropy,
      "-log(softmax(x))[label] over the second axis, times class_weight[label]; 0 for ignore_label. The mean is over "
      "labels that are not ignored (normalize) or over the batch.")

struct SigmoidCrossEntropy {
  bool normalize = true;
  std::string reduce = "mean";
  static constexpr auto params() {
    return std::make_tuple(param("normalize", &SigmoidCrossEntropy::normalize),
                           param("reduce", &SigmoidCrossEntropy::reduce));
  }
  static constexpr bool any_dtype = true;
  static constexpr Mask saves = in_bit(0) | in_bit(1);

  Tensor factor(const Tensor& x, const Tensor& t) const {
    const Tensor valid = at::ne(t, -1);
    return is_mean(reduce) ? mean_weights(valid, normalize, x) : valid.to(x.scalar_type());
  }
  // By how much a mean divides, as a tensor without axes.
  Tensor divisor(const Tensor& x, const Tensor& t) const {
    if (normalize) return at::clamp_min(at::sum(at::ne(t, -1)), 1).to(x.scalar_type());
    return at::full({}, static_cast<double>(std::max<int64_t>(1, t.dim() ? t.size(0) : 1)), x.options());
  }
  Tensor forward(const Tensor& x_, const Tensor& t_) {
    const Tensor x = widened(x_), t = t_.to(x.scalar_type());
    Tensor e = fused([](auto x) CG_EACH { return x < 0 ? x : -x; }, [](const Tensor& x) { return -at::abs(x); }, x);
    at::log1p_(at::exp_(e));
    const Tensor y =
        fused([](auto x, auto t, auto e) CG_EACH { return ((x < 0 ? 0 : x) - x * t + e) * (t != -1 ? 1 : 0); },
              [](const Tensor& x, const Tensor& t, const Tensor& e) {
                return (at::clamp_min(x, 0) - x * t + e) * at::ne(t, -1);
              },
              x, t, e);
    return (is_mean(reduce) ? at::sum(y) / divisor(x, t_) : y).to(x_.scalar_type());
  }
  void backward(Ctx<Tensor>& c) {
    c.grad(0, [&] {
      const Tensor s = sigmoid(c.in(0)), t = c.in(1).to(s.scalar_type());
      const Tensor difference = fused([](auto s, auto t) CG_EACH { return (s - t) * (t != -1 ? 1 : 0); },
                                      [](const Tensor& s, const Tensor& t) { return (s - t) * at::ne(t, -1); }, s, t);
      return difference * (is_mean(reduce) ? c.gy() / divisor(s, c.in(1)) : c.gy());
    });
  }
  void backward(Ctx<Var>& c) {
    c.grad(0, [&] {
      const Var x = c.in(0);
      const auto self = *this;
      const Var target = frozen([](const Tensor& x, const Tensor& t) { return -t.to(x.scalar_type()); }, x, c.in(1));
      const Var weight = frozen([self](const Tensor& x, const Tensor& t) { return self.factor(x, t); }, x, c.in(1));
      return (sigmoid(x) + target) * (c.gy() * weight);
    });
  }
};
CG_OP("sigmoid_cross_entropy", SigmoidCrossEntropy,
      "-log(sigmoid(x)) where t is 1, -log(1 - sigmoid(x)) where it is 0, and 0 where it is -1.")

struct MeanSquaredError : OfDifference<MeanSquaredError> {
  Tensor forward(const Tensor& a, const Tensor& b) {
    const Tensor d = widened(a - b).reshape(-1);  // a dot product is faster than a mean of squares
    return (at::dot(d, d) / static_cast<double>(d.numel())).to(a.scalar_type());
  }
  template <class T>
  T slope(Ctx<T>& c) {
    if constexpr (std::is_same_v<T, Tensor>)
      if (c.in(0).numel())  // in traces, torch's function of empty arrays divides by zero
        return at::mse_loss_backward(c.gy(), c.in(0), c.in(1), at::Reduction::Mean);
    return (c.in(0) - c.in(1)) * (c.gy() * (2.0 / static_cast<double>(c.in(0).numel())));
  }
};
CG_OP("mean_squared_error", MeanSquaredError, "Mean of (a - b) ** 2.")

struct SquaredError : OfDifference<SquaredError> {
  Tensor forward(const Tensor& a, const Tensor& b) { return at::square(a - b); }
  template <class T>
  T slope(Ctx<T>& c) {
    return c.gy() * (c.in(0) - c.in(1)) * 2.0;
  }
};
CG_POINTWISE("squared_error", SquaredError, "(a - b) ** 2")

// The sign of a - b; NaN where that is NaN.
Tensor sign_of_difference(const Tensor& a, const Tensor& b) {
  return fused(
      [](auto a, auto b) CG_EACH {
        const auto d = a - b;
        return d > 0 ? 1 : d < 0 ? -1 : d;
      },
      [](const Tensor& a, const Tensor& b) {
        const Tensor d = a - b;
        return at::where(at::isnan(d), d, at::sign(d));
      },
      a, b);
}

struct AbsoluteError : OfDifference<AbsoluteError> {
  Tensor forward(const Tensor& a, const Tensor& b) { return at::abs(a - b); }
  template <class T>
  T slope(Ctx<T>& c) {
    return c.gy() * frozen(sign_of_difference, c.in(0), c.in(1));
  }
};
CG_POINTWISE("absolute_error", AbsoluteError, "|a - b|; the gradient is 0 where a and b are equal, NaN where a - b is.")

struct MeanAbsoluteError : OfDifference<MeanAbsoluteError> {
  Tensor forward(const Tensor& a, const Tensor& b) { return at::mean(at::abs(a - b)); }
  template <class T>
  T slope(Ctx<T>& c) {
    const auto share = [](const Tensor& a, const Tensor& b) {
      const Tensor s = sign_of_difference(a, b);
      return s / static_cast<double>(s.numel());
    };
    return c.gy() * frozen(share, c.in(0), c.in(1));
  }
};
CG_OP("mean_absolute_error", MeanAbsoluteError, "Mean of |a - b|.")

struct HuberLoss : OfDifference<HuberLoss> {
  double delta = 1;
  static constexpr auto params() { return std::make_tuple(param("delta", &HuberLoss::delta)); }
  Tensor forward(const Tensor& a, const Tensor& b) {
    return fused(
        [k = delta](auto a, auto b) CG_EACH {
          const auto limit = decltype(a)(k), d = a > b ? a - b : b - a;
          return d <= limit ? d * d / 2 : limit * d - limit * limit / 2;
        },
        [k = delta](const Tensor& a, const Tensor& b) {
          const Tensor d = at::abs(a - b);
          return at::where(at::le(d, k), at::square(d) * 0.5, d * k - 0.5 * k * k);
        },
        a, b);
  }
  template <class T>
  T slope(Ctx<T>& c) {
    return fused(
        [k = delta](auto g, auto a, auto b) CG_EACH {
          const auto limit = decltype(a)(k), d = a - b;
          return g * (d > limit ? limit : d < -limit ? -limit : d);
        },
        [k = delta](const T& g, const T& a, const T& b) {
          const T d = a - b;
          const Tensor inside = at::le(at::abs(value(d)), k);
          return g * where(T(inside), d, T(at::clamp(value(d), -k, k)));
        },
        c.gy(), c.in(0), c.in(1));
  }
};
CG_POINTWISE("huber_loss", HuberLoss, "(a - b) ** 2 / 2 where |a - b| <= delta, else delta (|a - b| - delta / 2).")

}  // namespace
}  // namespace cg
