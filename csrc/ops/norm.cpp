// Layer and group normalization.
#include "ops/norm.h"

#include <ATen/ops/native_group_norm.h>
#include <ATen/ops/native_group_norm_backward.h>
#include <ATen/ops/native_layer_norm.h>
#include <ATen/ops/native_layer_norm_backward.h>

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones.h>

#include "core/deferred.h"
#include "kernels/norm_second.h"
#include "kernels/only_shape.h"

namespace cg {
namespace {

struct LayerNormalizationGrad {
  double eps = 1e-5;
  static constexpr auto params() { return std::make_tuple(param("eps", &LayerNormalizationGrad::eps)); }
  static constexpr Mask optional = in_bit(3) | in_bit(4);
  static constexpr Mask saves = in_bit(0) | in_bit(1) | in_bit(2) | in_bit(3) | in_bit(4);
  static constexpr int64_t over[1] = {1};

  std::tuple<Tensor, Tensor, Tensor> compute(const Tensor& x, const Tensor& gamma, const Tensor& gy, Tensor mean,
                                             Tensor inv_std, std::array<bool, 3> wanted) const {
    TORCH_CHECK_VALUE(x.dim() == 2 && gy.sizes() == x.sizes(), "layer_normalization_grad: gy of shape ", gy.sizes(),
                      " does not fit x of shape ", x.sizes());
    if (!mean.defined()) std::tie(mean, inv_std) = norm_statistics<Tensor>(x, {}, {}, eps, over);
    return at::native_layer_norm_backward(gy, x, gamma.sizes(), mean, inv_std, gamma, gamma, wanted);
  }
  std::tuple<Tensor, Tensor, Tensor> forward(const Tensor& x, const Tensor& gamma, const Tensor& gy, const Tensor& mean,
                                             const Tensor& inv_std) {
    return compute(x, gamma, gy, mean, inv_std, {true, true, true});
  }
  // Whether a kernel has computed the gradients, in one pass over memory instead of some thirty.
  bool by_kernel(Ctx<Tensor>& c) const {
    if (!kernels::raw(c.in(0))) return false;
    const auto rows = [](const Tensor& t) { return t.defined() ? t.contiguous() : t; };
    const Tensor x = rows(c.in(0)), gamma = rows(c.in(1)), gy = rows(c.in(2)), v = rows(c.gy(0));
    // The formula raises the errors for arrays of other shapes, by which a program may have replaced these.
    if (!v.defined() || x.dim() != 2 || gy.sizes() != x.sizes() || v.sizes() != x.sizes()) return false;
    const auto [m, r] = norm_statistics<Tensor>(x, c.in(3), c.in(4), eps, over);
    const Tensor mean = rows(m), inv_std = rows(r), w = rows(c.gy(1)), b = rows(c.gy(2));
    const auto fits = [&](const Tensor& t, int64_t n) {
      return !t.defined() || (kernels::raw(x, t) && t.numel() == n);
    };
    for (const Tensor& t : {gy, v})
      if (!fits(t, x.numel())) return false;
    for (const Tensor& t : {gamma, w, b})
      if (!fits(t, x.size(1))) return false;
    for (const Tensor& t : {mean, inv_std})
      if (!fits(t, x.size(0))) return false;
    std::array<Tensor, 3> g;
    for (size_t i = 0; i < 3; ++i)
      if (c.needs(i)) g[i] = at::empty_like(i == 1 ? gamma : x);
    kernels::layer_norm_second({x, gamma, gy, mean, inv_std, v, w, b, g[0], g[1], g[2]});
    for (size_t i = 0; i < 3; ++i) c.grad(i, [&] { return g[i]; });
    return true;
  }
  template <class T>
  void backward(Ctx<T>& c) {
    if constexpr (std::is_same_v<T, Tensor>)
      if (by_kernel(c)) return;
    auto [m, r] = norm_statistics(c.in(0), known(c.in(3)), known(c.in(4)), eps, over);
    NormGrads<T> g = norm_second(c.in(0), c.in(1), c.in(2), m, r, c.gy(0), c.gy(1), c.gy(2), over);
    c.grad(0, [&] { return g.x; });
    c.grad(1, [&] { return g.gamma; });
    c.grad(2, [&] { return g.gy; });
  }
};
CG_OP("layer_normalization_grad", LayerNormalizationGrad,
      "Gradients of x, gamma and beta of layer_normalization from x, gamma and that of the result; mean and 1 / std, "
      "where given, are those of x.")

struct LayerNormalization {
  double eps = 1e-5;
  static constexpr auto params() { return std::make_tuple(param("eps", &LayerNormalization::eps)); }
  static constexpr Mask saves = in_bit(0) | in_bit(1);
  Tensor mean, inv_std;
  static constexpr auto stored() {
    return std::make_tuple(param("mean", &LayerNormalization::mean), param("inv_std", &LayerNormalization::inv_std));
  }

