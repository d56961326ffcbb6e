// Kernels of LSTM.
#pragma once
#include "kernels/gates.h"

namespace cg::kernels {
CG_CELL(lstm, cells::Lstm, true)
}  // namespace cg::kernels
