// GCC vectorises these loops at -O3 only; the build's -fno-math-errno is needed as well.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif
#include "kernels/optim.h"

#include <algorithm>

#include "kernels/optim_rules.h"

namespace cg::optim {
namespace {

template <class Rule, class T>
void loop(int64_t n, T* x, const T* y, T* const* states, const double* hypers) {
  static_assert(Rule::states <= max_states && Rule::hypers <= max_hypers);
  T h[Rule::hypers];
  for (int k = 0; k < Rule::hypers; ++k) h[k] = static_cast<T>(hypers[k]);
  T* __restrict px = x;
  const T* __restrict py = y;
  T* __restrict s0 = Rule::states > 0 ? states[0] : nullptr;
  T* __restrict s1 = Rule::states > 1 ? states[1] : nullptr;
  T* __restrict s2 = Rule::states > 2 ? states[2] : nullptr;
  for (int64_t i = 0; i < n; ++i) {
    T s[max_states];
    if constexpr (Rule::states > 0) s[0] = s0[i];
    if constexpr (Rule::states > 1) s[1] = s1[i];
    if constexpr (Rule::states > 2) s[2] = s2[i];
    T value = px[i];
    Rule::step(value, py[i], s, h);
    px[i] = value;
    if constexpr (Rule::states > 0) s0[i] = s[0];
    if constexpr (Rule::states > 1) s1[i] = s[1];
    if constexpr (Rule::states > 2) s2[i] = s[2];
  }
}

// Sixteen partial sums: the compiler may not reorder one.
template <class T>
T squares(int64_t n, const T* x) {
  constexpr int lanes = 16;
  T sums[lanes] = {};
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (int k = 0; k < lanes; ++k) sums[k] += x[i + k] * x[i + k];
  for (; i < n; ++i) sums[0] += x[i] * x[i];
  for (int width = lanes / 2; width; width /= 2)
    for (int k = 0; k < width; ++k) sums[k] += sums[k + width];
  return sums[0];
}

}  // namespace

Loops find_loops(std::string_view name) {
  Loops found{};
  for_each_rule([&]<class Rule>(const char* rule) {
    if (name == rule) found = {loop<Rule, float>, loop<Rule, double>};
  });
  return found;
}

float sum_of_squares(int64_t n, const float* x) { return squares(n, x); }
double sum_of_squares(int64_t n, const double* x) { return squares(n, x); }

bool has_special(int64_t n, const float* x, bool inf, bool nan) {
  constexpr int64_t block = 4096;
  for (int64_t at = 0; at < n; at += block) {
    const int64_t size = std::min(block, n - at);
    // Not finite either where a square overflows: then the elements tell.
    if (std::isfinite(squares(size, x + at))) continue;
    for (int64_t i = at; i < at + size; ++i)
      if ((inf && std::isinf(x[i])) || (nan && std::isnan(x[i]))) return true;
  }
  return false;
}

}  // namespace cg::optim
