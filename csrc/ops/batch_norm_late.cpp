// Batch normalization of MXNet: the moving statistics are updated when gradients are computed, not in forward.
#include <ATen/ops/zeros.h>

#include "ops/batch_norm.h"

namespace cg {
namespace {

struct BatchNormalizationLate {
  double eps = 1e-3, momentum = 0.9;
  int64_t axis = 1;
  bool fix_gamma = true;
  std::optional<Tensor> moving_mean, moving_var;
  static constexpr auto params() {
    using Op = BatchNormalizationLate;
    return std::make_tuple(param("eps", &Op::eps), param("momentum", &Op::momentum), param("axis", &Op::axis),
                           param("fix_gamma", &Op::fix_gamma), param("moving_mean", &Op::moving_mean),
                           param("moving_var", &Op::moving_var));
  }
  static constexpr bool any_dtype = true;
  static constexpr Mask saves = in_bit(0) | in_bit(1);
  Tensor mean, inv_std;  // one number per channel
  static constexpr auto stored() {
    return std::make_tuple(param("mean", &BatchNormalizationLate::mean),
                           param("inv_std", &BatchNormalizationLate::inv_std));
  }

  std::optional<Ints> over(int64_t ndim) const {
    Ints r;
    for (int64_t a = 0; a < ndim; ++a)
      if (a != wrap_axis(axis, ndim)) r.push_back(a);
    return r;
  }
  Tensor forward(const Tensor& x, const Tensor& gamma, const Tensor& beta) {
    TORCH_CHECK_VALUE(-x.dim() <= axis && axis < x.dim(), "axis ", axis, " is not in data of ", x.dim(), " axes");
    const int64_t channels = x.size(axis);
    for (const Tensor* p : {&gamma, &beta})
      TORCH_CHECK_VALUE(p->dim() == 1 && p->size(0) == channels, "gamma and beta must have shape [", channels,
                        "], not ", p->sizes());
    const Channels k(x, gamma, over(x.dim()));
    if (moving_mean && moving_var) k.check_pair("moving_mean", *moving_mean, "moving_var", *moving_var);
    const Tensor y =
        normalize_batch(k, k.gather(x), k.flat("gamma", gamma), k.flat("beta", beta), eps, {}, {}, 1, mean, inv_std);
    return k.scatter(y).to(x.scalar_type());
  }

  void update_statistics() const {
    if (!moving_mean || !moving_var) return;
    const Tensor var = inv_std.pow(-2).sub_(eps);
    if (kernels::raw(*moving_mean, mean) && kernels::raw(*moving_var, mean) && moving_mean->is_contiguous() &&
        moving_var->is_contiguous() && moving_mean->numel() == mean.numel() && moving_var->numel() == mean.numel()) {
      kernels::with_dtype(mean, [&](auto v) {
        using V = decltype(v);
        const V keep = V(momentum), take = V(1 - momentum);
        auto move = [&](const Tensor& moving, const Tensor& now) {
          V* m = moving.mutable_data_ptr<V>();
          const V* p = now.const_data_ptr<V>();
          for (int64_t i = 0, n = now.numel(); i < n; ++i) m[i] = m[i] * keep + p[i] * take;
        };
        move(*moving_mean, mean);
        move(*moving_var, var);
      });
      bump_version(*moving_mean);
      bump_version(*moving_var);
      return;
    }
    auto move = [&](Tensor moving, const Tensor& now) {
      moving.lerp_(now.reshape(moving.sizes()).to(moving.scalar_type()), 1 - momentum);
      bump_version(moving);
    };
    move(*moving_mean, mean);
    move(*moving_var, var);
  }

  template <class T>
  T zeros_of(Ctx<T>& c, size_t i) const {
    return T(at::zeros(c.in_sizes(i), mean.options().dtype(c.in_dtype(i))));
  }
  void backward(Ctx<Tensor>& c) {
    const bool into_gy = may_overwrite(c.gy());
    const BatchNormalizationGrad first{eps, over(static_cast<int64_t>(c.in_sizes(0).size()))};
    auto [gx, ggamma, gbeta] = first.compute(c.in(0), c.in(1), c.gy(), mean, inv_std,
                                             {c.needs(0), c.needs(1) && !fix_gamma, c.needs(2)}, into_gy);
    c.grad(0, [&] { return gx; });
    c.grad(1, [&] { return fix_gamma ? zeros_of(c, 1) : ggamma; });
    c.grad(2, [&] { return gbeta; });
    update_statistics();
  }
  void backward(Ctx<Var>& c) {
    const BatchNormalizationGrad first{eps, over(static_cast<int64_t>(c.in_sizes(0).size()))};
    const Var gamma = fix_gamma ? Var(value(c.in(1))) : c.in(1);
    Vars g = run_all(first, c.in(0), gamma, c.gy(), c.saved(mean), c.saved(inv_std));
    c.grad(0, [&] { return g[0]; });
    c.grad(1, [&] { return fix_gamma ? zeros_of(c, 1) : g[1]; });
    c.grad(2, [&] { return g[2]; });
    update_statistics();
  }
};
CG_OP(
    "batch_normalization_late", BatchNormalizationLate,
    "gamma (x - mean) / std + beta with the mean and std of each channel of x. When its gradients are computed, the "
    "moving "
    "statistics are updated in place by momentum * old + (1 - momentum) * new. fix_gamma: the gradient of gamma is 0.")

}  // namespace
}  // namespace cg
