#include "kernels/gates_lstm.h"

#include "kernels/cuda.cuh"
#include "kernels/register.h"

namespace cg::kernels {
CG_CELL_KERNELS(Cuda, lstm)
}  // namespace cg::kernels
