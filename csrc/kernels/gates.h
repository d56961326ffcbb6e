// Kernels of a recurrent cell (cells.h): forward, gradients, and the gradients of the gradients by dual numbers.
//
// Operands: the cell's inputs; for gradients also the outputs' gradients; for second gradients also the factors of the
// inputs' gradients; then the results. An absent gradient is zero. Integers: rows, inner and, optionally, the place of
// each number of a unit in its input (by default in order). An input with w numbers a unit is (rows, w, inner).
#pragma once
#include <algorithm>
#include <utility>

#include "kernels/call.h"
#include "kernels/cells.h"
#include "kernels/rows.h"

namespace cg::kernels {

// A tree's cell with the number of children as a template parameter, for kernels.
template <int n>
struct Tree {
  static constexpr int inputs = n + 1, outputs = 2;
  struct Widths {
    CG_FN constexpr int operator[](int k) const { return k < n ? 1 : n + 3; }
  };
  static constexpr Widths widths{};
  template <class C>
  CG_FN static void forward(const C* x, C* y) {
    cells::TreeLstm{n}.forward(x, y);
  }
  template <class C>
  CG_FN static void backward(const C* x, const C* gy, C* gx) {
    cells::TreeLstm{n}.backward(x, gy, gx);
  }
};

namespace detail {

// Position of number j of a unit: of which input, at which index, out of how many. Constants, also in GPU code.
struct Found {
  int input, place, width;
};
template <class Cell>
constexpr Found find(int j) {
  int t = 0;
  while (j >= Cell::widths[t]) j -= Cell::widths[t++];
  return {t, j, Cell::widths[t]};
}
template <class Cell, int j>
struct Number {
  static constexpr int input = find<Cell>(j).input, place = find<Cell>(j).place, width = find<Cell>(j).width;
};
template <class Cell>
constexpr int count() {
  int n = 0;
  for (int t = 0; t < Cell::inputs; ++t) n += Cell::widths[t];
  return n;
}
template <class Cell>
constexpr int kCount = count<Cell>();
template <class Cell>
using Numbers = std::make_index_sequence<kCount<Cell>>;

// Layout with the numbers of a unit at any places; addressed by the row and column of the unit.
template <class Cell>
struct Apart {
  int64_t inner, place[kCount<Cell>];  // offset of each number, in elements
  template <class I>
  CG_FN I unit(I row, I column) const {
    return row * static_cast<I>(inner) + column;
  }
  template <int j, class I>
  CG_FN I at(I row, I column) const {
    return row * (Number<Cell, j>::width * static_cast<I>(inner)) + column + static_cast<I>(place[j]);
  }
};
// Layout with the numbers of a unit side by side in their order, which vector code reads together.
template <class Cell>
struct Beside {
  CG_FN int64_t unit(int64_t i) const { return i; }
  template <int j>
  CG_FN int64_t at(int64_t i) const {
    return i * Number<Cell, j>::width + Number<Cell, j>::place;
  }
};

// Whether a gradient is present. For an absent gradient other memory is read and masked out, because a condition that
// is the same for all elements would prevent vectorization.
struct Present {
  uint64_t mask;
  template <class T>
  T* take(const Call& c, int gradient, int other) {
    T* const p = operand<T>(c, gradient);
    mask = p ? ~uint64_t(0) : 0;
    return p ? p : operand<T>(c, other);
  }
  template <class C>
  CG_FN C of(C x) const {
#if defined(__CUDA_ARCH__)
    return mask ? x : C(0);
#else
    using Bits = std::conditional_t<sizeof(C) == 4, uint32_t, uint64_t>;
    Bits bits;
    std::memcpy(&bits, &x, sizeof x);
    bits &= static_cast<Bits>(mask);
    std::memcpy(&x, &bits, sizeof x);
    return x;
#endif
  }
};

// Memory of the inputs, or of gradients of the same layout.
template <class T, class Cell, class Where>
struct Inputs {
  using C = compute_t<T>;
  T* at[Cell::inputs];
  template <size_t... j, class... I>
  CG_FN void load(std::index_sequence<j...>, const Where& where, C* v, I... i) const {
    ((v[j] = widen(at[Number<Cell, j>::input][where.template at<j>(i...)])), ...);
  }
  template <size_t... j, class... I>
  CG_FN void load_present(std::index_sequence<j...>, const Present* present, const Where& where, C* v, I... i) const {
    ((v[j] = present[Number<Cell, j>::input].of(widen(at[Number<Cell, j>::input][where.template at<j>(i...)]))), ...);
  }
  template <size_t... j, class... I>
  CG_FN void store(std::index_sequence<j...>, const Where& where, const C* v, I... i) const {
    ((at[Number<Cell, j>::input][where.template at<j>(i...)] = narrow<T>(v[j])), ...);
  }
};
// Memory of the outputs, or of gradients of the same layout.
template <class T, class Cell, class Where>
struct Outputs {
  using C = compute_t<T>;
  T* at[Cell::outputs];
  template <class... I>
  CG_FN void load_present(const Present* present, const Where& where, C* v, I... i) const {
    for (int k = 0; k < Cell::outputs; ++k) v[k] = present[k].of(widen(at[k][where.unit(i...)]));
  }
  template <class... I>
  CG_FN void store(const Where& where, const C* v, I... i) const {
    for (int k = 0; k < Cell::outputs; ++k) at[k][where.unit(i...)] = narrow<T>(v[k]);
  }
};

template <class T, class Cell, class Where>
struct CellForward {
  static constexpr int operands = Cell::inputs + Cell::outputs;
  Where where;
  Inputs<T, Cell, Where> x;
  Outputs<T, Cell, Where> y;
  void take(const Call& c) {
    for (int t = 0; t < Cell::inputs; ++t) x.at[t] = operand<T>(c, t);
    for (int k = 0; k < Cell::outputs; ++k) y.at[k] = operand<T>(c, Cell::inputs + k);
  }
  template <class... I>
  CG_FN void operator()(I... i) const {
    compute_t<T> v[kCount<Cell>], r[Cell::outputs];
    x.load(Numbers<Cell>(), where, v, i...);
    Cell::forward(v, r);
    y.store(where, r, i...);
  }
};

// The gradients of outputs. For an absent one the first input is read, which in all cells has one number per unit.
template <class T, class Cell, class Where>
struct Given {
  Outputs<T, Cell, Where> gy;
  Present has[Cell::outputs];
  void take(const Call& c, int first) {
    for (int k = 0; k < Cell::outputs; ++k) gy.at[k] = has[k].template take<T>(c, first + k, 0);
  }
};

template <class T, class Cell, class Where>
struct CellBackward {
  static constexpr int operands = 2 * Cell::inputs + Cell::outputs;
  Where where;
  Inputs<T, Cell, Where> x, gx;
  Given<T, Cell, Where> given;
  void take(const Call& c) {
    given.take(c, Cell::inputs);
    for (int t = 0; t < Cell::inputs; ++t) {
      x.at[t] = operand<T>(c, t);
      gx.at[t] = operand<T>(c, Cell::inputs + Cell::outputs + t);
    }
  }
  template <class... I>
  CG_FN void operator()(I... i) const {
    compute_t<T> v[kCount<Cell>], g[Cell::outputs], r[kCount<Cell>];
    x.load(Numbers<Cell>(), where, v, i...);
    given.gy.load_present(given.has, where, g, i...);
    Cell::backward(v, g, r);
    gx.store(Numbers<Cell>(), where, r, i...);
  }
};

// Let w be the factors of the inputs' gradients. Because second derivatives are symmetric, the derivatives of <w,
// gradients> with respect to x and gy are the derivatives of the gradients and of the outputs along w.
template <class T, class Cell, class Where>
struct CellSecond {
  static constexpr int operands = 3 * Cell::inputs + 2 * Cell::outputs;
  Where where;
  Inputs<T, Cell, Where> x, w, gx;
  Given<T, Cell, Where> given;
  Outputs<T, Cell, Where> ggy;
  Present has_w[Cell::inputs];
  void take(const Call& c) {
    constexpr int ws = Cell::inputs + Cell::outputs, results = ws + Cell::inputs;
    given.take(c, Cell::inputs);
    for (int t = 0; t < Cell::inputs; ++t) {
      x.at[t] = operand<T>(c, t);
      w.at[t] = has_w[t].template take<T>(c, ws + t, t);
      gx.at[t] = operand<T>(c, results + t);
    }
    for (int k = 0; k < Cell::outputs; ++k) ggy.at[k] = operand<T>(c, results + Cell::inputs + k);
  }
  template <class... I>
  CG_FN void operator()(I... i) const {
    using C = compute_t<T>;
    constexpr int n = kCount<Cell>, m = Cell::outputs;
    C v[n], along[n], g[m];
    x.load(Numbers<Cell>(), where, v, i...);
    w.load_present(Numbers<Cell>(), has_w, where, along, i...);
    given.gy.load_present(given.has, where, g, i...);
    Dual<C> X[n], G[m], R[n], Y[m];
    for (int j = 0; j < n; ++j) X[j] = {v[j], along[j]};
    for (int k = 0; k < m; ++k) G[k] = {g[k], C(0)};
    Cell::backward(X, G, R);
    Cell::forward(X, Y);
    for (int j = 0; j < n; ++j) v[j] = R[j].change;
    for (int k = 0; k < m; ++k) g[k] = Y[k].change;
    gx.store(Numbers<Cell>(), where, v, i...);
    ggy.store(where, g, i...);
  }
};

// How many operands are given: inputs; in gradients also the outputs' gradients; then also the inputs' factors.
template <class Cell, class F, int both = Cell::inputs + Cell::outputs>
constexpr int kGiven = F::operands == both                  ? Cell::inputs
                       : F::operands == both + Cell::inputs ? both
                                                            : F::operands - both;

// Whether operand k has the number of elements of an input or output for these units, or is an absent gradient.
template <class Cell, class F>
bool fits(const Call& c, int64_t units) {
  if (c.operands != F::operands || c.sets != 1) return false;
  constexpr int in = Cell::inputs, both = in + Cell::outputs, given = kGiven<Cell, F>;
  for (int k = 0; k < c.operands; ++k) {
    const int place = k < given ? k % both : F::operands == both ? k : k - given;
    const int64_t width = place < in ? Cell::widths[place] : 1;
    if (c.sizes[k] != width * units && !(k >= in && k < given && !c.data[k])) return false;
  }
  return true;
}

template <class Run, template <class, class, class> class Pass, class Cell, bool beside>
Status run_cell(const Call& c) {
  if (c.n_integers != 2 && c.n_integers != 2 + kCount<Cell>) return kBadCall;
  const int64_t rows = c.integers[0], inner = c.integers[1], units = rows * inner;
  using Any = Pass<float, Cell, Apart<Cell>>;
  if (rows < 0 || inner < 0 || !fits<Cell, Any>(c, units)) return kBadCall;
  if (units == 0) return 0;
  return Run::template by_type<kGiven<Cell, Any>>(c, rows, [&]<class T>(const Call& c, int64_t rows) -> Status {
    if constexpr (beside)
      if (inner == 1 && c.n_integers == 2) {
        Pass<T, Cell, Beside<Cell>> f{};
        f.take(c);
        return Run::each(f, rows * inner, c, kCount<Cell>);
      }
    Pass<T, Cell, Apart<Cell>> f{};
    f.where.inner = inner;
    for (int j = 0; j < kCount<Cell>; ++j) {
      const Found n = find<Cell>(j);
      const int64_t place = c.n_integers == 2 ? n.place : c.integers[2 + j];
      if (place < 0 || place >= n.width) return kBadCall;
      f.where.place[j] = place * inner;
    }
    f.take(c);
    if constexpr (Run::narrow_indexes)
      if (*std::max_element(c.sizes, c.sizes + c.operands) < int64_t(1) << 31)
        return Run::each(Rowwise<Pass<T, Cell, Apart<Cell>>, true>{f, inner}, rows * inner, c, kCount<Cell>);
    return Run::each(Rowwise<Pass<T, Cell, Apart<Cell>>>{f, inner}, rows * inner, c, kCount<Cell>);
  });
}

}  // namespace detail
}  // namespace cg::kernels

// Defines the kernels NAME, NAME_grad and NAME_grad_grad of a cell. BESIDE: numbers of a unit may be side by side.
#define CG_CELL(NAME, CELL, BESIDE)                                      \
  template <class Run>                                                   \
  Status NAME(const Call& c) {                                           \
    return detail::run_cell<Run, detail::CellForward, CELL, BESIDE>(c);  \
  }                                                                      \
  template <class Run>                                                   \
  Status NAME##_grad(const Call& c) {                                    \
    return detail::run_cell<Run, detail::CellBackward, CELL, BESIDE>(c); \
  }                                                                      \
  template <class Run>                                                   \
  Status NAME##_grad_grad(const Call& c) {                               \
    return detail::run_cell<Run, detail::CellSecond, CELL, BESIDE>(c);   \
  }
#define CG_CELL_KERNELS(RUN, NAME) CG_KERNEL(RUN, NAME) CG_KERNEL(RUN, NAME##_grad) CG_KERNEL(RUN, NAME##_grad_grad)