  Tensor forward(const Tensor& x, const Tensor& gamma, const Tensor& beta) {
    TORCH_CHECK_VALUE(x.dim() == 2, "layer_normalization: x must have 2 axes, not ", x.dim());
    if (kernels::only_shape(x, gamma, beta) && gamma.dim() == 1 && gamma.size(0) == x.size(1) &&
        beta.sizes() == gamma.sizes()) {
      mean = at::empty({x.size(0), 1}, x.options());
      inv_std = at::empty(mean.sizes(), mean.options());
      return at::empty(x.sizes(), x.options());
    }
    Tensor y;
    std::tie(y, mean, inv_std) = at::native_layer_norm(x, gamma.sizes(), gamma, beta, eps);
    return y;
  }
  void backward(Ctx<Tensor>& c) {
    auto [gx, ggamma, gbeta] = LayerNormalizationGrad{eps}.compute(c.in(0), c.in(1), c.gy(), mean, inv_std,
                                                                   {c.needs(0), c.needs(1), c.needs(2)});
    c.grad(0, [&] { return gx; });
    c.grad(1, [&] { return ggamma; });
    c.grad(2, [&] { return gbeta; });
  }
  void backward(Ctx<Var>& c) {
    Vars g = run_all(LayerNormalizationGrad{eps}, c.in(0), c.in(1), c.gy(), c.saved(mean), c.saved(inv_std));
    for (size_t i = 0; i < 3; ++i) c.grad(i, [&] { return g[i]; });
  }
};
CG_OP("layer_normalization", LayerNormalization,
      "gamma (x - mean) / std + beta with the mean and std of each row of x.")

// Layer normalization of any number of axes, of which the first `lead` count samples.
struct SampleNormalization {
  int64_t lead = 1;
  double eps = 1e-5;
  static constexpr auto params() {
    return std::make_tuple(param("lead", &SampleNormalization::lead), param("eps", &SampleNormalization::eps));
  }
  static constexpr Mask optional = in_bit(1) | in_bit(2);
  static constexpr Mask saves = in_bit(0) | in_bit(2);
  Tensor mean, inv_std;
  static constexpr auto stored() {
    return std::make_tuple(param("mean", &SampleNormalization::mean), param("inv_std", &SampleNormalization::inv_std));
  }

  // The numbers of samples and of the elements of a sample.
  Ints matrix(at::IntArrayRef sizes) const {
    return {c10::multiply_integers(sizes.slice(0, lead)), c10::multiply_integers(sizes.slice(lead))};
  }
  void check(const Tensor& x, const Tensor& beta, const Tensor& gamma) const {
    TORCH_CHECK_VALUE(lead >= 0 && lead <= x.dim(), "sample_normalization: lead is ", lead, ", but x has ", x.dim(),
                      " axes");
    for (const Tensor& t : {beta, gamma})
      TORCH_CHECK_VALUE(!t.defined() || t.numel() == matrix(x.sizes())[1],
                        "sample_normalization: a parameter of shape ", t.sizes(),
                        " does not fit the samples of x of shape ", x.sizes());
  }
  Tensor infer(const Tensor& x, const Tensor& beta, const Tensor& gamma) {
    check(x, beta, gamma);
    mean = hollow({matrix(x.sizes())[0], 1}, x);
    inv_std = hollow(mean);
    return hollow(x);
  }
  Tensor forward(const Tensor& x, const Tensor& beta, const Tensor& gamma) {
    check(x, beta, gamma);
    const Ints sizes = matrix(x.sizes()), line{sizes[1]};
    const auto flat = [&](const Tensor& t) { return t.defined() ? shaped(t, line) : t; };
    auto [y, m, r] = at::native_layer_norm(shaped(x, sizes), line, flat(gamma), flat(beta), eps);
    mean = m, inv_std = r;
    return shaped(y, x.sizes());
  }
  template <class T>
  void backward(Ctx<T>& c) {
    const Ints sizes = matrix(c.in_sizes(0)), line{sizes[1]};
    const T x = shaped(c.in(0), sizes), gy = shaped(c.gy(), sizes);
    const bool given = value(c.in(2)).defined();
    const T gamma = given ? shaped(c.in(2), line) : T(at::ones(line, value(x).options()));
    std::array<T, 3> g;  // of x, gamma and beta
    if constexpr (std::is_same_v<T, Tensor>) {
      std::tie(g[0], g[1], g[2]) = LayerNormalizationGrad{eps}.compute(x, gamma, gy, mean, inv_std,
                                                                       {c.needs(0), given && c.needs(2), c.needs(1)});
    } else {
      Vars all = run_all(LayerNormalizationGrad{eps}, x, gamma, gy, c.saved(mean), c.saved(inv_std));
      std::move(all.begin(), all.end(), g.begin());
    }
    c.grad(0, [&] { return shaped(g[0], c.in_sizes(0)); });
    c.grad(1, [&] { return shaped(g[2], c.in_sizes(1)); });
    c.grad(2, [&] { return shaped(g[1], c.in_sizes(2)); });
  }
};
CG_OP("sample_normalization", SampleNormalization,
      "layer_normalization of samples, which the first `lead` axes of x count; beta and gamma may be left out.")

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
