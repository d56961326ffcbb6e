// The generator of random functions: std::mt19937 in a tensor of bytes, so that a program can keep, copy and reset it.
//
// With the distributions of the standard library it gives the same numbers as nnabla on a CPU with the same seed. On an
// accelerator it only seeds the device's generator.
#pragma once
#include <ATen/core/Generator.h>

#include <random>

#include "kernels/capture.h"
#include "kernels/trace.h"
#include "ops/functions.h"

namespace cg {

using Mt = std::mt19937;
static_assert(std::is_trivially_copyable_v<Mt>);

inline Mt& generator(const char* function, const Tensor& state) {
  kernels::reads_values(function, state);
  kernels::draws_on_host(function);
  bool fits = state.is_cpu() && state.scalar_type() == at::kByte && state.is_contiguous() &&
              state.numel() == static_cast<int64_t>(sizeof(Mt)) &&
              reinterpret_cast<uintptr_t>(state.const_data_ptr()) % alignof(Mt) == 0;
  if (fits) {
    // With words of more than 32 bits, or only zeros, it would give numbers with which some distributions never end.
    const auto* words = static_cast<const Mt::result_type*>(state.const_data_ptr());
    Mt::result_type bits = 0;
    for (size_t i = 0; i < Mt::state_size; ++i) bits |= words[i];
    fits = bits != 0 && bits <= Mt::max();
  }
  TORCH_CHECK_VALUE(fits, "the state of a generator must be ", sizeof(Mt), " bytes on the CPU, made by new_generator");
  return *reinterpret_cast<Mt*>(state.data_ptr());
}
// A number from `low` to `high`, as std::uniform_real_distribution<float> gives it. That is undefined if `high` is
// below `low`, which nnabla does not refuse.
inline float between(Mt& g, float low, float high) {
  return std::uniform_real_distribution<float>(0, 1)(g) * (high - low) + low;
}
// A generator of the device, seeded from `state`; while a CUDA graph is captured, torch's generator.
at::Generator device_generator(const char* function, const Tensor& state, at::Device device);

}  // namespace cg
