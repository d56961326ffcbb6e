// The CPU loops of optimizers' update rules.
#pragma once
#include <cstdint>
#include <string_view>

namespace cg::optim {

inline constexpr int max_states = 3, max_hypers = 12;

template <class T>
using Loop = void (*)(int64_t n, T* x, const T* y, T* const* states, const double* hypers);

struct Loops {
  Loop<float> f32;
  Loop<double> f64;
};

// The loops of a rule of optim_rules.h; nullptrs where there is no rule of that name.
Loops find_loops(std::string_view name);

// The sum of squares.
float sum_of_squares(int64_t n, const float* x);
double sum_of_squares(int64_t n, const double* x);

// Whether there is an infinite value (`inf`), a NaN (`nan`), or either.
bool has_special(int64_t n, const float* x, bool inf, bool nan);

}  // namespace cg::optim
