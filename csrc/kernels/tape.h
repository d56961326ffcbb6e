// A tape: loops over small arrays, one after the other. A loop costs some nanoseconds to begin, a call of ATen's
// functions a microsecond.
#pragma once
#include <cstdint>
#include <vector>

namespace cg::kernels::tape {

constexpr int kDims = 5;

// An array that a step reads or writes: memory `base`, from `offset` bytes on, and how many numbers apart its elements
// are along each dimension of the step.
struct Operand {
  int32_t base = 0, offset = 0, stride[kDims] = {};  // small, because all steps are read in each call
};

// What a step does. Map: each element of the result from elements of the operands. Sum, Dot and Max: the result has
// stride 0 along the dimensions that are reduced. Product: the last three dimensions are the rows of the result, its
// columns and the depth; the operands are two matrices and, if there are three, what is added.
enum class Kind : uint8_t { Map, Sum, Dot, Max, Product };

// The functions of a Map, of operands a, b, c and the number s; compatgrad/exporting/_tape.py has the same list.
enum class Function : uint8_t {
  Copy,
  Abs,
  Exp,
  Tanh,
  Sigmoid,
  Relu,
  Sqrt,
  Rsqrt,
  Reciprocal,
  Square,
  Sign,
  Erf,
  Add,
  Sub,
  Mul,
  Div,
  Maximum,
  Minimum,
  AddScaled,      // a + s b
  ReluGrad,       // a where b > s, otherwise 0
  LeakyReluGrad,  // a where b > 0, otherwise s a
  TanhGrad,       // a (1 - b b)
  SigmoidGrad,    // a (1 - b) b
  Greater,
  GreaterEqual,
  Less,
  LessEqual,
  Equal,
  NotEqual,
  Where,  // b where a is not 0, otherwise c
  Count
};

struct Step {
  Kind kind = Kind::Map;
  Function function = Function::Copy;
  uint8_t dims = 0, operands = 0;
  int32_t size[kDims] = {};
  double number = 1;  // s of a Map; what a Product is multiplied by
  Operand result, operand[3];

  // How many elements the result has, if it has no gaps.
  int64_t elements() const {
    int64_t n = 1;
    for (int d = 0; d < dims; ++d)
      if (result.stride[d]) n *= size[d];
    return n;
  }
};

// Runs a step on numbers of type T (float or double) in the memories `bases`. The result overlaps no operand.
template <class T>
void run(const Step& s, char* const* bases);
extern template void run<float>(const Step&, char* const*);
extern template void run<double>(const Step&, char* const*);

// y = number a b, plus d unless that is null. The columns of b and y are next to each other.
template <class T>
struct Matrices {
  int64_t rows, columns, depth;
  const T *a, *b, *d;
  T* y;
  int64_t a_row, a_depth, b_depth, d_row, d_column, y_row;
  T number;
};
template <class T>
void multiply(const Matrices<T>& m);
extern template void multiply(const Matrices<float>&);
extern template void multiply(const Matrices<double>&);

// y (columns, rows) with rows y_row apart = the transposed x, whose rows are x_row apart.
void transpose(int64_t rows, int64_t columns, const float* x, int64_t x_row, float* y, int64_t y_row);

}  // namespace cg::kernels::tape
