#include "kernels/gates_lstm.h"

#include "kernels/cpu.h"
#include "kernels/register.h"

namespace cg::kernels {
CG_CELL_KERNELS(Cpu, lstm)
}  // namespace cg::kernels
