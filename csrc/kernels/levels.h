// Loops that are compiled for each level of the instruction set.
#pragma once
#include "kernels/threads.h"

namespace cg::kernels::detail {

// Loops are objects whose run() is inlined, together with everything that it calls.
template <class... A>
__attribute__((CG_KERNEL_PLAIN)) void loop_plain(A... a) {
  (a.run(), ...);
}
#if defined(CG_KERNEL_V3)
template <class... A>
__attribute__((CG_KERNEL_LOOP, target(CG_KERNEL_V3))) void loop_v3(A... a) {
  (a.run(), ...);
}
template <class... A>
__attribute__((CG_KERNEL_LOOP, target(CG_KERNEL_V4))) void loop_v4(A... a) {
  (a.run(), ...);
}
#endif

template <class A>
void run_loop(const A& a) {
#if defined(CG_KERNEL_V3)
  const int level = simd_level();
  if (level >= 4) return loop_v4(a);
  if (level == 3) return loop_v3(a);
#endif
  loop_plain(a);
}

// A loop that consists of one function.
template <class F>
struct Once {
  F f;
  CG_INLINE void run() const { f(); }
};

}  // namespace cg::kernels::detail
