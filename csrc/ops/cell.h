// Recurrent cells as ops: a cell's formula (kernels/cells.h) is computed on tensors by its kernels or, if these do not
// support the tensors, by ATen's functions; on Vars by recorded ops.
#pragma once
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/util/accumulate.h>

#include "kernels/cells.h"
#include "kernels/kernel.h"
#include "ops/index.h"

namespace cg::cell {

// The layout of units in a cell's inputs: an input with w numbers per unit has the axes (rows, w, inner).
struct Layout {
  int64_t rows = 0, inner = 0;
  Ints widths;   // of each input
  Ints order;    // for each number of all inputs its place among the numbers of its input; empty: the order of the cell
  Ints leading;  // integers that the kernels take before all these

  // For units of shape `units`, whose numbers are adjacent after axis `axis`.
  Layout(at::IntArrayRef units, int64_t axis, Ints w)
      : rows(c10::multiply_integers(units.slice(0, axis))),
        inner(c10::multiply_integers(units.slice(axis))),
        widths(std::move(w)) {}
  int64_t place(int64_t number, int64_t k) const { return order.empty() ? k : order[number]; }
  Ints integers() const {
    Ints all = leading;
    all.append({rows, inner});
    all.append(order.begin(), order.end());
    return all;
  }
};

template <class T>
using List = c10::SmallVector<T, 12>;

// Splits inputs into a list of the units' numbers, each of shape (rows, inner).
template <class T>
List<T> split(const Layout& l, c10::ArrayRef<T> xs) {
  List<T> all;
  for (size_t t = 0; t < xs.size(); ++t) {
    const int64_t width = l.widths[t], first = static_cast<int64_t>(all.size());
    const T x = reshape(xs[t], {l.rows, width, l.inner});
    for (int64_t k = 0; k < width; ++k)
      all.push_back(get_item(x, Index{IndexItem::slice({}, {}), IndexItem::integer(l.place(first + k, k))}));
  }
  return all;
}
// The inverse: joins them to tensors of these shapes.
template <class T>
List<T> join(const Layout& l, const T* numbers, c10::ArrayRef<at::IntArrayRef> shapes) {
  List<T> all;
  int64_t first = 0;
  for (size_t t = 0; t < shapes.size(); ++t) {
    const int64_t width = l.widths[t];
    List<T> parts(width);
    for (int64_t k = 0; k < width; ++k)
      parts[l.place(first + k, k)] = reshape(numbers[first + k], {l.rows, 1, l.inner});
    all.push_back(reshape(width == 1 ? parts[0] : concat(c10::ArrayRef<T>(parts), 1), shapes[t]));
    first += width;
  }
  return all;
}

template <class T>
List<at::IntArrayRef> shapes_of(c10::ArrayRef<T> xs) {
  List<at::IntArrayRef> shapes;
  for (const T& x : xs) shapes.push_back(x.sizes());
  return shapes;
}
template <class T>
List<T> or_zeros(c10::ArrayRef<T> gs, c10::ArrayRef<at::IntArrayRef> shapes, const T& like) {
  List<T> all;
  for (size_t k = 0; k < gs.size(); ++k)
    all.push_back(value(gs[k]).defined() ? gs[k] : T(at::zeros(shapes[k], value(like).options())));
  return all;
}
template <class T>
List<at::IntArrayRef> unit_shapes(const T& first, size_t outputs) {
  return List<at::IntArrayRef>(outputs, first.sizes());
}

// The tensors, made dense, for a kernel; empty if the kernel does not support one of them.
inline List<Tensor> operands(const kernels::Kernel& kernel, std::initializer_list<c10::ArrayRef<Tensor>> parts) {
  List<Tensor> all;
  const Tensor& like = (*parts.begin())[0];
  if (!kernels::takes(like) || !kernel.exists(like.device().type())) return all;
  for (const auto& part : parts)
    for (const Tensor& t : part) {
      if (t.defined() && (!kernels::takes(t) || t.scalar_type() != like.scalar_type() || t.device() != like.device()))
        return {};
      all.push_back(t.defined() ? t.contiguous() : t);
    }
  return all;
}
// `into`: if defined, memory for the first results, dense and of the operands' dtype.
inline List<Tensor> run(const kernels::Kernel& kernel, const Layout& l, List<Tensor> all,
                        std::initializer_list<c10::ArrayRef<at::IntArrayRef>> results,
                        c10::ArrayRef<Tensor> into = {}) {
  List<Tensor> made;
  for (const auto& shapes : results)
    for (const at::IntArrayRef shape : shapes) {
      const size_t k = made.size();
      made.push_back(k < into.size() && into[k].defined() ? into[k] : few::empty(shape, all[0]));
    }
  all.append(made.begin(), made.end());
  kernel(all, {}, l.integers());
  return made;
}

// Runs a cell, which has `outputs` results of the shape of its first input. `into`: memory for the results, see `run`.
template <class Cell>
List<Tensor> forward(const Cell& cell, const Layout& l, c10::ArrayRef<Tensor> xs, size_t outputs = 2,
                     c10::ArrayRef<Tensor> into = {}) {
  static const kernels::Kernel kernel(Cell::kernels[0]);
  const auto shapes = unit_shapes(xs[0], outputs);
  if (cell.has_kernel())
    if (auto all = operands(kernel, {xs}); !all.empty()) return run(kernel, l, std::move(all), {shapes}, into);
  const List<Tensor> x = split(l, xs);
  List<Tensor> y(outputs);
  cell.forward(x.data(), y.data());
  for (Tensor& t : y) t = reshape(t, shapes[0]);
  return y;
}
// Gradients of the inputs from those of the outputs, some of which may be undefined.
template <class Cell>
List<Tensor> backward(const Cell& cell, const Layout& l, c10::ArrayRef<Tensor> xs, c10::ArrayRef<Tensor> gys,
                      c10::ArrayRef<Tensor> into = {}) {
  static const kernels::Kernel kernel(Cell::kernels[1]);
  const auto shapes = shapes_of(xs);
  if (cell.has_kernel())
    if (auto all = operands(kernel, {xs, gys}); !all.empty()) return run(kernel, l, std::move(all), {shapes}, into);
  const List<Tensor> x = split(l, xs);
  List<Tensor> g = or_zeros(gys, unit_shapes(xs[0], gys.size()), xs[0]), gx(x.size());
  for (Tensor& t : g) t = reshape(t, {l.rows, l.inner});
  cell.backward(x.data(), g.data(), gx.data());
  return join(l, gx.data(), shapes);
}
// The second derivatives. Let s be the sum over i of ws[i] times gradient i that `backward` computes from xs and gys.
// Returns the gradients of s with respect to xs, then those with respect to gys (dual.h).
template <class Cell, class T>
List<T> second(const Cell& cell, const Layout& l, c10::ArrayRef<T> xs, c10::ArrayRef<T> gys, c10::ArrayRef<T> ws) {
  static const kernels::Kernel kernel(Cell::kernels[2]);
  const auto shapes = shapes_of(xs), units = unit_shapes(xs[0], gys.size());
  if constexpr (std::is_same_v<T, Tensor>)
    if (cell.has_kernel())
      if (auto all = operands(kernel, {xs, gys, ws}); !all.empty())
        return run(kernel, l, std::move(all), {shapes, units});
  using Dual = kernels::Dual<T>;
  const List<T> x = split(l, xs), w = split<T>(l, or_zeros(ws, shapes, xs[0])), g = or_zeros(gys, units, xs[0]);
  List<Dual> X(x.size()), G(g.size()), R(x.size()), Y(g.size());
  for (size_t j = 0; j < x.size(); ++j) X[j] = {x[j], w[j]};
  for (size_t k = 0; k < g.size(); ++k) {
    const T gk = reshape(g[k], {l.rows, l.inner});
    G[k] = {gk, zeros_as(gk)};
  }
  cell.backward(X.data(), G.data(), R.data());
  cell.forward(X.data(), Y.data());
  List<T> r(x.size());
  for (size_t j = 0; j < x.size(); ++j) r[j] = R[j].change;
  List<T> all = join(l, r.data(), shapes);
  for (const Dual& y : Y) all.push_back(reshape(y.change, units[0]));
  return all;
}

// Inputs first to first + n - 1 of a function, and the gradients of its outputs.
template <class T>
List<T> inputs(Ctx<T>& c, size_t first, size_t n) {
  List<T> all;
  for (size_t k = 0; k < n; ++k) all.push_back(c.in(first + k));
  return all;
}
template <class T>
List<T> gradients(Ctx<T>& c) {
  List<T> all;
  for (size_t k = 0; k < c.outputs(); ++k) all.push_back(c.gy(k));
  return all;
}
template <class T>
void give(Ctx<T>& c, c10::ArrayRef<T> gs) {
  for (size_t k = 0; k < gs.size(); ++k) c.grad(k, [&] { return gs[k]; });
}
inline std::vector<Tensor> vector(const List<Tensor>& ts) { return {ts.begin(), ts.end()}; }

// ---- ops of cells whose inputs have the same batch -----------------------------------------------------------------
constexpr Mask bits(size_t first, size_t end) {
  return Mask(((uint64_t(1) << end) - 1) & ~((uint64_t(1) << first) - 1));
}
template <class T, size_t>
using Same = T;

// `Cell` is a cell of cells.h with two additions: the names of its `kernels`, and `axis`, the axis after which the
// numbers of a unit come.
template <class Cell>
Layout layout_of(const char* name, c10::ArrayRef<Tensor> xs) {
  const at::IntArrayRef units = xs[0].sizes();
  Layout l(units, std::min<int64_t>(Cell::axis, xs[0].dim()), Ints(std::begin(Cell::widths), std::end(Cell::widths)));
  for (int t = 0; t < Cell::inputs; ++t) {
    Ints shape(units.begin(), units.end());
    if (shape.size() > 1) shape[1] *= Cell::widths[t];
    TORCH_CHECK_VALUE(xs[t].sizes() == at::IntArrayRef(shape) && (Cell::axis == 0 || shape.size() > 1), name,
                      ": input ", t, " of shape ", xs[t].sizes(), " does not fit units of shape ", units);
  }
  return l;
}

template <class Cell, class = std::make_index_sequence<Cell::inputs + Cell::outputs>>
struct GradOp;
template <class Cell, size_t... I>
struct GradOp<Cell, std::index_sequence<I...>> {
  static constexpr size_t n = Cell::inputs, m = Cell::outputs;
  static constexpr Mask optional = m > 1 ? bits(n, n + m) : 0, saves = bits(0, n + m);
  std::vector<Tensor> forward(const Same<Tensor, I>&... x) {
    const Tensor all[] = {x...};
    const c10::ArrayRef<Tensor> xs(all, n), gys(all + n, m);
    return vector(backward_of(xs, gys));
  }
  static List<Tensor> backward_of(c10::ArrayRef<Tensor> xs, c10::ArrayRef<Tensor> gys) {
    return cell::backward(Cell{}, layout_of<Cell>(Cell::kernels[1], xs), xs, gys);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    const List<T> xs = inputs(c, 0, n), gys = inputs(c, n, m);
    List<Tensor> values;
    for (const T& x : xs) values.push_back(value(x));
    give<T>(c, second<Cell, T>(Cell{}, layout_of<Cell>(Cell::kernels[1], values), xs, gys, gradients(c)));
  }
};

template <class Cell, class = std::make_index_sequence<Cell::inputs>>
struct CellOp;
template <class Cell, size_t... I>
struct CellOp<Cell, std::index_sequence<I...>> {
  static constexpr size_t n = Cell::inputs, m = Cell::outputs;
  static constexpr Mask saves = bits(0, n);
  std::vector<Tensor> forward(const Same<Tensor, I>&... x) {
    const Tensor xs[] = {x...};
    return vector(cell::forward(Cell{}, layout_of<Cell>(Cell::kernels[0], xs), xs, m));
  }
  void backward(Ctx<Tensor>& c) { give<Tensor>(c, GradOp<Cell>::backward_of(inputs(c, 0, n), gradients(c))); }
  void backward(Ctx<Var>& c) {
    List<Var> all = inputs(c, 0, n);
    for (const Var& g : gradients(c)) all.push_back(g);
    Ref<FunctionNode> node(new OpNode<GradOp<Cell>>);
    give<Var>(c, node->apply(all));
  }
};

}  // namespace cg::cell
