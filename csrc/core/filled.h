// An array that contains one number everywhere.
#pragma once
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <algorithm>

#include "kernels/raw.h"

namespace cg {

// Floats are written by a loop: the first call of at::full maps half a megabyte of torch's code.
inline at::Tensor filled(at::IntArrayRef sizes, const c10::Scalar& number, const at::TensorOptions& options) {
  if (kernels::traced()) return at::full(sizes, number, options);  // a trace gets one function instead of two
  at::Tensor y = at::empty(sizes, options);
  if (!kernels::raw(y)) return y.fill_(number);
  kernels::with_dtype(y, [&]<class T>(T) { std::fill_n(y.mutable_data_ptr<T>(), y.numel(), number.to<T>()); });
  return y;
}

}  // namespace cg
