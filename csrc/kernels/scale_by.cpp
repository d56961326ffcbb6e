#include "kernels/scale_by.h"

#include "kernels/cpu.h"
#include "kernels/register.h"

namespace cg::kernels {
CG_KERNEL(Cpu, scale_by)
}  // namespace cg::kernels
