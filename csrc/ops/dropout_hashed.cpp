// Dropout whose random numbers are hashes of positions, which vector code computes; a generator would draw them one
// after another.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/native_dropout.h>
#include <ATen/ops/native_dropout_backward.h>

#include "core/named.h"
#include "kernels/raw.h"
#include "kernels/simd.h"

namespace cg {
namespace {

// A 32-bit hash of the position, keyed by two numbers that torch's generator draws for each call.
CG_INLINE uint32_t mixed(uint32_t v) {
  v ^= v >> 16;
  v *= 0x21f0aaadu;
  v ^= v >> 15;
  v *= 0x735a2d97u;
  return v ^ (v >> 15);
}
template <class T>
CG_INLINE void drop(int64_t n, const T* __restrict x, T* __restrict y, uint8_t* __restrict mask, uint32_t key,
                    uint32_t second, uint32_t below, T scale) {
  CG_IVDEP
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t kept = mixed(mixed(static_cast<uint32_t>(i) + key) + second) >= below ? 1u : 0u;
    mask[i] = static_cast<uint8_t>(kept);
    y[i] = kept ? x[i] * scale : T(0);
  }
}
template <class T>
CG_INLINE void select(int64_t n, const T* __restrict g, const uint8_t* __restrict mask, T* __restrict y, T scale) {
  CG_IVDEP
  for (int64_t i = 0; i < n; ++i) y[i] = mask[i] ? g[i] * scale : T(0);
}
#define CG_DROP(T)                                                                                                 \
  CG_SIMD void run_drop(int64_t n, const T* x, T* y, uint8_t* mask, uint32_t key, uint32_t second, uint32_t below, \
                        T scale) {                                                                                 \
    drop(n, x, y, mask, key, second, below, scale);                                                                \
  }                                                                                                                \
  CG_SIMD void run_select(int64_t n, const T* g, const uint8_t* mask, T* y, T scale) { select(n, g, mask, y, scale); }
CG_DROP(float)
CG_DROP(double)
#undef CG_DROP

struct DropoutHashed {
  double p = 0.5;
  static constexpr auto params() { return std::make_tuple(param("p", &DropoutHashed::p)); }
  static constexpr Mask saves = 0;
  Tensor mask;
  static constexpr auto stored() { return std::make_tuple(param("mask", &DropoutHashed::mask)); }

  double scale() const { return p < 1 ? 1 / (1 - p) : 0; }
  Tensor forward(const Tensor& x) {
    TORCH_CHECK_VALUE(p >= 0 && p <= 1, "dropout: p must be in [0, 1], not ", p);
    if (!kernels::raw(x) || p == 0 || p == 1) {
      Tensor y;
      std::tie(y, mask) = at::native_dropout(x, p, true);
      return y;
    }
    const Tensor given = x.contiguous(), y = at::empty_like(given);
    mask = at::empty(x.sizes(), x.options().dtype(at::kBool));
    at::Generator generator = at::detail::getDefaultCPUGenerator();
    uint64_t keys;
    {
      std::lock_guard<std::mutex> lock(generator.mutex());
      keys = at::check_generator<at::CPUGeneratorImpl>(generator)->random64();
    }
    auto* kept = static_cast<uint8_t*>(mask.mutable_data_ptr());
    const auto below = static_cast<uint32_t>(std::min(p * 4294967296.0, 4294967295.0));
    kernels::with_dtype(x, [&]<class V>(V) {
      const V* from = given.const_data_ptr<V>();
      V* to = y.mutable_data_ptr<V>();
      // Positions have 32 bits, so each part of 2^31 elements has its own keys.
      for (int64_t i = 0, part = 0; i < x.numel(); i += int64_t(1) << 31, ++part)
        run_drop(std::min(x.numel() - i, int64_t(1) << 31), from + i, to + i, kept + i, uint32_t(keys),
                 uint32_t(keys >> 32) + uint32_t(part) * 0x9e3779b9u, below, V(scale()));
    });
    return y;
  }
  void backward(Ctx<Tensor>& c) {
    c.grad(0, [&] {
      const Tensor& gy = c.gy();
      if (!kernels::raw(gy)) return at::native_dropout_backward(gy, mask, scale());
      const Tensor given = gy.contiguous(), kept = mask.contiguous(), gx = at::empty_like(given);
      kernels::with_dtype(gy, [&]<class V>(V) {
        run_select(gx.numel(), given.const_data_ptr<V>(), static_cast<const uint8_t*>(kept.const_data_ptr()),
                   gx.mutable_data_ptr<V>(), V(scale()));
      });
      return gx;
    });
  }
  void backward(Ctx<Var>& c) {
    c.grad(0, [&] { return Named(CG_NAMED("dropout_apply")).with("scale", scale())(c.gy(), c.saved(mask)); });
  }
};
CG_OP("dropout_hashed", DropoutHashed,
      "Sets each element to 0 with probability p and divides the others by 1 - p; seeded by torch's generator.")

}  // namespace
}  // namespace cg
