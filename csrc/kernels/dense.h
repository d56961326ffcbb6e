// Products of two matrices of floats on processors with AVX-512.
#pragma once
#include <cstdint>

namespace cg::kernels {

// y (rows, columns) = x (rows, depth) times wᵀ, for w (columns, depth), plus bias (columns) unless that is null; with
// `turned` w is (depth, columns), and y = x w + bias. The numbers of a row lie side by side; from one row to the next
// there are `pitch` numbers. y does not overlap the others.
struct Dense {
  int64_t rows, depth, columns;
  const float* x;
  int64_t x_pitch;
  const float* w;
  int64_t w_pitch;
  const float* bias;
  float* y;
  int64_t y_pitch;
  bool turned = false;
};

// Whether the processor has the instructions, and the matrices fill blocks. `dense` must not be called otherwise.
bool dense_fits(int64_t rows, int64_t depth, int64_t columns);
void dense(const Dense& p);

}  // namespace cg::kernels
