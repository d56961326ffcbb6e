#include "kernels/gates_slstm.h"

#include "kernels/cuda.cuh"
#include "kernels/register.h"

namespace cg::kernels {
CG_CELL_KERNELS(Cuda, slstm)
CG_CELL_KERNELS(Cuda, peephole_cell)
CG_CELL_KERNELS(Cuda, peephole_output)
}  // namespace cg::kernels
