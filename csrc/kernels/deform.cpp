#include "kernels/deform.h"

#include "kernels/cpu.h"
#include "kernels/register.h"

namespace cg::kernels {
CG_KERNEL(Cpu, deform_columns)
CG_KERNEL(Cpu, deform_columns_grad)
CG_KERNEL(Cpu, deform_factors_grad)
}  // namespace cg::kernels
