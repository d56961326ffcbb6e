// A convolution has an image, filters and a map (its result); a kernel computes one of them from the other two.
#pragma once

namespace cg::kernels {

enum class Sought { map, image, filters };

}  // namespace cg::kernels
