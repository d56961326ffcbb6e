#include "kernels/window_places.h"

#include "kernels/cuda.cuh"
#include "kernels/register.h"

namespace cg::kernels {
CG_KERNEL(Cuda, window_sums)
CG_KERNEL(Cuda, window_spread)
CG_KERNEL(Cuda, window_scatter)
CG_KERNEL(Cuda, window_picks)
}  // namespace cg::kernels
