#include "kernels/gates_slstm.h"

#include "kernels/cpu.h"
#include "kernels/register.h"

namespace cg::kernels {
CG_CELL_KERNELS(Cpu, slstm)
CG_CELL_KERNELS(Cpu, peephole_cell)
CG_CELL_KERNELS(Cpu, peephole_output)
}  // namespace cg::kernels
