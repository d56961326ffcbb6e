// Group normalization.
#include <ATen/ops/empty.h>
#include <ATen/ops/native_group_norm.h>
#include <ATen/ops/native_group_norm_backward.h>

#include "kernels/only_shape.h"
#include "ops/norm.h"

namespace cg {
namespace {

// x as (batch, groups, channels of a group, elements), with statistics over the last two axes.
struct Groups {
  int64_t groups = 1;
  double eps = 1e-5;
  static constexpr int64_t over[2] = {2, 3};

  void check(at::IntArrayRef x) const {
    TORCH_CHECK_VALUE(x.size() >= 2 && groups > 0 && x[1] % groups == 0, "group_normalization: ", groups,
                      " groups do not divide x of shape ", x);
  }
  template <class T>
  T split(const T& x) const {
    return reshape(x, {x.size(0), groups, x.size(1) / groups, -1});
  }
  template <class T>
  T parameter(const T& p) const {
    return reshape(p, {1, groups, -1, 1});
  }
  // The dtype for ATen's kernels, which need all tensors in one dtype.
  static at::ScalarType dtype(const Tensor& x, const Tensor& gamma) {
    const auto t = c10::promoteTypes(x.scalar_type(), gamma.scalar_type());
    return t == at::kHalf ? at::kFloat : t;
  }
};

struct GroupNormalizationGrad : Groups {
  static constexpr auto params() {
    return std::make_tuple(param("groups", &GroupNormalizationGrad::groups),
                           param("eps", &GroupNormalizationGrad::eps));
  }
  static constexpr bool any_dtype = true;
  static constexpr Mask optional = in_bit(3) | in_bit(4);
  static constexpr Mask saves = in_bit(0) | in_bit(1) | in_bit(2) | in_bit(3) | in_bit(4);

  std::tuple<Tensor, Tensor, Tensor> compute(const Tensor& x, const Tensor& gamma, const Tensor& gy, Tensor mean,
                                             Tensor inv_std, std::array<bool, 3> wanted) const {
    const auto t = dtype(x, gamma);
    const Tensor cx = x.to(t);
    if (!mean.defined()) {
      std::tie(mean, inv_std) = norm_statistics<Tensor>(split(cx), {}, {}, eps, over);
      mean = mean.reshape({x.size(0), groups});
      inv_std = inv_std.reshape({x.size(0), groups});
    }
    const int64_t batch = x.size(0), channels = x.size(1);
    auto [gx, ggamma, gbeta] = at::native_group_norm_backward(
        gy.to(t).contiguous(), cx.contiguous(), mean, inv_std, gamma.to(t).contiguous(), batch, channels,
        x.numel() / std::max<int64_t>(1, batch * channels), groups, wanted);
    return {wanted[0] ? gx.to(x.scalar_type()) : gx, ggamma, gbeta};
  }
  std::tuple<Tensor, Tensor, Tensor> forward(const Tensor& x, const Tensor& gamma, const Tensor& gy, const Tensor& mean,
                                             const Tensor& inv_std) {
    check(x.sizes());
    TORCH_CHECK_VALUE(gy.sizes() == x.sizes(), "group_normalization_grad: gy of shape ", gy.sizes(),
                      " does not fit x of shape ", x.sizes());
    auto [gx, ggamma, gbeta] = compute(x, gamma, gy, mean, inv_std, {true, true, true});
    return {gx, ggamma.to(gamma.scalar_type()), gbeta.to(gamma.scalar_type())};
  }
  template <class T>
  void backward(Ctx<T>& c) {
    auto saved = [&](size_t i) {
      const Tensor t = known(c.in(i));
      return t.defined() ? t.reshape({t.size(0), groups, 1, 1}) : t;
    };
    auto gathered = [&](const T& g, bool channels) {
      return !value(g).defined() ? g : channels ? parameter(g) : split(g);
    };
    const T x = split(c.in(0));
    auto [m, r] = norm_statistics(x, saved(3), saved(4), eps, over);
    NormGrads<T> g = norm_second(x, parameter(c.in(1)), split(c.in(2)), m, r, gathered(c.gy(0), false),
                                 gathered(c.gy(1), true), gathered(c.gy(2), true), over);
    auto restored = [&](const T& e) { return value(e).defined() ? reshape(e, c.in_sizes(0)) : e; };
    c.grad(0, [&] { return restored(g.x); });
    c.grad(1, [&] { return value(g.gamma).defined() ? reshape(sum(g.gamma, Ints{0, 3}), c.in_sizes(1)) : g.gamma; });
    c.grad(2, [&] { return restored(g.gy); });
  }
};
CG_OP("group_normalization_grad", GroupNormalizationGrad,
      "Gradients of x, gamma and beta of group_normalization from x, gamma and that of the result; mean and 1 / std, "
      "where given, are those of x.")

struct GroupNormalization : Groups {
  static constexpr auto params() {
    return std::make_tuple(required("groups", &GroupNormalization::groups), param("eps", &GroupNormalization::eps));
  }
  static constexpr bool any_dtype = true;
  static constexpr Mask saves = in_bit(0) | in_bit(1);
  Tensor mean, inv_std;
  static constexpr auto stored() {
    return std::make_tuple(param("mean", &GroupNormalization::mean), param("inv_std", &GroupNormalization::inv_std));
  }

  Tensor forward(const Tensor& x, const Tensor& gamma, const Tensor& beta) {
    check(x.sizes());
    const auto t = dtype(x, gamma);
    const int64_t batch = x.size(0), channels = x.size(1);
    if (kernels::only_shape(x) && gamma.is_meta() && beta.is_meta() && gamma.numel() == channels &&
        beta.numel() == channels && gamma.dim() == 1 && beta.dim() == 1) {
      mean = at::empty({batch, groups}, x.options().dtype(t));
      inv_std = at::empty({batch, groups}, mean.options());
      return at::empty(x.sizes(), x.options());
    }
    Tensor y;
    std::tie(y, mean, inv_std) =
        at::native_group_norm(x.to(t).contiguous(), gamma.to(t).contiguous(), beta.to(t).contiguous(), batch, channels,
                              x.numel() / std::max<int64_t>(1, batch * channels), groups, eps);
    return y.to(x.scalar_type());
  }
  GroupNormalizationGrad gradient() const { return {{groups, eps}}; }
  void backward(Ctx<Tensor>& c) {
    auto [gx, ggamma, gbeta] =
        gradient().compute(c.in(0), c.in(1), c.gy(), mean, inv_std, {c.needs(0), c.needs(1), c.needs(2)});
    c.grad(0, [&] { return gx; });
    c.grad(1, [&] { return ggamma; });
    c.grad(2, [&] { return gbeta; });
  }
  void backward(Ctx<Var>& c) {
    Vars g = run_all(gradient(), c.in(0), c.in(1), c.gy(), c.saved(mean), c.saved(inv_std));
    for (size_t i = 0; i < 3; ++i) c.grad(i, [&] { return g[i]; });
  }
};
CG_OP("group_normalization", GroupNormalization,
      "gamma (x - mean) / std + beta with the mean and std of each sample's `groups` groups of channels.")

}  // namespace
}  // namespace cg
