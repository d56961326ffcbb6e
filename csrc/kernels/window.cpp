#include "kernels/window_places.h"

#include "kernels/cpu.h"
#include "kernels/register.h"

namespace cg::kernels {
CG_KERNEL(Cpu, window_sums)
CG_KERNEL(Cpu, window_spread)
CG_KERNEL(Cpu, window_scatter)
CG_KERNEL(Cpu, window_picks)
}  // namespace cg::kernels
