// The convolutions of csrc/kernels/pointwise.h for tests, which load them by ctypes. The last number of an array is
// followed by memory that must not be written; `memory` starts with NaN, so that a number nobody wrote shows.
#include "kernels/pointwise.h"

#include <limits>
#include <vector>

using cg::kernels::Pointwise;

namespace {
std::vector<float> room(int64_t size) { return std::vector<float>(size, std::numeric_limits<float>::quiet_NaN()); }
}  // namespace

extern "C" {
__attribute__((visibility("default"))) void multiply(const int64_t* n, const float* x, const float* w, int turned,
                                                     const float* bias, float* y, int threads) {
  const Pointwise s{n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7]};
  pointwise(s, x, w, turned, bias, y, room(threads * pointwise_memory(s)).data(), threads);
}
__attribute__((visibility("default"))) void filter_grad(const int64_t* n, const float* x, const float* gy, float* gw) {
  const Pointwise s{n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7]};
  pointwise_grad_w(s, x, gy, gw, room(pointwise_grad_w_memory(s)).data());
}
}
