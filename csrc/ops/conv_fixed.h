// In which way a convolution with fixed filters takes the least time, for inference on one core.
#pragma once
#include "ops/placement.h"

namespace cg {

// "direct" (conv_direct.h), "rows" (conv_rows.h), "tiles" (conv_tiles.h) or "oneDNN". filters, images: the shapes of
// float32 tensors with two axes of space.
const char* fixed_way(const Placement& p, at::IntArrayRef filters, at::IntArrayRef images);

}  // namespace cg
