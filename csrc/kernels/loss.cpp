#include "kernels/loss.h"

#include <algorithm>
#include <vector>

#include "kernels/raw.h"
#include "kernels/simd.h"
#include "kernels/threads.h"

namespace cg::kernels {
namespace {

// log(sum(exp(x))) over n adjacent numbers.
template <class T>
CG_INLINE T log_sum_exp(int64_t n, const T* x) {
  const T top = simd::max(n, x);
  return top +
         std::log(simd::sum<T>(n, [=](int64_t i) __attribute__((always_inline)) { return simd::exp(x[i] - top); }));
}
constexpr int64_t kPositions = 1024;  // whose classes fit into a cache

// Adjacent positions of one image: x[c * pitch + i] is the number of class c at position i.
struct Positions {
  int64_t classes, pitch, count;
};
// log_sum_exp over the classes for all positions at once.
template <class T>
CG_INLINE void log_sums_exp(const Positions& p, const T* __restrict x, T* __restrict r) {
  T top[kPositions];
  std::copy(x, x + p.count, top);
  for (int64_t c = 1; c < p.classes; ++c) {
    const T* const row = x + c * p.pitch;
    CG_IVDEP
    for (int64_t i = 0; i < p.count; ++i) top[i] = row[i] > top[i] ? row[i] : top[i];
  }
  std::fill(r, r + p.count, T(0));
  for (int64_t c = 0; c < p.classes; ++c) {
    const T* const row = x + c * p.pitch;
    CG_IVDEP
    for (int64_t i = 0; i < p.count; ++i) r[i] += simd::exp(row[i] - top[i]);
  }
  for (int64_t i = 0; i < p.count; ++i) r[i] = top[i] + std::log(r[i]);
}

// gx = g (exp(x - log_sum) - [class is the label]); positions without a gradient have label -1 and g 0.
template <class T>
CG_INLINE void gradient_of_row(int64_t classes, const T* __restrict x, T log_sum, T g, int64_t label,
                               T* __restrict gx) {
  if (label < 0) return std::fill(gx, gx + classes, T(0));
  CG_IVDEP
  for (int64_t c = 0; c < classes; ++c) gx[c] = g * simd::exp(x[c] - log_sum);
  gx[label] -= g;
}
template <class T>
CG_INLINE void gradient(const Positions& p, const T* __restrict x, const T* __restrict log_sum, const T* __restrict g,
                        const int64_t* __restrict labels, T* __restrict gx) {
  for (int64_t c = 0; c < p.classes; ++c, x += p.pitch, gx += p.pitch) {
    CG_IVDEP
    for (int64_t i = 0; i < p.count; ++i) {
      const T q = g[i] * simd::exp(x[i] - log_sum[i]);
      gx[i] = labels[i] < 0 ? T(0) : labels[i] == c ? q - g[i] : q;
    }
  }
}

#define CG_LOSS(T)                                                                                              \
  CG_SIMD void log_sums_of(const Positions& p, const T* x, T* r) {                                              \
    if (p.pitch == 1)                                                                                           \
      *r = log_sum_exp(p.classes, x);                                                                           \
    else                                                                                                        \
      log_sums_exp(p, x, r);                                                                                    \
  }                                                                                                             \
  CG_SIMD void gradient_of(const Positions& p, const T* x, const T* log_sum, const T* g, const int64_t* labels, \
                           T* gx) {                                                                             \
    if (p.pitch == 1)                                                                                           \
      gradient_of_row(p.classes, x, *log_sum, *g, *labels, gx);                                                 \
    else                                                                                                        \
      gradient(p, x, log_sum, g, labels, gx);                                                                   \
  }
CG_LOSS(float)
CG_LOSS(double)
#undef CG_LOSS

// Calls loop(positions, index of their first number in x, index among all positions) for the positions of each image,
// in threads.
template <class F>
void each_positions(int64_t batch, int64_t classes, int64_t inner, F&& loop) {
  const int64_t parts = (inner + kPositions - 1) / kPositions, work = classes * std::min(inner, kPositions);
  in_threads(batch * parts, kGrain / std::max<int64_t>(1, work) + 1, [&](int64_t from, int64_t to) {
    for (int64_t k = from; k < to; ++k) {
      const int64_t n = k / parts, i = k % parts * kPositions;
      loop(Positions{classes, inner, std::min(kPositions, inner - i)}, n * classes * inner + i, n * inner + i);
    }
  });
}

// Converts labels to class indices, with -1 for ignored labels.
void read_labels(const at::Tensor& t, int64_t ignore, int64_t classes, int64_t* labels) {
  auto read = [&](const auto* from) {
    for (int64_t i = 0, n = t.numel(); i < n; ++i) {
      const int64_t v = from[i];
      labels[i] = v == ignore ? -1 : v < 0 ? v + classes : v;
      TORCH_CHECK_INDEX(v == ignore || (labels[i] >= 0 && labels[i] < classes), "softmax_cross_entropy: label ", v,
                        " is out of range for ", classes, " classes");
    }
  };
  if (t.scalar_type() == at::kInt)
    read(t.const_data_ptr<int32_t>());
  else
    read(t.const_data_ptr<int64_t>());
}

// The loops read as many numbers. In backward an array may be another one than in forward: a program can replace it.
void check_size(const char* name, const at::Tensor& t, int64_t n) {
  TORCH_CHECK_VALUE(!t.defined() || t.numel() == n, "softmax_cross_entropy: ", name, " must have ", n,
                    " numbers, not the shape ", t.sizes());
}

}  // namespace

double softmax_cross_entropy(const CrossEntropy& p, const at::Tensor& x, const at::Tensor& t, const at::Tensor& weight,
                             const at::Tensor& log_sum, const at::Tensor& loss) {
  const int64_t batch = x.size(0), classes = x.size(1), inner = x.size(2), count = batch * inner;
  check_size("labels", t, count);
  check_size("class_weight", weight, classes);
  std::vector<int64_t> labels(count);
  read_labels(t, p.ignore_label, classes, labels.data());
  return with_dtype(x, [&]<class T>(T) {
    const T *const px = x.const_data_ptr<T>(), *const w = weight.defined() ? weight.const_data_ptr<T>() : nullptr;
    T *const sums = log_sum.data_ptr<T>(), *const out = loss.data_ptr<T>();
    if (classes > 0)
      each_positions(batch, classes, inner, [&](const Positions& part, int64_t first, int64_t position) {
        log_sums_of(part, px + first, sums + position);
      });
    double total = 0;
    int64_t valid = 0;
    for (int64_t n = 0, j = 0; n < batch; ++n)
      for (int64_t i = 0; i < inner; ++i, ++j) {
        const int64_t label = labels[j];
        T one = 0;
        if (label >= 0) {
          one = sums[j] - px[(n * classes + label) * inner + i];
          if (w) one *= w[label];
          ++valid;
        }
        if (p.mean)
          total += one;
        else
          out[j] = one;
      }
    const double coefficient = p.mean ? 1.0 / std::max<int64_t>(p.normalize ? valid : batch, 1) : 1.0;
    if (p.mean) *out = static_cast<T>(total * coefficient);
    return coefficient;
  });
}

void softmax_cross_entropy_grad(const CrossEntropy& p, double coefficient, const at::Tensor& x, const at::Tensor& t,
                                const at::Tensor& weight, const at::Tensor& log_sum, const at::Tensor& gy,
                                const at::Tensor& gx) {
  const int64_t batch = x.size(0), classes = x.size(1), inner = x.size(2), count = batch * inner;
  check_size("labels", t, count);
  check_size("class_weight", weight, classes);
  check_size("the result of forward", log_sum, count);
  check_size("the gradient", gy, p.mean ? 1 : count);
  std::vector<int64_t> labels(count);
  read_labels(t, p.ignore_label, classes, labels.data());
  with_dtype(x, [&]<class T>(T) {
    const T *const g = gy.const_data_ptr<T>(), *const w = weight.defined() ? weight.const_data_ptr<T>() : nullptr;
    std::vector<T> each(count);
    for (int64_t j = 0; j < count; ++j) {
      const int64_t label = labels[j];
      each[j] = label < 0 ? T(0) : static_cast<T>(g[p.mean ? 0 : j] * coefficient) * (w ? w[label] : T(1));
    }
    const T *const px = x.const_data_ptr<T>(), *const sums = log_sum.const_data_ptr<T>();
    T* const to = gx.data_ptr<T>();
    each_positions(batch, classes, inner, [&](const Positions& part, int64_t first, int64_t i) {
      gradient_of(part, px + first, sums + i, each.data() + i, labels.data() + i, to + first);
    });
  });
}

}  // namespace cg::kernels
