#include "kernels/scale_by.h"

#include "kernels/cuda.cuh"
#include "kernels/register.h"

namespace cg::kernels {
CG_KERNEL(Cuda, scale_by)
}  // namespace cg::kernels
