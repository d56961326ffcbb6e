#include "kernels/gates_gru.h"

#include "kernels/cuda.cuh"
#include "kernels/register.h"

namespace cg::kernels {
CG_CELL_KERNELS(Cuda, gru)
CG_CELL_KERNELS(Cuda, gru_reset)
CG_CELL_KERNELS(Cuda, gru_update)
CG_CELL_KERNELS(Cuda, mgu_reset)
CG_CELL_KERNELS(Cuda, mgu_update)
}  // namespace cg::kernels
