#include "kernels/gates_tree.h"

#include "kernels/cpu.h"
#include "kernels/register.h"

namespace cg::kernels {
CG_CELL_KERNELS(Cpu, tree_lstm)
}  // namespace cg::kernels
