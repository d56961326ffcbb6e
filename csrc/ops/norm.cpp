// Layer normalization: of rows, and of any number of axes.
#include "ops/norm.h"

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

}  // namespace
}  // namespace cg
