// Products of a few rows with many: each of the many is read from memory once, which takes most of the time.
#pragma once
#include <cstdint>

namespace cg::kernels {

constexpr int64_t kMostRows = 6;  // from which on the libraries' products are faster

// Whether the processor has the instructions. `few_rows` must not be called otherwise.
bool few_rows_fit();

// y (rows, many) = x (rows, length) wᵀ for w (many, length), plus bias (many) unless that is null. All arrays are in C
// order.
void few_rows(const float* x, int64_t rows, const float* w, int64_t many, int64_t length, const float* bias, float* y);

}  // namespace cg::kernels
