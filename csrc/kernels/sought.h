// What a kernel of convolutions computes from the other two.
#pragma once

namespace cg::kernels {

enum class Sought { map, image, filters };

}  // namespace cg::kernels
