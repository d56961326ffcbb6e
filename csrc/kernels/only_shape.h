// Results of which only the shape is wanted.
#pragma once
#include "kernels/raw.h"

namespace cg::kernels {

// Whether only the shape of a result is wanted: the tensors are on the meta device, of one dtype, and no tracer is
// active. Torch has functions in Python there, whose first call imports its algebra of shapes and sympy: 30 MB and a
// second.
template <class... T>
bool only_shape(const at::Tensor& x, const T&... more) {
  return x.is_meta() && plain(x) && ((more.is_meta() && more.scalar_type() == x.scalar_type()) && ...);
}

}  // namespace cg::kernels
