// Declarations shared by batch normalizations: the layout of channels, and the first derivatives as a separate op.
#pragma once
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/native_batch_norm_backward.h>

#include "kernels/norm.h"
#include "kernels/norm_second.h"
#include "kernels/raw.h"
#include "ops/norm.h"

namespace cg {

// Tensors as (outer, channels, inner), with statistics over the first and the last axis.
struct Channels {
  Ints order;  // permutation that makes the channel axes adjacent; empty if they are
  Ints shape;  // of the permuted tensor
  int64_t sizes[3] = {1, 1, 1};
  at::ScalarType dtype;  // the dtype to compute in
  static constexpr int64_t over[2] = {0, 2};

  // `axis`: the axes of the statistics; None: the first axis and those that gamma does not have.
  Channels(const Tensor& x, const Tensor& gamma, const std::optional<Ints>& axis)
      : Channels(x.sizes(), gamma.dim(), axis, c10::promoteTypes(x.scalar_type(), gamma.scalar_type())) {}
  Channels(at::IntArrayRef x, int64_t gamma_ndim, const std::optional<Ints>& axis, at::ScalarType promoted)
      : dtype(promoted == at::kHalf ? at::kFloat : promoted) {
    const int64_t n = x.size();
    c10::SmallVector<bool, 6> is_channel;
    for (int64_t a = 0; a < n; ++a) is_channel.push_back(axis || (a > 0 && a <= gamma_ndim));
    if (axis)
      for (int64_t a : *axis) is_channel[wrap_axis(a, n)] = false;
    int64_t part = 0;
    for (int64_t a = 0; a < n; ++a) {
      if (is_channel[a] != (part == 1)) ++part;
      if (part > 2) break;
      sizes[part] *= x[a];
    }
    shape = ints(x);
    if (part <= 2) return;
    shape.clear();
    std::fill(sizes, sizes + 3, 1);
    for (int64_t p = 0; p < 2; ++p)
      for (int64_t a = 0; a < n; ++a)
        if (is_channel[a] == (p == 1)) {
          order.push_back(a);
          shape.push_back(x[a]);
          sizes[p] *= x[a];
        }
  }
  template <class T>
  T gather(T x) const {
    if (value(x).scalar_type() != dtype) x = cast(x, dtype);
    if (!order.empty()) x = permute(x, order);
    return reshape(x, sizes);
  }
  template <class T>
  T scatter(const T& x) const {
    T y = reshape(x, shape);
    if (order.empty()) return y;
    Ints inverse(order.size());
    for (size_t i = 0; i < order.size(); ++i) inverse[order[i]] = i;
    return permute(y, inverse);
  }
  // A parameter, reshaped to broadcast against gathered tensors.
  template <class T>
  T parameter(T p) const {
    if (value(p).scalar_type() != dtype) p = cast(p, dtype);
    return reshape(p, {1, sizes[1], 1});
  }
  // A parameter, or a statistic, after checking that it has one number per channel: the kernels would read or write
  // beyond a shorter one.
  const Tensor& checked(const char* name, const Tensor& p) const {
    TORCH_CHECK_VALUE(p.numel() == sizes[1], "batch_normalization: ", name, " must have ", sizes[1],
                      " numbers, one per channel, not the shape ", p.sizes());
    return p;
  }
  Tensor flat(const char* name, const Tensor& p) const {
    return shaped(checked(name, p).to(dtype), {sizes[1]}).contiguous();
  }
  // Running or given statistics: both, or none.
  void check_pair(const char* mean_name, const Tensor& mean, const char* other_name, const Tensor& other) const {
    TORCH_CHECK_VALUE(mean.defined() == other.defined(), "batch_normalization: ", mean_name, " and ", other_name,
                      " must be given together");
    if (!mean.defined()) return;
    checked(mean_name, mean);
    checked(other_name, other);
  }
};

#define CG_NORM_PARAMS(OP) param("eps", &OP::eps), param("axis", &OP::axis)

struct BatchNormalizationGrad {
  double eps = 2e-5;
  std::optional<Ints> axis;
  static constexpr auto params() { return std::make_tuple(CG_NORM_PARAMS(BatchNormalizationGrad)); }
  static constexpr bool any_dtype = true;
  static constexpr Mask optional = in_bit(3) | in_bit(4);
  static constexpr Mask saves = in_bit(0) | in_bit(1) | in_bit(2) | in_bit(3) | in_bit(4);

