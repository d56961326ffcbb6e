// Products of a few rows with many: each of the many is read from memory once, which takes most of the time.
#pragma once
#include <cstdint>

namespace cg::kernels {

// y = x wᵀ, plus bias (many) unless that is null, for w (many, length) in C order.
struct FewRows {
  const float* x;      // (rows, length) in C order
  const float* lanes;  // instead of x, for more than kDots rows: (length, kMostRows); columns beyond `rows` are ignored
  const float *w, *bias;
  float* y;
  int64_t rows, many, length;
  int64_t y_row, y_many;  // strides of y, in numbers
};
constexpr int64_t kDots = 6, kMostRows = 16;

// Whether the processor has the instructions for up to kMostRows rows. `few_rows` must not be called otherwise.
bool few_rows_fit();
void few_rows(FewRows p);

}  // namespace cg::kernels
