#include "kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "kernels/attention_heads.h"
#include "kernels/simd.h"
#include "kernels/threads.h"

// Functions of the library with which torch multiplies matrices; they read arrays in Fortran's order. The symbols are
// weak, because some builds of torch hide them.
extern "C" {
__attribute__((weak)) void sgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
                                  const float* alpha, const float* a, const int* lda, const float* b, const int* ldb,
                                  const float* beta, float* c, const int* ldc);
__attribute__((weak)) void dgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
                                  const double* alpha, const double* a, const int* lda, const double* b, const int* ldb,
                                  const double* beta, double* c, const int* ldc);
}

namespace cg::kernels {
namespace {

template <class T>
struct Matrix {
  T* data;
  int64_t row;
  bool turned = false;  // whether the matrix is the transpose of `data`
};
// c (rows, columns) = scale a b + before c, where a has `depth` columns.
template <class T>
void multiply(int64_t rows, int64_t columns, int64_t depth, T scale, Matrix<const T> a, Matrix<const T> b, T before,
              Matrix<T> c) {
  // Fortran reads rows as columns, so it gets the transposed product.
  const int m = columns, n = rows, k = depth, lda = b.row, ldb = a.row, ldc = c.row;
  const char *const ta = b.turned ? "T" : "N", *const tb = a.turned ? "T" : "N";
  if constexpr (std::is_same_v<T, float>)
    sgemm_(ta, tb, &m, &n, &k, &scale, b.data, &lda, a.data, &ldb, &before, c.data, &ldc);
  else
    dgemm_(ta, tb, &m, &n, &k, &scale, b.data, &lda, a.data, &ldb, &before, c.data, &ldc);
}

// Replaces a row of scores by exp(score - maximum), and returns the sum.
template <class T>
CG_INLINE T exponents_of(int64_t n, T* s) {
  const T top = simd::max(n, s);
  CG_IVDEP
  for (int64_t j = 0; j < n; ++j) s[j] = simd::exp(s[j] - top);
  return simd::sum<T>(n, [=](int64_t j) __attribute__((always_inline)) { return s[j]; });
}
template <class T>
CG_INLINE void add_to(int64_t n, T* s, const T* mask, int64_t step) {
  if (step == 0) {
    const T number = mask[0];
    for (int64_t j = 0; j < n; ++j) s[j] += number;
  } else {
    CG_IVDEP
    for (int64_t j = 0; j < n; ++j) s[j] += mask[j];
  }
}
template <class T>
CG_INLINE void scale_by(int64_t n, T* x, T factor) {
  for (int64_t j = 0; j < n; ++j) x[j] *= factor;
}
// gp = the gradient of the scores, from that of the weights and the weights before their division by the sum.
template <class T>
CG_INLINE void scores_gradient(int64_t n, const T* e, T* gp, T inverse, T scale) {
  T mean = inverse * simd::sum<T>(n, [=](int64_t j) __attribute__((always_inline)) { return e[j] * gp[j]; });
  if (!std::isfinite(mean))  // the sum of large numbers overflows, unlike their mean
    mean = simd::sum<T>(n, [=](int64_t j) __attribute__((always_inline)) { return e[j] * inverse * gp[j]; });
  const T factor = inverse * scale;
  CG_IVDEP
  for (int64_t j = 0; j < n; ++j) gp[j] = e[j] * factor * (gp[j] - mean);
}
template <class T>
CG_INLINE bool all_finite(int64_t n, const T* x) {
  return simd::sum<T>(n, [=](int64_t j) __attribute__((always_inline)) { return x[j] * 0; }) == 0;
}
CG_SIMD bool are_finite(int64_t n, const float* x) { return all_finite(n, x); }
CG_SIMD bool are_finite(int64_t n, const double* x) { return all_finite(n, x); }
CG_SIMD float exponents(int64_t n, float* s) { return exponents_of(n, s); }
CG_SIMD double exponents(int64_t n, double* s) { return exponents_of(n, s); }
CG_SIMD void add_mask(int64_t n, float* s, const float* mask, int64_t step) { add_to(n, s, mask, step); }
CG_SIMD void add_mask(int64_t n, double* s, const double* mask, int64_t step) { add_to(n, s, mask, step); }
CG_SIMD void scale_row(int64_t n, float* x, float factor) { scale_by(n, x, factor); }
CG_SIMD void scale_row(int64_t n, double* x, double factor) { scale_by(n, x, factor); }
CG_SIMD void grad_row(int64_t n, const float* e, float* gp, float inverse, float scale) {
  scores_gradient(n, e, gp, inverse, scale);
}
CG_SIMD void grad_row(int64_t n, const double* e, double* gp, double inverse, double scale) {
  scores_gradient(n, e, gp, inverse, scale);
}

// Rows of q, and the columns of their scores that are computed.
template <class T>
struct Block {
  const Attention<T>& s;
  const typename Attention<T>::Head& head;
  int64_t first, rows, columns;
  T* scores;   // (rows, columns), afterwards exp(score - maximum of the row)
  T* inverse;  // 1 / sum of each row

