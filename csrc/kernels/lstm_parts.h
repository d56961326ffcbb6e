// The gates of an LSTM, bit for bit as a chain of single functions computes them: three sigmoids, two tanh, three
// products and a sum.
#pragma once
#include "kernels/levels.h"
#include "kernels/simd.h"

namespace cg::kernels {

// Matrices of so many rows and units, in C order; the gates are (rows, 4, units): input, output, forget, new.
struct LstmParts {
  int64_t rows, units;
  const float *gates, *cell;
};

namespace detail {

CG_INLINE float odd_tanh(float x) { return __builtin_copysignf(simd::tanh(__builtin_fabsf(x)), x); }

// One row: `units` numbers of each gate.
struct GateRow {
  const float *input, *output, *forget, *fresh, *cell;
  GateRow(const LstmParts& p, int64_t i)
      : input(p.gates + 4 * i * p.units),
        output(input + p.units),
        forget(output + p.units),
        fresh(forget + p.units),
        cell(p.cell + i * p.units) {}
};
struct PartsForward {
  LstmParts p;
  float *next, *state, *bent;
  CG_INLINE void run() const {
    for (int64_t i = 0; i < p.rows; ++i) {
      const GateRow x(p, i);
      float *const c = next + i * p.units, *const h = state + i * p.units, *const t = bent + i * p.units;
      CG_IVDEP
      for (int64_t k = 0; k < p.units; ++k) {
        c[k] = simd::sigmoid(x.forget[k]) * x.cell[k] + simd::sigmoid(x.input[k]) * odd_tanh(x.fresh[k]);
        t[k] = odd_tanh(c[k]);
        h[k] = simd::sigmoid(x.output[k]) * t[k];
      }
    }
  }
};
template <bool next, bool state>
struct PartsSlope {
  LstmParts p;
  const float *bent, *g_next, *g_state;
  float *g_cell, *g_gates;
  CG_INLINE void run() const {
    for (int64_t i = 0; i < p.rows; ++i) {
      const GateRow x(p, i);
      const int64_t n = p.units;
      const float *const gc = next ? g_next + i * n : nullptr, *const gh = state ? g_state + i * n : nullptr;
      const float* const t = bent + i * n;
      float *const to = g_gates + 4 * i * n, *const to_cell = g_cell + i * n;
      CG_IVDEP
      for (int64_t k = 0; k < n; ++k) {
        const float I = simd::sigmoid(x.input[k]), O = simd::sigmoid(x.output[k]), F = simd::sigmoid(x.forget[k]);
        const float A = odd_tanh(x.fresh[k]), T = t[k];
        float g, of_output = 0;
        if constexpr (state) {
          of_output = gh[k] * T;
          g = gh[k] * O * (1 - T * T);
          if constexpr (next) g += gc[k];
        } else {
          g = gc[k];
        }
        to[k] = g * A * (1 - I) * I;
        to[n + k] = of_output * (1 - O) * O;
        to[2 * n + k] = g * x.cell[k] * (1 - F) * F;
        to[3 * n + k] = g * I * (1 - A * A);
        to_cell[k] = g * F;
      }
    }
  }
};

}  // namespace detail

// next = forget * cell + input * new, bent = tanh(next), state = output * bent
inline void lstm_parts(const LstmParts& p, float* next, float* state, float* bent) {
  detail::run_loop(detail::PartsForward{p, next, state, bent});
}
// The gradients of the cell and of the gates, from those of `next` and `state`, one of which may be null.
inline void lstm_parts_slope(const LstmParts& p, const float* bent, const float* g_next, const float* g_state,
                             float* g_cell, float* g_gates) {
  if (!g_next)
    detail::run_loop(detail::PartsSlope<false, true>{p, bent, g_next, g_state, g_cell, g_gates});
  else if (!g_state)
    detail::run_loop(detail::PartsSlope<true, false>{p, bent, g_next, g_state, g_cell, g_gates});
  else
    detail::run_loop(detail::PartsSlope<true, true>{p, bent, g_next, g_state, g_cell, g_gates});
}

}  // namespace cg::kernels
