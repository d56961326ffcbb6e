// Kernels of Tree-LSTM; the first of a call's integers is the number of children.
#pragma once
#include "kernels/gates.h"

namespace cg::kernels {
namespace detail {

template <class Run, template <class, class, class> class Pass>
Status run_tree(const Call& given) {
  if (given.n_integers < 1) return kBadCall;
  Call c = given;
  --c.n_integers;
  ++c.integers;
  Status status = kBadCall;
  [&]<int... n>(std::integer_sequence<int, n...>) {
    ((given.integers[0] == n + 1 && (status = run_cell<Run, Pass, Tree<n + 1>, false>(c), true)) || ...);
  }(std::make_integer_sequence<int, cells::kMostChildren>());
  return status;
}

}  // namespace detail

template <class Run>
Status tree_lstm(const Call& c) {
  return detail::run_tree<Run, detail::CellForward>(c);
}
template <class Run>
Status tree_lstm_grad(const Call& c) {
  return detail::run_tree<Run, detail::CellBackward>(c);
}
template <class Run>
Status tree_lstm_grad_grad(const Call& c) {
  return detail::run_tree<Run, detail::CellSecond>(c);
}

}  // namespace cg::kernels
