// L2 and local response normalization.
#include "kernels/response.h"

#include <ATen/ops/eq.h>

#include "kernels/raw.h"
#include "ops/pool.h"

namespace cg {
namespace {

struct Normalize {
  double eps = 1e-5;
  Ints axis{1};
  static constexpr auto params() {
    return std::make_tuple(param("eps", &Normalize::eps), param("axis", &Normalize::axis));
  }
  static constexpr Mask saves = in_bit(0);

  Tensor forward(const Tensor& x) { return x / (at::sqrt(at::sum(at::square(x), axis, true)) + eps); }
  // sqrt has no derivative at 0. For a zero vector the derivative at 1 is used instead, whose product with x = 0 is 0.
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] {
      const T x = c.in(0), square_sum = sum(square(x), axis, true);
      const Tensor zero = at::eq(value(square_sum), 0).to(value(x).scalar_type());
      const T safe = sqrt(square_sum + zero), norm = safe + (eps - zero);
      return (c.gy() - x * (sum(c.gy() * x, axis, true) / (safe * norm))) / norm;
    });
  }
};
CG_OP("normalize", Normalize, "x / (L2 norm of x along axis + eps)")

struct LocalResponseNormalization {
  int64_t n = 5;
  double k = 2, alpha = 1e-4, beta = .75;
  static constexpr auto params() {
    return std::make_tuple(param("n", &LocalResponseNormalization::n), param("k", &LocalResponseNormalization::k),
                           param("alpha", &LocalResponseNormalization::alpha),
                           param("beta", &LocalResponseNormalization::beta));
  }
  static constexpr Mask saves = in_bit(0);

  // The sum over each channel and its n / 2 neighbours on both sides.
  template <class T>
  T neighbours(const T& x) const {
    if (c10::multiply_integers(x.sizes()) == 0) return x;
    const int64_t half = n / 2;
    const T lines = reshape(x, {x.size(0), 1, x.size(1), -1});
    return reshape(sum_pooling(lines, {2 * half + 1, 1}, {1, 1}, {half, 0}), x.sizes());
  }
  template <class T>
  T scale(const T& x) const {
    return neighbours(square(x)) * alpha + k;
  }

  Tensor forward(const Tensor& x) {
    const bool usual = beta == 0.75 && n >= 0;  // in one pass: pooling and a power take five times as long
    if (usual && kernels::raw(x) && x.dim() >= 2) return kernels::local_response(x.contiguous(), n / 2, k, alpha);
    return x * at::pow(scale(x), -beta);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] {
      const T x = c.in(0), s = scale(x), p = pow(s, c10::Scalar(-beta));
      return c.gy() * p - x * neighbours(c.gy() * x * p / s) * (2 * alpha * beta);
    });
  }
};
CG_OP("local_response_normalization", LocalResponseNormalization,
      "x / (k + alpha * sum of squares over n neighbouring channels) ** beta")

}  // namespace
}  // namespace cg
