// GRU, with the reset gate behind the matrix product or before it.
#pragma once
#include "kernels/gates.h"

namespace cg::kernels {
CG_CELL(gru, cells::Gru, false)
CG_CELL(gru_reset, cells::GruReset, false)
CG_CELL(gru_update, cells::GruUpdate, false)
}  // namespace cg::kernels
