// The second derivative shared by all normalizations.
#pragma once
#include "ops/functions.h"

namespace cg {

// Gradients with respect to the inputs of a normalization's first derivative.
template <class T>
struct NormGrads {
  T x, gamma, gy;  // gamma: not yet summed to its shape
};

// y = gamma h + beta, h = (x - mean) r with r = 1 / std, mean and std over the axes `over` of x. All arguments
// broadcast against x. Its first derivative is gx = N(gamma gy) with the self-adjoint
//   N(e) = r (e - mean(e) - h mean(e h)),
// ggamma = sum(gy h) and gbeta = sum(gy). Here `v`, `w`, `b` are the gradients of these; any may be undefined.
// N depends on x through h, and through r with dr = -r h / n, which gives the last term of `x`.
template <class T>
NormGrads<T> norm_second(const T& x, const T& gamma, const T& gy, const T& mean_x, const T& r, const T& v, const T& w,
                         const T& b, at::IntArrayRef over) {
  auto average = [&](const T& e) { return mean(e, over, true); };
  auto has = [](const T& t) { return value(t).defined(); };
  const T h = (x - mean_x) * r;
  auto N = [&](const T& e) { return r * (e - average(e) - h * average(e * h)); };
  NormGrads<T> g;
  T gh;
  auto add_to = [&](T& sum, T term) { sum = has(sum) ? sum + term : std::move(term); };
  if (has(v)) {
    const T u = gamma * gy, nv = N(v);
    gh = -(r * (v * average(u * h) + u * average(v * h)));
    g.x = -(h * r * average(nv * u));
    g.gamma = nv * gy;
    g.gy = nv * gamma;
  }
  if (has(w)) {
    add_to(gh, w * gy);
    add_to(g.gy, w * h);
  }
  if (has(b)) g.gy = has(g.gy) ? g.gy + b : broadcast_to(b, gy.sizes());
  if (has(gh)) add_to(g.x, N(gh));
  return g;
}

// Mean and 1 / std: in a recorded pass as functions of x, in a plain pass those of the forward.
template <class T>
std::pair<T, T> norm_statistics(const T& x, const Tensor& saved_mean, const Tensor& saved_inv_std, double eps,
                                at::IntArrayRef over) {
  if constexpr (std::is_same_v<T, Tensor>) {
    if (saved_mean.defined()) return {saved_mean, saved_inv_std};
  }
  const T m = mean(x, over, true), d = x - m;
  return {m, rsqrt(mean(d * d, over, true) + eps)};
}

}  // namespace cg
