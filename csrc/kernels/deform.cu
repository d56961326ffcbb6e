#include "kernels/deform.h"

#include "kernels/cuda.cuh"
#include "kernels/register.h"

namespace cg::kernels {
CG_KERNEL(Cuda, deform_columns)
CG_KERNEL(Cuda, deform_columns_grad)
CG_KERNEL(Cuda, deform_factors_grad)
}  // namespace cg::kernels
