// Element-wise functions one after the other, on a part of the arrays at a time.
#pragma once
#include <cstdint>
#include <vector>

namespace cg::kernels {

// One function: array `result` from arrays a and b, or a and a number. None: the array is given.
struct Stage {
  enum Kind : uint8_t {
    None,
    MulNumber,
    AddNumber,
    NumberSub,
    Power,
    Neg,
    Square,
    Erf,
    Tanh,
    Add,
    Sub,
    Mul,
    // a times the derivative of a function at b, that of tanh from its result b
    PowerSlope,
    ErfSlope,
    TanhSlope
  };
  Kind kind;
  double number = 0;
  int a = 0, b = 0, result = 0;
};

constexpr int64_t kMostArrays = 24;

// Elements begin to end - 1 of the results of `stages`. arrays: where each array is; null: a result that is not kept;
// at most kMostArrays.
template <class T>
void run_stages(const std::vector<Stage>& stages, const std::vector<T*>& arrays, int64_t begin, int64_t end);
extern template void run_stages(const std::vector<Stage>&, const std::vector<float*>&, int64_t, int64_t);
extern template void run_stages(const std::vector<Stage>&, const std::vector<double*>&, int64_t, int64_t);

void sigmoid_of(int64_t n, const float* x, float* y);
// The sign is that of x, so that tanh(-x) is exactly -tanh(x).
void tanh_of(int64_t n, const float* x, float* y);
void erf_of(int64_t n, const float* x, float* y);
// GELU by tanh: x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x³))), and gy times its derivative at x.
void gelu_of(int64_t n, const float* x, float* y);
void gelu_slope_of(int64_t n, const float* gy, const float* x, float* y);

}  // namespace cg::kernels
