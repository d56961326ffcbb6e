#include "kernels/gates_gru.h"

#include "kernels/cpu.h"
#include "kernels/register.h"

namespace cg::kernels {
CG_CELL_KERNELS(Cpu, gru)
CG_CELL_KERNELS(Cpu, gru_reset)
CG_CELL_KERNELS(Cpu, gru_update)
CG_CELL_KERNELS(Cpu, mgu_reset)
CG_CELL_KERNELS(Cpu, mgu_update)
}  // namespace cg::kernels
