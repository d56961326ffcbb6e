// Batches of matrices, in the last two axes.
#pragma once
#include "ops/functions.h"

namespace cg {

template <class T>
T turned(const T& x) {
  return transpose(x, -2, -1);
}
// ValueError if `x`, the argument `name` of an op, holds no square matrices.
inline void check_square(const char* op, const Tensor& x, const char* name = "x") {
  TORCH_CHECK_VALUE(x.dim() >= 2 && x.size(-1) == x.size(-2), op, ": ", name,
                    " must hold square matrices, not the shape ", x.sizes());
}

}  // namespace cg
