#include "kernels/row_copy.h"

#include <ATen/ops/empty.h>

#include <array>

#include "kernels/raw.h"
#include "kernels/simd.h"
#include "kernels/threads.h"

namespace cg::kernels {
namespace {

constexpr int kAxes = 6;         // arrays with more axes are left to ATen
constexpr int64_t kRow = 4;      // elements from which on a row is worth a loop of its own
constexpr int64_t kLong = 1024;  // from here on ATen's loop is as fast

// What is copied: rows of `width` adjacent elements, at places that the axes before the last one give.
struct Rows {
  int axes = 0;
  int64_t width = 1, count = 1;
  std::array<int64_t, kAxes> sizes{}, to{}, from{};
};

template <class T>
CG_INLINE void copy_each(int64_t n, int64_t width, const T* from, int64_t step, T* to, int64_t to_step) {
  for (int64_t i = 0; i < n; ++i, from += step, to += to_step) {
    CG_IVDEP
    for (int64_t k = 0; k < width; ++k) to[k] = from[k];
  }
}
CG_SIMD void copy_rows(int64_t n, int64_t width, const float* from, int64_t step, float* to, int64_t to_step) {
  copy_each(n, width, from, step, to, to_step);
}
CG_SIMD void copy_rows(int64_t n, int64_t width, const double* from, int64_t step, double* to, int64_t to_step) {
  copy_each(n, width, from, step, to, to_step);
}

// Whether the elements of the last axis are adjacent in both.
bool describe(const at::Tensor& to, const at::Tensor& from, Rows& r) {
  if (from.dim() < 2 || !raw(to, from) || to.stride(-1) != 1 || from.stride(-1) != 1) return false;
  r.width = from.size(-1);
  if (r.width < kRow || r.width >= kLong || from.numel() == 0) return false;
  for (int64_t a = 0; a + 1 < from.dim(); ++a) {
    const int64_t n = from.size(a), t = to.stride(a), f = from.stride(a);
    if (n == 1) continue;
    r.count *= n;
    if (r.axes && r.to[r.axes - 1] == n * t && r.from[r.axes - 1] == n * f) {  // the axis before continues this one
      r.sizes[r.axes - 1] *= n;
      r.to[r.axes - 1] = t;
      r.from[r.axes - 1] = f;
      continue;
    }
    if (r.axes == kAxes) return false;
    r.sizes[r.axes] = n;
    r.to[r.axes] = t;
    r.from[r.axes++] = f;
  }
  return r.axes > 0;
}

template <class T>
void copy_part(const Rows& r, T* to, const T* from, int64_t begin, int64_t end) {
  const int last = r.axes - 1;
  std::array<int64_t, kAxes> at{};
  for (int64_t a = last, rest = begin; a >= 0; --a) {
    at[a] = rest % r.sizes[a];
    rest /= r.sizes[a];
    to += at[a] * r.to[a];
    from += at[a] * r.from[a];
  }
  while (begin < end) {
    const int64_t n = std::min(end - begin, r.sizes[last] - at[last]);
    copy_rows(n, r.width, from, r.from[last], to, r.to[last]);
    begin += n;
    at[last] += n;
    to += n * r.to[last];
    from += n * r.from[last];
    for (int a = last; a > 0 && at[a] == r.sizes[a]; --a) {
      to += r.to[a - 1] - r.sizes[a] * r.to[a];
      from += r.from[a - 1] - r.sizes[a] * r.from[a];
      at[a] = 0;
      ++at[a - 1];
    }
  }
}

bool copied(const at::Tensor& to, const at::Tensor& from) {
  Rows r;
  if (!describe(to, from, r)) return false;
  with_dtype(from, [&]<class T>(T) {
    T* const y = to.mutable_data_ptr<T>();
    const T* const x = from.const_data_ptr<T>();
    in_threads(r.count, std::max<int64_t>(1, kGrain / r.width),
               [&](int64_t begin, int64_t end) { copy_part(r, y, x, begin, end); });
  });
  return true;
}

}  // namespace

at::Tensor contiguous(const at::Tensor& x) {
  if (x.dim() < 2 || !raw(x) || x.is_contiguous() || x.stride(-1) != 1) return x.contiguous();
  const at::Tensor y = at::empty(x.sizes(), x.options());
  if (!copied(y, x)) y.copy_(x);
  return y;
}

void copy_to(const at::Tensor& to, const at::Tensor& from) {
  if (!copied(to, from)) to.copy_(from);
}

}  // namespace cg::kernels
