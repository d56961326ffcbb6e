#include "kernels/gates_tree.h"

#include "kernels/cuda.cuh"
#include "kernels/register.h"

namespace cg::kernels {
CG_CELL_KERNELS(Cuda, tree_lstm)
}  // namespace cg::kernels
