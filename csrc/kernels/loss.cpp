#include "kernels/loss.h"

#include <algorithm>
#include <vector>

#include "kernels/raw.h"
#include "kernels/simd.h"

namespace cg::kernels {
namespace {

// log(sum(exp(x))) over n adjacent numbers.
template <class T>
CG_INLINE T log_sum_exp(int64_t n, const T* x) {
  const T top = simd::max(n, x);
  return top +
         std::log(simd::sum<T>(n, [=](int64_t i) __attribute__((always_inline)) { return simd::exp(x[i] - top); }));
}
// log_sum_exp over classes whose numbers are `inner` apart, for `inner` adjacent positions at once. `top`: workspace of
// `inner` numbers.
template <class T>
CG_INLINE void log_sums_exp(int64_t classes, int64_t inner, const T* __restrict x, T* __restrict top, T* __restrict r) {
  std::copy(x, x + inner, top);
  for (int64_t c = 1; c < classes; ++c) {
    CG_IVDEP
    for (int64_t i = 0; i < inner; ++i) top[i] = x[c * inner + i] > top[i] ? x[c * inner + i] : top[i];
  }
  std::fill(r, r + inner, T(0));
  for (int64_t c = 0; c < classes; ++c) {
    CG_IVDEP
    for (int64_t i = 0; i < inner; ++i) r[i] += simd::exp(x[c * inner + i] - top[i]);
  }
  for (int64_t i = 0; i < inner; ++i) r[i] = top[i] + std::log(r[i]);
}
template <class T>
CG_INLINE void all_log_sums(int64_t batch, int64_t classes, int64_t inner, const T* x, T* top, T* r) {
  for (int64_t n = 0; n < batch; ++n, x += classes * inner, r += inner) {
    if (inner == 1)
      *r = log_sum_exp(classes, x);
    else
      log_sums_exp(classes, inner, x, top, r);
  }
}

// gx = g (exp(x - log_sum) - [class is the label]); positions without a gradient have label -1 and g 0.
template <class T>
CG_INLINE void gradient(int64_t batch, int64_t classes, int64_t inner, const T* __restrict x,
                        const T* __restrict log_sum, const T* __restrict g, const int64_t* __restrict labels,
                        T* __restrict gx) {
  for (int64_t n = 0; n < batch; ++n, log_sum += inner, g += inner, labels += inner) {
    if (inner == 1) {
      if (*labels < 0) {
        std::fill(gx, gx + classes, T(0));
      } else {
        const T s = *log_sum, k = *g;
        CG_IVDEP
        for (int64_t c = 0; c < classes; ++c) gx[c] = k * simd::exp(x[c] - s);
        gx[*labels] -= k;
      }
      x += classes;
      gx += classes;
      continue;
    }
    for (int64_t c = 0; c < classes; ++c, x += inner, gx += inner) {
      CG_IVDEP
      for (int64_t i = 0; i < inner; ++i) {
        const T p = g[i] * simd::exp(x[i] - log_sum[i]);
        gx[i] = labels[i] < 0 ? T(0) : labels[i] == c ? p - g[i] : p;
      }
    }
  }
}

#define CG_LOSS(T)                                                                                                  \
  CG_SIMD void log_sums_of(int64_t batch, int64_t classes, int64_t inner, const T* x, T* top, T* r) {               \
    all_log_sums(batch, classes, inner, x, top, r);                                                                 \
  }                                                                                                                 \
  CG_SIMD void gradient_of(int64_t batch, int64_t classes, int64_t inner, const T* x, const T* log_sum, const T* g, \
                           const int64_t* labels, T* gx) {                                                          \
    gradient(batch, classes, inner, x, log_sum, g, labels, gx);                                                     \
  }
CG_LOSS(float)
CG_LOSS(double)
#undef CG_LOSS

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
    std::vector<T> top(inner > 1 ? inner : 0);
    if (classes > 0) log_sums_of(batch, classes, inner, px, top.data(), sums);
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
    gradient_of(batch, classes, inner, x.const_data_ptr<T>(), log_sum.const_data_ptr<T>(), each.data(), labels.data(),
                gx.data_ptr<T>());
  });
}

}  // namespace cg::kernels
