#include "kernels/stages.h"

#include <algorithm>
#include <memory>
#include <new>

#include "kernels/erf.h"

namespace cg::kernels {
namespace {

// So many elements of several arrays fit into the level-1 cache.
template <class T>
constexpr int64_t kPart = (1 << 11) / sizeof(T);

template <class T>
CG_INLINE void stage_of(Stage::Kind kind, int64_t n, const T* __restrict a, const T* __restrict b, T s,
                        T* __restrict y) {
#define CG_STAGE(KIND, VALUE)                     \
  case Stage::KIND:                               \
    CG_IVDEP                                      \
    for (int64_t i = 0; i < n; ++i) y[i] = VALUE; \
    break;
  switch (kind) {
    CG_STAGE(MulNumber, a[i] * s)
    CG_STAGE(AddNumber, a[i] + s)
    CG_STAGE(NumberSub, s - a[i])
    CG_STAGE(Neg, -a[i])
    CG_STAGE(Square, a[i] * a[i])
    CG_STAGE(Add, a[i] + b[i])
    CG_STAGE(Sub, a[i] - b[i])
    CG_STAGE(Mul, a[i] * b[i])
    CG_STAGE(TanhSlope, a[i] * (1 - b[i] * b[i]))
    case Stage::PowerSlope:
      CG_IVDEP
      for (int64_t i = 0; i < n; ++i) y[i] = a[i] * (s == 2 ? b[i] * 2 : b[i] * b[i] * 3);
      break;
    case Stage::ErfSlope:
      if constexpr (std::is_same_v<T, float>) {
        CG_IVDEP
        for (int64_t i = 0; i < n; ++i) y[i] = simd::erf_slope(a[i], b[i]);
      }
      break;
    case Stage::Power:
      CG_IVDEP
      for (int64_t i = 0; i < n; ++i) y[i] = s == 2 ? a[i] * a[i] : a[i] * a[i] * a[i];
      break;
    default:
      break;
  }
#undef CG_STAGE
}
CG_SIMD void stage_loop(Stage::Kind kind, int64_t n, const float* a, const float* b, float s, float* y) {
  stage_of(kind, n, a, b, s, y);
}
CG_SIMD void stage_loop(Stage::Kind kind, int64_t n, const double* a, const double* b, double s, double* y) {
  stage_of(kind, n, a, b, s, y);
}
CG_INLINE float signed_tanh(float x) { return __builtin_copysignf(simd::tanh(__builtin_fabsf(x)), x); }
CG_SIMD void sigmoid_loop(int64_t n, const float* x, float* y) {
  CG_IVDEP
  for (int64_t i = 0; i < n; ++i) y[i] = simd::sigmoid(x[i]);
}
CG_SIMD void tanh_loop(int64_t n, const float* x, float* y) {
  CG_IVDEP
  for (int64_t i = 0; i < n; ++i) y[i] = signed_tanh(x[i]);
}
constexpr float kGelu = 0.797884560802865f, kGeluCube = 0.044715f;  // sqrt(2 / pi)
CG_SIMD void gelu_loop(int64_t n, const float* x, float* y) {
  CG_IVDEP
  for (int64_t i = 0; i < n; ++i)
    y[i] = 0.5f * x[i] * (1.0f + signed_tanh(kGelu * (x[i] + kGeluCube * x[i] * x[i] * x[i])));
}
CG_SIMD void gelu_slope_loop(int64_t n, const float* gy, const float* x, float* y) {
  CG_IVDEP
  for (int64_t i = 0; i < n; ++i) {
    const float t = signed_tanh(kGelu * (x[i] + kGeluCube * x[i] * x[i] * x[i]));
    const float u = kGelu * (1.0f + 3.0f * kGeluCube * x[i] * x[i]);
    y[i] = gy[i] * (0.5f * (1.0f + t) + 0.5f * x[i] * (1.0f - t * t) * u);
  }
}
CG_SIMD void erf_loop(int64_t n, const float* x, float* y) {
  CG_IVDEP
  for (int64_t i = 0; i < n; ++i) y[i] = simd::erf(x[i]);
}

template <class T>
void run(const Stage& stage, int64_t n, const T* a, const T* b, T* y) {
  if constexpr (std::is_same_v<T, float>) {
    if (stage.kind == Stage::Erf) return erf_loop(n, a, y);
    if (stage.kind == Stage::Tanh) return tanh_loop(n, a, y);
  }
  stage_loop(stage.kind, n, a, b, static_cast<T>(stage.number), y);
}

}  // namespace

void sigmoid_of(int64_t n, const float* x, float* y) { sigmoid_loop(n, x, y); }
void tanh_of(int64_t n, const float* x, float* y) { tanh_loop(n, x, y); }
void erf_of(int64_t n, const float* x, float* y) { erf_loop(n, x, y); }
void gelu_of(int64_t n, const float* x, float* y) { gelu_loop(n, x, y); }
void gelu_slope_of(int64_t n, const float* gy, const float* x, float* y) { gelu_slope_loop(n, gy, x, y); }

namespace {

// Where the parts of results that are not kept are: few places, so that all of them stay in the cache.
struct Places {
  int place[kMostArrays], count = 0;
  template <class T>
  Places(const std::vector<Stage>& stages, const std::vector<T*>& arrays) {
    int last[kMostArrays], free[kMostArrays], frees = 0;  // the last stage that reads an array
    std::fill_n(last, arrays.size(), -1);
    for (size_t k = 0; k < stages.size(); ++k) last[stages[k].a] = last[stages[k].b] = static_cast<int>(k);
    for (size_t k = 0; k < stages.size(); ++k) {
      const Stage& s = stages[k];
      // A result has another place than what its stage reads: the loops may assume that.
      if (!arrays[s.result]) place[s.result] = frees ? free[--frees] : count++;
      for (const int i : {s.a, s.b})
        if (!arrays[i] && last[i] == static_cast<int>(k)) {
          free[frees++] = place[i];
          last[i] = -1;  // a and b may be one array
        }
    }
  }
};

}  // namespace

template <class T>
void run_stages(const std::vector<Stage>& stages, const std::vector<T*>& arrays, int64_t begin, int64_t end) {
  const Places places(stages, arrays);
  int64_t part = std::min(kPart<T>, end - begin);
  // The distance keeps processors from taking a read of one array for one of what was just written to another.
  int64_t distance = part + 80;
  // Without memory the functions are computed all the same: whoever asked for their values cannot do without.
  constexpr int64_t kFew = 64;
  T few[kMostArrays * kFew];
  const std::unique_ptr<T[]> space(new (std::nothrow) T[places.count * distance]);
  if (!space) part = distance = kFew;
  T* const free = space ? space.get() : few;
  T* at[kMostArrays];
  for (; begin < end; begin += part) {
    const int64_t n = std::min(part, end - begin);
    for (size_t i = 0; i < arrays.size(); ++i)
      at[i] = arrays[i] ? arrays[i] + begin : free + places.place[i] * distance;
    for (const Stage& s : stages) run<T>(s, n, at[s.a], at[s.b], at[s.result]);
  }
}
template void run_stages(const std::vector<Stage>&, const std::vector<float*>&, int64_t, int64_t);
template void run_stages(const std::vector<Stage>&, const std::vector<double*>&, int64_t, int64_t);

}  // namespace cg::kernels
