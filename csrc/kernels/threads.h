// Threads for CPU loops.
#pragma once
#include <cstdint>

#include "kernels/simd.h"

namespace cg::kernels {

constexpr int64_t kGrain = 1 << 15;  // elements from which on another thread saves time

// Calls run(context, begin, end) for parts of [0, n) of at least `grain` elements, on torch's threads, as many as
// torch.set_num_threads has set. Rethrows an exception of a thread.
void in_threads(int64_t n, int64_t grain, void (*run)(void* context, int64_t begin, int64_t end), void* context);

template <class F>
void in_threads(int64_t n, int64_t grain, F&& f) {
  if (n <= 0) return;
  if (n <= grain) return f(int64_t(0), n);
  auto* context = const_cast<void*>(static_cast<const void*>(&f));
  in_threads(
      n, grain,
      [](void* context, int64_t begin, int64_t end) {
        (*static_cast<std::remove_reference_t<F>*>(context))(begin, end);
      },
      context);
}

// Calls f(task, i) for each i below n, in threads; for items that take long.
template <class T, class F>
void each_item(int64_t n, const T& task, F&& f) {
  in_threads(n, 1, [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) f(task, i);
  });
}

// How many threads in_threads would use now, for as many items.
int64_t most_threads();

// The x86-64 level that loops may use on this processor: 1, 3 (AVX2) or 4 (AVX-512).
int simd_level();

}  // namespace cg::kernels

// The compiler options for the loops of a level. Multiplications and additions are not fused, so that results do not
// depend on the processor and agree with those of ATen's and NumPy's separate operations.
#if defined(__clang__)
#define CG_KERNEL_LOOP unused
#else
#define CG_KERNEL_LOOP optimize("O3", "no-math-errno", "no-trapping-math", "fp-contract=off")
#endif
#if defined(__x86_64__) && defined(__gnu_linux__)
#define CG_KERNEL_V3 "avx2,bmi,bmi2,f16c,fma,lzcnt,movbe"
#define CG_KERNEL_V4 "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi,bmi2,f16c,fma,lzcnt,movbe"
#define CG_KERNEL_PLAIN unused  // -O2, which compiles faster: x86-64 processors without AVX2 are from before 2013
// Functions that call instructions of AVX-512 by name.
#define CG_V4 __attribute__((target(CG_KERNEL_V4)))
#define CG_V4_INLINE __attribute__((target(CG_KERNEL_V4), always_inline)) static inline
#else
#define CG_KERNEL_PLAIN CG_KERNEL_LOOP
#endif
