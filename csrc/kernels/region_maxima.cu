#include "kernels/region_picks.h"

#include "kernels/cuda.cuh"
#include "kernels/register.h"

namespace cg::kernels {
CG_KERNEL(Cuda, region_maxima)
CG_KERNEL(Cuda, sample_maxima)
CG_KERNEL(Cuda, region_picks)
CG_KERNEL(Cuda, region_picks_grad)
CG_KERNEL(Cuda, sample_picks)
CG_KERNEL(Cuda, sample_picks_grad)
}  // namespace cg::kernels