  void compute() const {
    // For a factor of 0 the library does not read q and k, and NaN times 0 would be 0.
    const bool apart = s.scale == 0 || !std::isfinite(s.scale);
    multiply<T>(rows, columns, s.d, apart ? 1 : s.scale, {head.q + first * s.q_row, s.q_row}, {head.k, s.k_row, true},
                0, {scores, columns});
    for (int64_t r = 0; r < rows; ++r) {
      T* const row = scores + r * columns;
      if (apart) scale_row(columns, row, s.scale);
      const int64_t seen = s.causal ? std::min(columns, first + r + 1) : columns;
      if (head.mask) add_mask(seen, row, head.mask + (first + r) * s.mask_row, s.mask_column);
      inverse[r] = 1 / exponents(seen, row);
      std::fill(row + seen, row + columns, T(0));
    }
  }
};

// A block has so many scores that these, twice in backward, and the rows of k and v stay in a level-2 cache.
constexpr int64_t kScores = 1 << 17, kMostInBlock = 256, kLeastRows = 16;
template <class T>
int64_t rows_of(const Attention<T>& s) {
  return std::min(s.n, std::clamp(kScores / std::max<int64_t>(1, s.m), kLeastRows, kMostInBlock));
}
template <class T, class F>
void each_block(const Attention<T>& s, const typename Attention<T>::Head& head, int64_t begin, int64_t end, T* scores,
                T* inverse, F&& f) {
  const int64_t most = rows_of(s);
  for (int64_t first = begin; first < end; first += most) {
    const int64_t rows = std::min(most, end - first);
    const Block<T> block{s, head, first, rows, s.causal ? std::min(s.m, first + rows) : s.m, scores, inverse};
    block.compute();
    f(block);
  }
}

}  // namespace

bool attention_fits() { return sgemm_ && dgemm_; }

template <class T>
void attention(const Attention<T>& s, T* y) {
  if constexpr (std::is_same_v<T, float>)
    if (attention_heads_fit(s)) return attention_heads(s, y);
  const int64_t most = rows_of(s), blocks = (s.n + most - 1) / most;
  in_threads(s.heads.size() * blocks, 1, [&](int64_t from, int64_t to) {
    const std::unique_ptr<T[]> space(new T[most * (s.m + 1)]);
    for (int64_t i = from; i < to; ++i) {
      const int64_t h = i / blocks, first = i % blocks * most;
      each_block(s, s.heads[h], first, std::min(s.n, first + most), space.get() + most, space.get(),
                 [&](const Block<T>& b) {
                   T* const out = y + (h * s.n + b.first) * s.e;
                   const auto product = [&] {
                     multiply<T>(b.rows, s.e, b.columns, 1, {b.scores, b.columns}, {b.head.v, s.v_row}, 0, {out, s.e});
                   };
                   product();
                   if (are_finite(b.rows * s.e, out)) {
                     for (int64_t r = 0; r < b.rows; ++r) scale_row(s.e, out + r * s.e, b.inverse[r]);
                     return;
                   }
                   // A sum of large values of v overflows before it is divided, unlike the mean.
                   for (int64_t r = 0; r < b.rows; ++r) scale_row(b.columns, b.scores + r * b.columns, b.inverse[r]);
                   product();
                 });
    }
  });
}

template <class T>
void attention_grad(const Attention<T>& s, const T* gy, T* gq, T* gk, T* gv) {
  const int64_t most = rows_of(s);
  in_threads(s.heads.size(), 1, [&](int64_t from, int64_t to) {
    const std::unique_ptr<T[]> space(new T[most * (2 * s.m + s.e + 1)]);
    T* const inverse = space.get();
    T* const scores = inverse + most;
    T* const gp = scores + most * s.m;
    T* const scaled = gp + most * s.m;
    for (int64_t h = from; h < to; ++h) {
      T *const hq = gq + h * s.n * s.d, *const hk = gk + h * s.m * s.d, *const hv = gv + h * s.m * s.e;
      std::fill(hk, hk + s.m * s.d, T(0));
      std::fill(hv, hv + s.m * s.e, T(0));
      each_block(s, s.heads[h], 0, s.n, scores, inverse, [&](const Block<T>& b) {
        const T* const g = gy + (h * s.n + b.first) * s.e;
        std::copy(g, g + b.rows * s.e, scaled);
        for (int64_t r = 0; r < b.rows; ++r) scale_row(s.e, scaled + r * s.e, inverse[r]);
        multiply<T>(b.columns, s.e, b.rows, 1, {scores, b.columns, true}, {scaled, s.e}, 1, {hv, s.e});
        multiply<T>(b.rows, b.columns, s.e, 1, {g, s.e}, {b.head.v, s.v_row, true}, 0, {gp, b.columns});
        for (int64_t r = 0; r < b.rows; ++r)
          grad_row(b.columns, scores + r * b.columns, gp + r * b.columns, inverse[r], s.scale);
        multiply<T>(b.rows, s.d, b.columns, 1, {gp, b.columns}, {b.head.k, s.k_row}, 0, {hq + b.first * s.d, s.d});
        multiply<T>(b.columns, s.d, b.rows, 1, {gp, b.columns, true}, {b.head.q + b.first * s.q_row, s.q_row}, 1,
                    {hk, s.d});
      });
    }
  });
}

template void attention(const Attention<float>&, float*);
template void attention(const Attention<double>&, double*);
template void attention_grad(const Attention<float>&, const float*, float*, float*, float*);
template void attention_grad(const Attention<double>&, const double*, double*, double*, double*);

}  // namespace cg::kernels
