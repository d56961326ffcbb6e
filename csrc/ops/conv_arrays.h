// The arrays of convolutions by kernels, which read and write floats in C order and get memory to work in.
#pragma once
#include <ATen/ops/empty.h>

#include "kernels/threads.h"
#include "ops/conv_ways.h"

namespace cg {

inline bool has_floats(const Tensor& t) { return t.scalar_type() == at::kFloat; }

// A result of the shape `shape`, or `into` if that is defined, which f(x, w, b, result, memory) writes. x, w and b, of
// which b may be undefined, become pointers; `memory`: floats.
template <class F>
Tensor computed_from(const Tensor& x, const Tensor& w, const Tensor& b, at::IntArrayRef shape, int64_t memory, F&& f,
                     const Tensor& into = {}) {
  const Tensor from = x.contiguous(), with = w.contiguous(), bias = b.defined() ? b.contiguous() : b;
  const Tensor y = into.defined() ? into : at::empty(shape, from.options());
  const Tensor work = at::empty({memory}, from.options());
  f(from.const_data_ptr<float>(), with.const_data_ptr<float>(), b.defined() ? bias.const_data_ptr<float>() : nullptr,
    y.mutable_data_ptr<float>(), work.mutable_data_ptr<float>());
  return y;
}
// The same from two arrays: f(x, y, result, memory).
template <class F>
Tensor computed_from(const Tensor& x, const Tensor& y, at::IntArrayRef shape, int64_t memory, F&& f) {
  return computed_from(x, y, {}, shape, memory,
                       [&](const float* a, const float* b, const float*, float* r, float* work) { f(a, b, r, work); });
}

}  // namespace cg
