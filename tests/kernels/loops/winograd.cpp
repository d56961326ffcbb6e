// The convolutions of csrc/kernels/winograd.h for tests, which load them by ctypes. The last number of an array is
// followed by memory that must not be written; `memory` starts with NaN, so that a number nobody wrote shows.
#include "kernels/winograd.h"

#include <limits>
#include <memory>

using cg::kernels::Winograd;

extern "C" {
__attribute__((visibility("default"))) void convolve(const int64_t* n, const float* x, const float* w, int turned,
                                                     const float* bias, float* y) {
  const Winograd s{n[0], n[1], n[2], n[3], n[4], {n[5], n[6]}};
  const int64_t size = winograd_memory(s, x == y);
  const std::unique_ptr<float[]> memory(new float[size]);
  std::fill_n(memory.get(), size, std::numeric_limits<float>::quiet_NaN());
  winograd(s, x, w, turned, bias, y, memory.get());
}
__attribute__((visibility("default"))) void filter_grad(const int64_t* n, const float* x, const float* gy, float* gw) {
  const Winograd s{n[0], n[1], n[2], n[3], n[4], {n[5], n[6]}};
  const int64_t size = winograd_grad_w_memory(s);
  const std::unique_ptr<float[]> memory(new float[size]);
  std::fill_n(memory.get(), size, std::numeric_limits<float>::quiet_NaN());
  winograd_grad_w(s, x, gy, gw, memory.get());
}
}
