// Convolutions with filters of 3 x 3 and stride 1 on the CPU, by kernels/winograd.h.
#pragma once
#include "ops/placement.h"

namespace cg {

// Each returns an undefined tensor where another way is faster, or the shapes do not fit.
Tensor winograd_map(const Placement& p, const Tensor& image, const Tensor& w, const Tensor& b);
// The gradient of the image, of the shape `image`. `into`: undefined, or memory for the result, which may be that of
// `map`.
Tensor winograd_image(const Placement& p, const Tensor& map, at::IntArrayRef image, const Tensor& w,
                      const Tensor& b = {}, const Tensor& into = {});
Tensor winograd_filters(const Placement& p, const Tensor& map, const Tensor& image, at::IntArrayRef filters);

}  // namespace cg
