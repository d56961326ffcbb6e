// Kernels of LSTM with two inputs, and of LSTM with peepholes.
#pragma once
#include "kernels/gates.h"

namespace cg::kernels {
CG_CELL(slstm, cells::Slstm, true)
CG_CELL(peephole_cell, cells::PeepholeCell, true)
CG_CELL(peephole_output, cells::PeepholeOutput, false)
}  // namespace cg::kernels
