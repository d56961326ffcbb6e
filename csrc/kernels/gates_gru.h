// Kernels of GRU, with the reset gate after or before the matrix product, and of the minimal gated unit.
#pragma once
#include "kernels/gates.h"

namespace cg::kernels {
CG_CELL(gru, cells::Gru, false)
CG_CELL(gru_reset, cells::GruReset, false)
CG_CELL(gru_update, cells::GruUpdate, false)
CG_CELL(mgu_reset, cells::MguReset, false)
CG_CELL(mgu_update, cells::MguUpdate, false)
}  // namespace cg::kernels
