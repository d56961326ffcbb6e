// Reading elements at indices, and the transpose, adding elements at indices.
#pragma once
#include "ops/functions.h"

namespace cg {

// x[..., index, ...] along one axis, for a one-dimensional index; and its transpose: zeros of `size` along the axis, to
// which gy is added at the index.
Tensor select_along(const Tensor& x, const Tensor& index, int64_t axis);
Var select_along(const Var& x, const Var& index, int64_t axis);
Tensor add_along(const Tensor& gy, const Tensor& index, int64_t axis, int64_t size);
Var add_along(const Var& gy, const Var& index, int64_t axis, int64_t size);

// y[i, j] = x[i, index[i, j]] along an axis, for any number of dimensions; and its transpose.
Tensor gather_along(const Tensor& x, const Tensor& index, int64_t axis);
Var gather_along(const Var& x, const Var& index, int64_t axis);
Tensor scatter_along(const Tensor& gy, const Tensor& index, int64_t axis, at::IntArrayRef shape);
Var scatter_along(const Var& gy, const Var& index, int64_t axis, at::IntArrayRef shape);

// Whether x is a tensor without data, on which shapes of graphs are computed before they run.
inline bool no_data(const Tensor& x) { return x.is_meta(); }
// Raises ValueError unless low <= index < size; not checked on an accelerator, which it would have to wait for, and not
// in a trace.
void check_index(const char* op, const Tensor& index, int64_t low, int64_t size);

// Ops on (data, index), linear in the data.
struct WithIndex {
  static constexpr Mask saves = in_bit(1), integers = in_bit(1);
  static constexpr bool any_dtype = true;
};
inline int64_t product(at::IntArrayRef sizes) { return c10::multiply_integers(sizes); }
inline Tensor longs(const Tensor& index) { return index.to(at::kLong); }

}  // namespace cg
