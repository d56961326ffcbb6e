#include "kernels/sum.h"

#include "kernels/cuda.cuh"
#include "kernels/register.h"

namespace cg::kernels {
CG_KERNEL(Cuda, sum_n)
}  // namespace cg::kernels
