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

// What an array of `dtype` is filled with, as in nnabla: a number is a float on its way, and becomes an integer as in C
// on x86-64, where the smallest one stands for those that a register cannot hold, and short integers are its last bits.
inline c10::Scalar element(double value, at::ScalarType dtype) {
  const float number = static_cast<float>(value);
  if (dtype == at::kHalf) return static_cast<double>(static_cast<c10::Half>(number));  // infinite beyond its range
  if (dtype == at::kBFloat16) return static_cast<double>(static_cast<c10::BFloat16>(number));
  if (dtype == at::kBool) return number != 0;
  if (!at::isIntegralType(dtype, false) || dtype == at::kUInt32 || dtype == at::kUInt64)
    return static_cast<double>(number);
  const bool wide = dtype == at::kLong;
  const double end = wide ? 0x1p63 : 0x1p31;
  const auto whole = static_cast<int64_t>(number >= -end && number < end ? static_cast<double>(number) : -end);
  switch (dtype) {
    case at::kByte:
      return static_cast<uint8_t>(whole);
    case at::kChar:
      return static_cast<int8_t>(whole);
    case at::kShort:
      return static_cast<int16_t>(whole);
    case at::kUInt16:
      return static_cast<uint16_t>(whole);
    default:
      return whole;
  }
}

}  // namespace cg
