#include "kernels/tape.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/cpu.h"
#include "kernels/erf.h"
#include "kernels/functor.h"

namespace cg::kernels::tape {
namespace {

// Two dimensions of a step: `outer` times `inner` elements, with the strides of the operands.
template <class T>
struct Rows {
  Function function;
  int64_t outer, inner;
  const T *a, *b, *c;
  T* y;
  int64_t a_row, b_row, c_row, y_row, a_next, b_next, c_next, y_next;
  T s;
};

template <class T>
CG_INLINE T erf(T x) {
  if constexpr (std::is_same_v<T, float>)
    return simd::erf(x);
  else
    return std::erf(x);
}

template <class T>
struct MapRows {
  Rows<T> r;

  template <class F>
  CG_INLINE void each(F&& f) const {
    const Rows<T> r = this->r;  // a local copy, which stores cannot alias
    for (int64_t i = 0; i < r.outer; ++i) {
      const T *const a = r.a + i * r.a_row, *const b = r.b + i * r.b_row, *const c = r.c + i * r.c_row;
      T* const y = r.y + i * r.y_row;
      f(a, b, c, y, r);
    }
  }
#define CG_TAPE_LOOP(INDEX_A, INDEX_B, INDEX_C, INDEX_Y) \
  CG_IVDEP                                               \
  for (int64_t i = 0; i < r.inner; ++i) y[INDEX_Y] = f(a[INDEX_A], b[INDEX_B], c[INDEX_C], r.s)
  template <class F>
  CG_INLINE void one(F&& f) const {
    each([&](const T* a, const T* b, const T* c, T* y, const Rows<T>& r) __attribute__((always_inline)) {
      if (r.y_next == 1 && r.a_next == 1)
        CG_TAPE_LOOP(i, 0, 0, i);
      else
        for (int64_t i = 0; i < r.inner; ++i) y[i * r.y_next] = f(a[i * r.a_next], *b, *c, r.s);
    });
  }
  template <class F>
  CG_INLINE void two(F&& f) const {
    each([&](const T* a, const T* b, const T* c, T* y, const Rows<T>& r) __attribute__((always_inline)) {
      if (r.y_next == 1 && r.a_next == 1 && r.b_next == 1)
        CG_TAPE_LOOP(i, i, 0, i);
      else if (r.y_next == 1 && r.a_next == 1 && r.b_next == 0)
        CG_TAPE_LOOP(i, 0, 0, i);
      else if (r.y_next == 1 && r.a_next == 0 && r.b_next == 1)
        CG_TAPE_LOOP(0, i, 0, i);
      else
        for (int64_t i = 0; i < r.inner; ++i) y[i * r.y_next] = f(a[i * r.a_next], b[i * r.b_next], *c, r.s);
    });
  }
  template <class F>
  CG_INLINE void three(F&& f) const {
    each([&](const T* a, const T* b, const T* c, T* y, const Rows<T>& r) __attribute__((always_inline)) {
      if (r.y_next == 1 && r.a_next == 1 && r.b_next == 1 && r.c_next == 1)
        CG_TAPE_LOOP(i, i, i, i);
      else
        for (int64_t i = 0; i < r.inner; ++i)
          y[i * r.y_next] = f(a[i * r.a_next], b[i * r.b_next], c[i * r.c_next], r.s);
    });
  }
#undef CG_TAPE_LOOP

