// Picking elements by index, and the inverse, adding them back: what the indexing functions are made of.
#pragma once
#include "ops/functions.h"

namespace cg {

// x[..., index, ...] along one axis, for a one-dimensional index; and zeros of `size` along the axis to which gy is
// added at the index.
Tensor select_along(const Tensor& x, const Tensor& index, int64_t axis);
Var select_along(const Var& x, const Var& index, int64_t axis);
Tensor add_along(const Tensor& gy, const Tensor& index, int64_t axis, int64_t size);
Var add_along(const Var& gy, const Var& index, int64_t axis, int64_t size);

// y[i, j] = x[i, index[i, j]] along an axis, whatever the number of dimensions; and its inverse.
Tensor gather_along(const Tensor& x, const Tensor& index, int64_t axis);
Var gather_along(const Var& x, const Var& index, int64_t axis);
Tensor scatter_along(const Tensor& gy, const Tensor& index, int64_t axis, at::IntArrayRef shape);
Var scatter_along(const Var& gy, const Var& index, int64_t axis, at::IntArrayRef shape);

// Shapes of graphs that have not run are found on tensors without data.
inline bool no_data(const Tensor& x) { return x.is_meta(); }
// ValueError unless low <= index < size; not looked at on an accelerator, where that would wait for it, and in a trace.
void check_index(const char* op, const Tensor& index, int64_t low, int64_t size);

}  // namespace cg
