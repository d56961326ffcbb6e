// A kernel's call, the same for the CPU and for the CUDA library, which is a library of its own behind a plain C ABI.
#pragma once
#include <cstdint>

#include "kernels/functor.h"

namespace cg::kernels {

enum class DType : int32_t { f16, bf16, f32, f64 };

struct Call {
  DType dtype;       // of all operands, unless the kernel says otherwise
  int32_t device;    // CUDA's index of it
  int32_t operands;  // tensors of one set, in the order that the kernel names
  int32_t n_numbers, n_integers;
  int64_t sets;          // how often the kernel is applied: 1, or the length of a list of parameters
  const int64_t* sizes;  // elements of operand k of set s: sizes[k * sets + s]; 0 where an optional operand is absent
  void* const* data;     // its memory: data[k * sets + s]; null where it is absent
  const double* numbers;
  const int64_t* integers;
  double* results;    // of a reduction: one for each set,
  double* workspace;  // and memory for `chunks_of(call)` numbers, where the call's operands are
  void* stream;       // a cudaStream_t
};

// 0, a cudaError, or one of these.
using Status = int32_t;
constexpr Status kBadCall = -1;  // operands or numbers that the kernel does not take

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

// Whether the call has so many operands, and those of a set have one size each: what a map needs.
inline bool is_map(const Call& c, int operands) {
  if (c.operands != operands) return false;
  for (int64_t i = c.sets; i < c.operands * c.sets; ++i)
    if (c.sizes[i] != c.sizes[i % c.sets]) return false;
  return true;
}

// The pointer to an operand of a call that has one set.
template <class T>
T* operand(const Call& c, int k) {
  return static_cast<T*>(c.data[k * c.sets]);
}

// A set's tensors in chunks: what a block takes of a list's, and of what a reduction adds up at a time.
constexpr int64_t kChunk = 1 << 14;
inline int64_t chunks(int64_t size) { return (size + kChunk - 1) / kChunk; }
inline int64_t chunks_of(const Call& c) {
  int64_t all = 0;
  for (int64_t s = 0; s < c.sets; ++s) all += chunks(c.sizes[s]);
  return all;
}

// f.operator()<T>() for the call's dtype.
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

// A functor's mask of operands: those with these indexes.
template <class... I>
constexpr unsigned mask(I... i) {
  return (0u | ... | (1u << i));
}
constexpr unsigned first(int n) { return (1u << n) - 1; }

}  // namespace cg::kernels
