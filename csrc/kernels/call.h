// The arguments of a kernel call, the same for CPU kernels and for the separate CUDA library with its plain C ABI.
#pragma once
#include <cstdint>

#include "kernels/functor.h"

namespace cg::kernels {

enum class DType : int32_t { f16, bf16, f32, f64 };

struct Call {
  DType dtype;       // of all operands, unless the kernel documents otherwise
  int32_t device;    // CUDA's index of it
  int32_t operands;  // tensors of one set, in the order that the kernel documents
  int32_t n_numbers, n_integers;
  int64_t sets;  // how often the kernel is applied: 1, or the length of a list of parameters
  // Number of elements of operand k of set s: sizes[k * sets + s]; 0 for an absent optional operand
  const int64_t* sizes;
  void* const* data;  // its memory: data[k * sets + s]; null for an absent operand
  const double* numbers;
  const int64_t* integers;
  double* results;    // of a reduction: one number per set,
  double* workspace;  // and memory for `chunks_of(call)` numbers on the operands' device
  void* stream;       // a cudaStream_t
};

// 0, a cudaError, or one of these.
using Status = int32_t;
constexpr Status kBadCall = -1;  // operands or numbers that the kernel does not accept

using Launch = Status (*)(const Call&);
struct Entry {
  const char* name;
  Launch launch;
};
constexpr int32_t kAbi = 2;
struct Library {
  int32_t abi;
  int32_t count;
  const Entry* entries;
  const char* (*error_text)(Status);
  Status (*probe)(int32_t device);  // whether kernels can run there
};

// Whether the call has this number of operands, and all operands of a set have the same size, as a map requires.
inline bool is_map(const Call& c, int operands) {
  if (c.operands != operands) return false;
  for (int64_t i = c.sets; i < c.operands * c.sets; ++i)
    if (c.sizes[i] != c.sizes[i % c.sets]) return false;
  return true;
}

// The pointer to an operand of a call with one set.
template <class T>
T* operand(const Call& c, int k) {
  return static_cast<T*>(c.data[k * c.sets]);
}

// Elements of a chunk: a block of threads works on one chunk of a tensor in a list, and a reduction sums by chunks.
constexpr int64_t kChunk = 1 << 14;
inline int64_t chunks(int64_t size) { return (size + kChunk - 1) / kChunk; }
inline int64_t chunks_of(const Call& c) {
  int64_t all = 0;
  for (int64_t s = 0; s < c.sets; ++s) all += chunks(c.sizes[s]);
  return all;
}

// Calls f.operator()<T>() for the call's dtype.
template <class F>
Status by_dtype(const Call& c, F&& f) {
  switch (c.dtype) {
    case DType::f16:
      return f.template operator()<Half>();
    case DType::bf16:
      return f.template operator()<BFloat16>();
    case DType::f32:
      return f.template operator()<float>();
    case DType::f64:
      return f.template operator()<double>();
  }
  return kBadCall;
}

// The bit mask of the operands with these indexes.
template <class... I>
constexpr unsigned mask(I... i) {
  return (0u | ... | (1u << i));
}
constexpr unsigned first(int n) { return (1u << n) - 1; }

}  // namespace cg::kernels
