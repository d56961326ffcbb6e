// Changes of a gradient before a rule reads it, in the same pass: a list of rules that change gradients.
#pragma once
#include "kernels/optim_rules.h"

namespace cg::optim {

// For each change a call's numbers have three entries: which change it is, and its two constants. The call's integers,
// if present, have one entry per change: the address of the first constant on the device, or 0.
struct Prologue {
  static constexpr int capacity = 8, numbers = 3;
  enum Kind : int32_t { scale, unscale, weight_decay, lasso, hard_clip, kinds };

  int32_t n = 0;
  int32_t kind[capacity];
  double h[capacity][2];
  const double* at[capacity];

  bool read(const kernels::Call& c, int first) {
    n = (c.n_numbers - first) / numbers;
    if (c.n_numbers != first + n * numbers || n > capacity || (c.n_integers != 0 && c.n_integers != n)) return false;
    for (int s = 0; s < n; ++s) {
      const double* given = c.numbers + first + s * numbers;
      if (!(given[0] >= 0 && given[0] < int(kinds))) return false;
      kind[s] = static_cast<int32_t>(given[0]);
      for (int k = 0; k < 2; ++k) h[s][k] = given[1 + k];
      at[s] = c.n_integers ? reinterpret_cast<const double*>(c.integers[s]) : nullptr;
    }
    return true;
  }

  // Changes one element, rounding to its type T after each change.
  template <class T, class C>
  CG_FN void change(C& gradient, const C& parameter) const {
    // Not unrolled: with an unrolled loop for each element of a vector, nvcc takes five minutes to compile the rules.
#ifdef __CUDACC__
#pragma unroll 1
#endif
    for (int s = 0; s < n; ++s) {
      const C hypers[2] = {static_cast<C>(at[s] ? *at[s] : h[s][0]), static_cast<C>(h[s][1])};
      C* const none = nullptr;
      switch (kind[s]) {
        case scale:
          Scale::step(gradient, parameter, none, hypers);
          break;
        case unscale:
          Unscale::step(gradient, parameter, none, hypers);
          break;
        case weight_decay:
          WeightDecay::step(gradient, parameter, none, hypers);
          break;
        case lasso:
          Lasso::step(gradient, parameter, none, hypers);
          break;
        default:
          HardClip::step(gradient, parameter, none, hypers);
      }
      gradient = kernels::widen(kernels::narrow<T>(gradient));
    }
  }
};

}  // namespace cg::optim
