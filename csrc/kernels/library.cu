// The exported function of the CUDA library.
#include <vector>

#include "kernels/cuda.cuh"
#include "kernels/register.h"

namespace cg::kernels {

std::vector<Entry>& entries() {
  static std::vector<Entry> all;
  return all;
}

namespace {

#if defined(__CUDACC__)
__global__ void nothing() {}

const char* error_text(Status status) { return cudaGetErrorString(static_cast<cudaError_t>(status)); }

// Fails if the driver is too old for this library, or the device is too old for its code.
Status probe(int32_t device) {
  int before = 0;
  if (const cudaError_t e = cudaGetDevice(&before)) return e;
  if (const cudaError_t e = cudaSetDevice(device)) return e;
  cudaFuncAttributes attributes;
  const cudaError_t e = cudaFuncGetAttributes(&attributes, nothing);
  cudaSetDevice(before);
  return e;
}
#else
const char* error_text(Status) { return "unknown error"; }
Status probe(int32_t) { return 0; }
#endif

}  // namespace
}  // namespace cg::kernels

extern "C" __attribute__((visibility("default"))) const cg::kernels::Library* compatgrad_kernels() {
  using namespace cg::kernels;
  static const Library library{kAbi, static_cast<int32_t>(entries().size()), entries().data(), error_text, probe};
  return &library;
}
