// The cells of kernels/cells.h for ops: with the names of their kernels and the axis of a unit's numbers.
#pragma once
#include <string>

#include "ops/cell.h"

namespace cg::cell {

#define CG_GATES(NAME, CELL, AXIS)                                                    \
  struct CELL : kernels::cells::CELL {                                                \
    static constexpr const char* kernels[] = {NAME, NAME "_grad", NAME "_grad_grad"}; \
    static constexpr int64_t axis = AXIS;                                             \
    static bool has_kernel() { return true; }                                         \
  };

CG_GATES("slstm", Slstm, 2)
CG_GATES("peephole_cell", PeepholeCell, 2)
CG_GATES("peephole_output", PeepholeOutput, 0)
CG_GATES("gru", Gru, 1)
CG_GATES("gru_reset", GruReset, 0)
CG_GATES("gru_update", GruUpdate, 0)
CG_GATES("mgu_reset", MguReset, 0)
CG_GATES("mgu_update", MguUpdate, 0)
#undef CG_GATES

struct Lstm : kernels::cells::Lstm {
  static constexpr const char* kernels[] = {"lstm", "lstm_grad", "lstm_grad_grad"};
  static bool has_kernel() { return true; }

  // order: empty, or the letters a, i, f, o in any order.
  static Layout layout(at::IntArrayRef units, const std::string& order) {
    Layout l(units, order.empty() ? 2 : 1, {1, 4});
    if (order.empty()) return l;
    l.order = {0};
    for (const char gate : {'a', 'i', 'f', 'o'}) {
      const size_t place = order.find(gate);
      TORCH_CHECK_VALUE(order.size() == 4 && place < 4, "lstm: order must be the letters a, i, f, o, not ", order);
      l.order.push_back(static_cast<int64_t>(place));
    }
    return l;
  }
};

}  // namespace cg::cell
