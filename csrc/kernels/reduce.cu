#include "kernels/reduce.h"

#include "kernels/cuda.cuh"
#include "kernels/register.h"

namespace cg::kernels {
CG_KERNEL(Cuda, sum_of_squares)
CG_KERNEL(Cuda, count_not_finite)
}  // namespace cg::kernels
