// Cells of recurrent networks other than the LSTM.
#include "ops/gates.h"

namespace cg {
namespace {

#define CG_CELL_OP(NAME, CELL, DOC)                                                               \
  using CELL = cell::CellOp<cell::CELL>;                                                          \
  using CELL##Grad = cell::GradOp<cell::CELL>;                                                    \
  CG_OP(NAME "_grad", CELL##Grad,                                                                 \
        "Gradients of the inputs of " NAME ", from the inputs and the gradients of its outputs.") \
  CG_OP(NAME, CELL, DOC)

CG_CELL_OP("slstm", Slstm,
           "One step of an S-LSTM from cells c1, c2 and inputs x1, x2, each a, i, f, o interleaved along the second "
           "axis: c = tanh(a1) s(i1) + tanh(a2) s(i2) + s(f1) c1 + s(f2) c2, h = s(o1 + o2) tanh(c).")
CG_CELL_OP("peephole_cell", PeepholeCell,
           "The cell of a peephole LSTM from c, x (a, i, f, o interleaved along the second axis) and the peephole "
           "terms p and q of i and f: c' = tanh(a) s(i + p) + s(f + q) c, and o.")
CG_CELL_OP("peephole_output", PeepholeOutput,
           "The output of a peephole LSTM from c', o and the peephole term p of o: s(o + p) tanh(c').")
CG_CELL_OP("gru", Gru,
           "One step of a GRU from h, the input's part x and the state's part y of the gates, each with r, z, n along "
           "the second axis: r = s(xr + yr), z = s(xz + yz), n = tanh(xn + r yn), h' = n + z (h - n).")
CG_CELL_OP("gru_reset", GruReset,
           "s(a + b) h: the operand of the matrix product in a GRU whose reset gate comes before it.")
CG_CELL_OP("gru_update", GruUpdate,
           "The state of a GRU from z and n, each of the input and of the state, and h: with z = s(zx + zh) it is "
           "z tanh(nx + nh) + (1 - z) h.")
CG_CELL_OP("mgu_reset", MguReset, "s(f) h: the operand of the matrix product in a minimal gated unit.")
CG_CELL_OP("mgu_update", MguUpdate, "The state of a minimal gated unit from f, n and h: s(f) tanh(n) + (1 - s(f)) h.")
#undef CG_CELL_OP

// ---- any number of children -----------------------------------------------------------------------------------------
struct Tree : kernels::cells::TreeLstm {
  static constexpr const char* kernels[] = {"tree_lstm", "tree_lstm_grad", "tree_lstm_grad_grad"};
  bool has_kernel() const { return children <= kernels::cells::kMostChildren; }
  cell::Layout layout(at::IntArrayRef units) const {
    Ints widths(children, 1);
    widths.push_back(children + 3);
    cell::Layout l(units, 1, std::move(widths));
    l.leading = {children};
    return l;
  }
};

struct TreeLSTMGrad {
  static constexpr Mask saves = kAllInputs;
  // c1, ..., cn, x, and the gradients of c' and h.
  std::vector<Tensor> forward(TensorList all) {
    TORCH_CHECK_VALUE(all.size() >= 4, "tree_lstm_grad: expected the children's cells, x and two gradients, not ",
                      all.size(), " tensors");
    const size_t n = all.size() - 2;
    return cell::vector(gradients(all.slice(0, n), all.slice(n)));
  }
  static cell::List<Tensor> gradients(c10::ArrayRef<Tensor> xs, c10::ArrayRef<Tensor> gys) {
    const Tree tree{{static_cast<int>(xs.size()) - 1}};
    return cell::backward(tree, tree.layout(xs[0].sizes()), xs, gys);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    const size_t n = c.inputs() - 2;
    const auto xs = cell::inputs(c, 0, n), gys = cell::inputs(c, n, 2);
    const Tree tree{{static_cast<int>(n) - 1}};
    cell::give<T>(c, cell::second<Tree, T>(tree, tree.layout(xs[0].sizes()), xs, gys, cell::gradients(c)));
  }
};
CG_OP("tree_lstm_grad", TreeLSTMGrad,
      "Gradients of the inputs of tree_lstm, from the inputs and the gradients of its outputs.")

struct TreeLSTM {
  static constexpr Mask saves = kAllInputs;
  std::vector<Tensor> forward(TensorList xs) {
    TORCH_CHECK_VALUE(xs.size() >= 2 && xs[0].dim() >= 2, "tree_lstm: expected the children's cells and x");
    const at::IntArrayRef units = xs[0].sizes();
    const Tree tree{{static_cast<int>(xs.size()) - 1}};
    Ints shape(units.begin(), units.end());
    for (const Tensor& c : xs.slice(0, tree.children))
      TORCH_CHECK_VALUE(c.sizes() == units, "tree_lstm: cells of shapes ", units, " and ", c.sizes());
    shape[1] *= tree.children + 3;
    TORCH_CHECK_VALUE(xs.back().sizes() == at::IntArrayRef(shape), "tree_lstm: x of shape ", xs.back().sizes(),
                      " does not fit ", tree.children, " cells of shape ", units);
    return cell::vector(cell::forward(tree, tree.layout(units), xs));
  }
  void backward(Ctx<Tensor>& c) {
    cell::give<Tensor>(c, TreeLSTMGrad::gradients(cell::inputs(c, 0, c.inputs()), cell::gradients(c)));
  }
  void backward(Ctx<Var>& c) {
    auto all = cell::inputs(c, 0, c.inputs());
    const cell::List<at::IntArrayRef> shapes(2, all[0].sizes());
    for (const Var& g : cell::or_zeros<Var>(cell::gradients(c), shapes, all[0])) all.push_back(g);
    Ref<FunctionNode> node(new OpNode<TreeLSTMGrad>);
    cell::give<Var>(c, node->apply(all));
  }
};
CG_OP(
    "tree_lstm", TreeLSTM,
    "One step of a Tree-LSTM from the children's cells c1, ..., cn and x, which has a, i, o, f1, ..., fn in this order "
    "along the second axis: c' = tanh(a) s(i) + s(f1) c1 + ..., h = s(o) tanh(c').")

}  // namespace
}  // namespace cg
