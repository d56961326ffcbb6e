// Batch normalization.
#include "ops/batch_norm.h"

#include <ATen/Context.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/native_batch_norm.h>

#include "kernels/trace.h"

namespace cg {

Tensor normalize_batch(const Channels& k, const Tensor& x, const Tensor& gamma, const Tensor& beta, double eps,
                       const Tensor& running_mean, const Tensor& running_var, double decay, Tensor& mean,
                       Tensor& inv_std) {
  k.check_pair("running_mean", running_mean, "running_var", running_var);
  Tensor y;
  bool updated = !running_mean.defined();
  if (kernels::raw(x)) {
    y = at::empty(k.sizes, x.options());
    mean = at::empty(gamma.sizes(), gamma.options());
    inv_std = at::empty(gamma.sizes(), gamma.options());
    const bool direct = !updated && kernels::raw(running_mean, x) && kernels::raw(running_var, x) &&
                        running_mean.is_contiguous() && running_var.is_contiguous();
    kernels::batch_norm(x.contiguous(), gamma, beta, eps, y, mean, inv_std, direct ? running_mean : Tensor(),
                        direct ? running_var : Tensor(), decay);
    updated = updated || direct;
  } else {
    // On a GPU ATen updates running statistics as the lines below do, in one launch instead of eight
    const auto plain = [&](const Tensor& t) {
      return t.is_contiguous() && t.scalar_type() == x.scalar_type() && t.device() == x.device();
    };
    const bool direct = !updated && x.is_cuda() && !kernels::traced() && k.sizes[0] * k.sizes[2] > 1 &&
                        plain(running_mean) && plain(running_var);
    const auto flat = [&](const Tensor& t) { return direct ? t.view({k.sizes[1]}) : Tensor(); };
    std::tie(y, mean, inv_std) =
        at::native_batch_norm(x, gamma, beta, flat(running_mean), flat(running_var), true, 1 - decay, eps);
    updated = updated || direct;
  }
  for (const Tensor* t : {&running_mean, &running_var})
    if (t->defined()) bump_version(*t);
  if (updated) return y;
  const double count = static_cast<double>(k.sizes[0] * k.sizes[2]), adjust = count / std::max(count - 1, 1.0);
  auto update = [&](const Tensor& running, const Tensor& now, double weight) {
    // One operation on both tensors, because a tracer treats the result of an operation on the captured tensor alone as
    // a constant.
    running.lerp_((now * weight).reshape(running.sizes()).to(running.scalar_type()), 1 - decay);
  };
  update(running_mean, mean, 1);
  update(running_var, inv_std.pow(-2) - eps, adjust);
  return y;
}

CG_OP("batch_normalization_grad", BatchNormalizationGrad,
      "Gradients of x, gamma and beta of batch_normalization from x, gamma and the gradient of the result; mean and 1 "
      "/ std of x may be given.")

namespace {

struct BatchNormalization {
  double eps = 2e-5, decay = 0.9;
  std::optional<Ints> axis;
  std::optional<Tensor> running_mean, running_var;
  static constexpr auto params() {
    return std::make_tuple(CG_NORM_PARAMS(BatchNormalization), param("running_mean", &BatchNormalization::running_mean),
                           param("running_var", &BatchNormalization::running_var),
                           param("decay", &BatchNormalization::decay));
  }
  static constexpr bool any_dtype = true;
  static constexpr Mask saves = in_bit(0) | in_bit(1);
  Tensor mean, inv_std;  // one number per channel
  static constexpr auto stored() {
    return std::make_tuple(param("mean", &BatchNormalization::mean), param("inv_std", &BatchNormalization::inv_std));
  }

  Tensor forward(const Tensor& x, const Tensor& gamma, const Tensor& beta) {
    const Channels k(x, gamma, axis);
    const Tensor y =
        normalize_batch(k, k.gather(x), k.flat("gamma", gamma), k.flat("beta", beta), eps,
                        running_mean.value_or(Tensor()), running_var.value_or(Tensor()), decay, mean, inv_std);
    return k.scatter(y).to(x.scalar_type());
  }
  void backward(Ctx<Tensor>& c) {
    const bool into_gy = may_overwrite(c.gy());
    auto [gx, ggamma, gbeta] = BatchNormalizationGrad{eps, axis}.compute(c.in(0), c.in(1), c.gy(), mean, inv_std,
                                                                         {c.needs(0), c.needs(1), c.needs(2)}, into_gy);
    c.grad(0, [&] { return gx; });
    c.grad(1, [&] { return ggamma; });
    c.grad(2, [&] { return gbeta; });
  }
  void backward(Ctx<Var>& c) {
    Vars g = run_all(BatchNormalizationGrad{eps, axis}, c.in(0), c.in(1), c.gy(), c.saved(mean), c.saved(inv_std));
    for (size_t i = 0; i < 3; ++i) c.grad(i, [&] { return g[i]; });
  }
};
CG_OP("batch_normalization", BatchNormalization,
      "gamma (x - mean) / std + beta with the mean and std of x over axis (None: the first axis and those that gamma "
      "does not have). Running statistics become decay * running + (1 - decay) * new, in place.")

struct FixedBatchNormalization {
  double eps = 2e-5;
  std::optional<Ints> axis;
  static constexpr auto params() { return std::make_tuple(CG_NORM_PARAMS(FixedBatchNormalization)); }
  static constexpr bool any_dtype = true;
  static constexpr Mask saves = in_bit(0) | in_bit(1) | in_bit(3) | in_bit(4);

  Tensor forward(const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& mean, const Tensor& var) {
    const Channels k(x, gamma, axis);
    const Tensor cx = k.gather(x);
    const Tensor g = k.flat("gamma", gamma), b = k.flat("beta", beta), m = k.flat("mean", mean), v = k.flat("var", var);
    // On a GPU cuDNN normalizes in one launch
    const Tensor y = cx.is_cuda() && !kernels::traced()
                         ? at::batch_norm(cx, g, b, m, v, false, 0.0, eps, at::globalContext().userEnabledCuDNN())
                         : std::get<0>(at::native_batch_norm(cx, g, b, m, v, false, 0.0, eps));
    return k.scatter(y).to(x.scalar_type());
  }
  template <class T>
  void backward(Ctx<T>& c) {
    const Channels k(c.in_sizes(0), c.in_sizes(1).size(), axis, c10::promoteTypes(c.in_dtype(0), c.in_dtype(1)));
    auto g = fixed_batch_norm_grads<T>(k.gather(c.in(0)), k.parameter(c.in(1)), k.gather(c.gy()), k.parameter(c.in(3)),
                                       k.parameter(c.in(4)), eps,
                                       {c.needs(0), c.needs(1), c.needs(2), c.needs(3), c.needs(4)});
    c.grad(0, [&] { return k.scatter(g[0]); });
    for (size_t i = 1; i < 5; ++i) c.grad(i, [&] { return reshape(g[i], c.in_sizes(1)); });
  }
};
CG_OP("fixed_batch_normalization", FixedBatchNormalization,
      "gamma (x - mean) / sqrt(var + eps) + beta with given statistics.")

}  // namespace
}  // namespace cg
