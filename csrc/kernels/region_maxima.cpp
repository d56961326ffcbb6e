#include "kernels/region_picks.h"

#include "kernels/cpu.h"
#include "kernels/register.h"

namespace cg::kernels {
CG_KERNEL(Cpu, region_maxima)
CG_KERNEL(Cpu, sample_maxima)
CG_KERNEL(Cpu, region_picks)
CG_KERNEL(Cpu, region_picks_grad)
CG_KERNEL(Cpu, sample_picks)
CG_KERNEL(Cpu, sample_picks_grad)
}  // namespace cg::kernels