  std::tuple<Tensor, Tensor, Tensor> compute(const Tensor& x, const Tensor& gamma, const Tensor& gy, const Tensor& mean,
                                             const Tensor& inv_std, std::array<bool, 3> wanted, bool into_gy = false,
                                             bool into_x = false) const {
    const Channels k(x, gamma, axis);
    k.check_pair("mean", mean, "inv_std", inv_std);
    TORCH_CHECK_VALUE(gy.sizes() == x.sizes(), "batch_normalization: gy of shape ", gy.sizes(),
                      " does not fit x of shape ", x.sizes());
    const Tensor cx = k.gather(x).contiguous();
    Tensor m = mean, r = inv_std;
    if (!m.defined()) std::tie(m, r) = norm_statistics<Tensor>(cx, {}, {}, eps, Channels::over);
    m = k.flat("mean", m);
    r = k.flat("inv_std", r);
    const Tensor g = k.flat("gamma", gamma), cgy = k.gather(gy).contiguous();
    Tensor gx, ggamma, gbeta;
    if (kernels::raw(cx)) {
      if (wanted[0])
        gx = into_gy || !cgy.is_alias_of(gy) ? cgy
             : into_x || !cx.is_alias_of(x)  ? cx
                                             : at::empty(k.sizes, cx.options());
      if (wanted[1]) ggamma = at::empty(g.sizes(), g.options());
      if (wanted[2]) gbeta = at::empty(g.sizes(), g.options());
      kernels::batch_norm_grad(cx, g, m, r, cgy, gx, ggamma, gbeta);
    } else {
      std::tie(gx, ggamma, gbeta) = at::native_batch_norm_backward(cgy, cx, g, {}, {}, m, r, true, eps, wanted);
    }
    if (wanted[0]) gx = k.scatter(gx).to(x.scalar_type());
    if (wanted[1]) ggamma = ggamma.reshape(gamma.sizes()).to(gamma.scalar_type());
    if (wanted[2]) gbeta = gbeta.reshape(gamma.sizes()).to(gamma.scalar_type());
    return {gx, ggamma, gbeta};
  }
  std::tuple<Tensor, Tensor, Tensor> forward(const Tensor& x, const Tensor& gamma, const Tensor& gy, const Tensor& mean,
                                             const Tensor& inv_std) {
    return compute(x, gamma, gy, mean, inv_std, {true, true, true});
  }
  // Whether a kernel has computed the gradients, in two passes over memory instead of some thirty.
  bool by_kernel(Ctx<Tensor>& c, const Channels& k) const {
    if (!c.gy(0).defined() || !kernels::raw(c.in(0))) return false;
    const auto rows = [&](const Tensor& t) { return k.gather(t).contiguous(); };
    const Tensor x = rows(c.in(0)), gy = rows(c.in(2)), v = rows(c.gy(0));
    if (!kernels::raw(x) || !kernels::raw(gy) || !kernels::raw(v)) return false;
    const auto channel = [&](const char* name, const Tensor& t) { return t.defined() ? k.flat(name, t) : t; };
    auto [mean, inv_std] = norm_statistics<Tensor>(x, c.in(3), c.in(4), eps, Channels::over);
    mean = k.flat("mean", mean);
    inv_std = k.flat("inv_std", inv_std);
    const Tensor gamma = k.flat("gamma", c.in(1)), w = channel("ggamma", c.gy(1)), b = channel("gbeta", c.gy(2));
    std::array<Tensor, 3> g;
    for (size_t i = 0; i < 3; ++i)
      if (c.needs(i)) g[i] = at::empty_like(i == 1 ? gamma : x);
    kernels::batch_norm_second({x, gamma, gy, mean, inv_std, v, w, b, g[0], g[1], g[2]});
    c.grad(0, [&] { return k.scatter(g[0]); });
    c.grad(1, [&] { return g[1].reshape(c.in_sizes(1)); });
    c.grad(2, [&] { return k.scatter(g[2]); });
    return true;
  }
  template <class T>
  void backward(Ctx<T>& c) {
    const Channels k(c.in_sizes(0), c.in_sizes(1).size(), axis, c10::promoteTypes(c.in_dtype(0), c.in_dtype(1)));
    if constexpr (std::is_same_v<T, Tensor>)
      if (by_kernel(c, k)) return;
    auto saved = [&](size_t i) {
      const Tensor t = known(c.in(i));
      return t.defined() ? k.parameter(t) : t;
    };
    auto channel = [&](const T& g) { return value(g).defined() ? k.parameter(g) : g; };
    const T x = k.gather(c.in(0)), gamma = k.parameter(c.in(1)), gy = k.gather(c.in(2));
    const T v = value(c.gy(0)).defined() ? k.gather(c.gy(0)) : c.gy(0);
    auto [m, r] = norm_statistics(x, saved(3), saved(4), eps, Channels::over);
    NormGrads<T> g = norm_second(x, gamma, gy, m, r, v, channel(c.gy(1)), channel(c.gy(2)), Channels::over);
    c.grad(0, [&] { return value(g.x).defined() ? k.scatter(g.x) : g.x; });
    c.grad(1,
           [&] { return value(g.gamma).defined() ? reshape(sum(g.gamma, Channels::over), c.in_sizes(1)) : g.gamma; });
    c.grad(2, [&] { return value(g.gy).defined() ? k.scatter(g.gy) : g.gy; });
  }
};
template <>
const OpInfo* OpNode<BatchNormalizationGrad>::static_info;  // batch_norm.cpp

// gamma (x - mean) / std + beta with the statistics of gathered x; mean and 1 / std are stored. If running statistics
// are given, they are updated by decay * old + (1 - decay) * new. gamma and beta have one axis.
Tensor normalize_batch(const Channels& k, const Tensor& x, const Tensor& gamma, const Tensor& beta, double eps,
                       const Tensor& running_mean, const Tensor& running_var, double decay, Tensor& mean,
                       Tensor& inv_std);

// Gradients of gamma (x - mean) / sqrt(var + eps) + beta with given statistics; x and gy are gathered, the others
// broadcast against them. `needs`: whether the gradients of x, gamma, beta, mean, var are needed.
template <class T>
std::array<T, 5> fixed_batch_norm_grads(const T& x, const T& gamma, const T& gy, const T& mean, const T& var,
                                        double eps, std::array<bool, 5> needs) {
  std::array<T, 5> g;
  const T r = rsqrt(var + eps), slope = gamma * r;
  if (needs[0]) g[0] = gy * slope;
  if (!needs[1] && !needs[2] && !needs[3] && !needs[4]) return g;
  g[2] = sum(gy, Channels::over, true);
  if (needs[3]) g[3] = -(g[2] * slope);
  if (!needs[1] && !needs[4]) return g;
  g[1] = sum(gy * (x - mean), Channels::over, true) * r;
  if (needs[4]) g[4] = g[1] * gamma * (r * r) * -0.5;
  return g;
}

}  // namespace cg