  CG_INLINE void run() const {
#define CG_TAPE_MAP(NAME, OPERANDS, VALUE)                                                    \
  case Function::NAME:                                                                        \
    return OPERANDS([](T a, [[maybe_unused]] T b, [[maybe_unused]] T c, [[maybe_unused]] T s) \
                        __attribute__((always_inline)) -> T { return VALUE; });
    switch (r.function) {
      CG_TAPE_MAP(Copy, one, a)
      CG_TAPE_MAP(Abs, one, std::abs(a))
      CG_TAPE_MAP(Exp, one, simd::exp(a))
      CG_TAPE_MAP(Tanh, one, simd::tanh(a))
      CG_TAPE_MAP(Sigmoid, one, simd::sigmoid(a))
      CG_TAPE_MAP(Relu, one, a < 0 ? T(0) : a)
      CG_TAPE_MAP(Sqrt, one, std::sqrt(a))
      CG_TAPE_MAP(Rsqrt, one, 1 / std::sqrt(a))
      CG_TAPE_MAP(Reciprocal, one, 1 / a)
      CG_TAPE_MAP(Square, one, a * a)
      CG_TAPE_MAP(Sign, one, T(a > 0) - T(a < 0))
      CG_TAPE_MAP(Erf, one, erf(a))
      CG_TAPE_MAP(Add, two, a + b)
      CG_TAPE_MAP(Sub, two, a - b)
      CG_TAPE_MAP(Mul, two, a * b)
      CG_TAPE_MAP(Div, two, a / b)
      CG_TAPE_MAP(Maximum, two, (a > b) | (a != a) ? a : b)
      CG_TAPE_MAP(Minimum, two, (a < b) | (a != a) ? a : b)
      CG_TAPE_MAP(AddScaled, two, a + s * b)
      CG_TAPE_MAP(ReluGrad, two, b <= s ? T(0) : a)
      CG_TAPE_MAP(LeakyReluGrad, two, b > 0 ? a : a * s)
      CG_TAPE_MAP(TanhGrad, two, a * (1 - b * b))
      CG_TAPE_MAP(SigmoidGrad, two, a * (1 - b) * b)
      CG_TAPE_MAP(Greater, two, T(a > b))
      CG_TAPE_MAP(GreaterEqual, two, T(a >= b))
      CG_TAPE_MAP(Less, two, T(a < b))
      CG_TAPE_MAP(LessEqual, two, T(a <= b))
      CG_TAPE_MAP(Equal, two, T(a == b))
      CG_TAPE_MAP(NotEqual, two, T(a != b))
      CG_TAPE_MAP(Where, three, a != 0 ? b : c)
      case Function::Count:
        break;
    }
#undef CG_TAPE_MAP
  }
};

// Adds to, or takes the maximum with, what is in the result.
template <class T, Kind kind>
struct ReduceRows {
  Rows<T> r;
  CG_INLINE void run() const {
    const Rows<T> r = this->r;
    for (int64_t i = 0; i < r.outer; ++i) {
      const T *const a = r.a + i * r.a_row, *const b = r.b + i * r.b_row;
      T* const y = r.y + i * r.y_row;
      if constexpr (kind == Kind::Max) {
        for (int64_t k = 0; k < r.inner; ++k) {
          const T x = a[k * r.a_next], m = y[k * r.y_next];
          y[k * r.y_next] = (x > m) | (x != x) ? x : m;
        }
      } else if (kind == Kind::Dot) {
        if (r.a_next == 1 && r.b_next == 1 && r.y_next == 0)
          *y += simd::sum<T>(r.inner, [&](int64_t k) __attribute__((always_inline)) { return a[k] * b[k]; });
        else
          for (int64_t k = 0; k < r.inner; ++k) y[k * r.y_next] += a[k * r.a_next] * b[k * r.b_next];
      } else if (r.y_next == 0 && r.a_next == 1) {
        *y += simd::sum<T>(r.inner, [&](int64_t k) __attribute__((always_inline)) { return a[k]; });
      } else if (r.y_next == 1 && r.a_next == 1) {
        CG_IVDEP
        for (int64_t k = 0; k < r.inner; ++k) y[k] += a[k];
      } else {
        for (int64_t k = 0; k < r.inner; ++k) y[k * r.y_next] += a[k * r.a_next];
      }
    }
  }
};

template <class T>
T* at(const Operand& o, char* const* bases) {
  return reinterpret_cast<T*>(bases[o.base] + o.offset);
}

template <class T>
void run_rows(const Step& s, const Rows<T>& r) {
  switch (s.kind) {
    case Kind::Map:
      // A transposed copy reads whole cache lines.
      if (std::is_same_v<T, float> && r.function == Function::Copy && r.a_row == 1 && r.y_next == 1 && r.a_next > 1)
        return transpose(r.inner, r.outer, reinterpret_cast<const float*>(r.a), r.a_next, reinterpret_cast<float*>(r.y),
                         r.y_row);
      return detail::run_loop(MapRows<T>{r});
    case Kind::Sum:
      return detail::run_loop(ReduceRows<T, Kind::Sum>{r});
    case Kind::Dot:
      return detail::run_loop(ReduceRows<T, Kind::Dot>{r});
    case Kind::Max:
      return detail::run_loop(ReduceRows<T, Kind::Max>{r});
    case Kind::Product:
      break;
  }
}

// Calls f(offsets) for each index of the first `dims` dimensions; offsets[k]: of the result and the operands.
template <class F>
void each_index(const Step& s, int dims, F&& f) {
  int64_t index[kDims] = {}, offsets[4] = {};
  const Operand* const operands[4] = {&s.result, &s.operand[0], &s.operand[1], &s.operand[2]};
  for (int d = 0; d < dims; ++d)
    if (!s.size[d]) return;
  for (;;) {
    f(offsets);
    int d = dims - 1;
    for (; d >= 0; --d) {
      for (int k = 0; k < 4; ++k) offsets[k] += operands[k]->stride[d];
      if (++index[d] < s.size[d]) break;
      for (int k = 0; k < 4; ++k) offsets[k] -= int64_t(operands[k]->stride[d]) * s.size[d];
      index[d] = 0;
    }
    if (d < 0) return;
  }
}

// The step, of which `rows` are the last two dimensions.
template <class T>
void run_parts(const Step& s, int outer, const Rows<T>& rows) {
  if (outer <= 0) return run_rows(s, rows);
  each_index(s, outer, [&](const int64_t* at) {
    Rows<T> part = rows;
    part.y += at[0], part.a += at[1], part.b += at[2], part.c += at[3];
    run_rows(s, part);
  });
}

}  // namespace

template <class T>
void run(const Step& s, char* const* bases) {
  T* const y = at<T>(s.result, bases);
  const T* x[3];
  for (int k = 0; k < 3; ++k) x[k] = at<T>(s.operand[k < s.operands ? k : 0], bases);
  if (s.kind == Kind::Product) {
    const int i = s.dims - 3, j = s.dims - 2, k = s.dims - 1;
    const Operand &a = s.operand[0], &b = s.operand[1], &d = s.operand[2];
    each_index(s, i, [&](const int64_t* at) {
      multiply(Matrices<T>{s.size[i], s.size[j], s.size[k], x[0] + at[1], x[1] + at[2],
                           s.operands > 2 ? x[2] + at[3] : nullptr, y + at[0], a.stride[i], a.stride[k], b.stride[k],
                           d.stride[i], d.stride[j], s.result.stride[i], static_cast<T>(s.number)});
    });
    return;
  }
  if (s.kind == Kind::Max)
    for (int64_t i = 0, n = s.elements(); i < n; ++i) y[i] = -std::numeric_limits<T>::infinity();
  else if (s.kind != Kind::Map)
    std::memset(y, 0, s.elements() * sizeof(T));
  const int n = s.dims - 1, m = s.dims - 2;
  const Operand &a = s.operand[0], &b = s.operand[1], &c = s.operand[2], &r = s.result;
  Rows<T> rows{s.function, m < 0 ? 1 : s.size[m], n < 0 ? 1 : s.size[n], x[0], x[1], x[2], y};
  if (m >= 0) rows.a_row = a.stride[m], rows.b_row = b.stride[m], rows.c_row = c.stride[m], rows.y_row = r.stride[m];
  if (n >= 0)
    rows.a_next = a.stride[n], rows.b_next = b.stride[n], rows.c_next = c.stride[n], rows.y_next = r.stride[n];
  rows.s = static_cast<T>(s.number);
  run_parts(s, m, rows);
}
template void run<float>(const Step&, char* const*);
template void run<double>(const Step&, char* const*);

}  // namespace cg::kernels::tape
