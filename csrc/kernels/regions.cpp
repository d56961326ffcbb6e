#include "kernels/regions.h"

#include "kernels/cpu.h"
#include "kernels/register.h"

namespace cg::kernels {
CG_KERNEL(Cpu, region_weights)
CG_KERNEL(Cpu, region_sums)
CG_KERNEL(Cpu, region_sums_grad)
}  // namespace cg::kernels
