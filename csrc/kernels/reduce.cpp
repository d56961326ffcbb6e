#include "kernels/reduce.h"

#include "kernels/cpu.h"
#include "kernels/register.h"

namespace cg::kernels {
CG_KERNEL(Cpu, sum_of_squares)
CG_KERNEL(Cpu, count_not_finite)
}  // namespace cg::kernels
