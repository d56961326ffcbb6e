#include "kernels/regions.h"

#include "kernels/cuda.cuh"
#include "kernels/register.h"

namespace cg::kernels {
CG_KERNEL(Cuda, region_weights)
CG_KERNEL(Cuda, region_sums)
CG_KERNEL(Cuda, region_sums_grad)
}  // namespace cg::kernels
