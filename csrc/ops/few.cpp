#include "ops/few.h"

#include <ATen/ops/add.h>
#include <ATen/ops/div.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/sigmoid_backward.h>
#include <ATen/ops/square.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/tanh_backward.h>

#include <algorithm>
#include <array>

#include "ops/few_copy.h"

namespace cg::few {
namespace {

// Whether x consists of one number in memory, as the gradient of a sum does.
bool is_one_number(const at::Tensor& x) {
  if (x.numel() < 2 || !strided(x)) return false;
  for (int64_t i = 0; i < x.dim(); ++i)
    if (x.size(i) > 1 && x.stride(i) != 0) return false;
  return true;
}
// How many numbers of x are adjacent in memory, if such rows begin at equal distances (`pitch`); otherwise 0. Also 0
// for rows of less than 16 numbers, for which ATen takes less time.
int64_t row_of(const at::Tensor& x, int64_t& pitch) {
  int64_t row = 1, i = x.dim();
  for (; i > 0 && (x.size(i - 1) == 1 || x.stride(i - 1) == row); --i) row *= x.size(i - 1);
  pitch = row;
  int64_t rows = 1;
  for (; i > 0; --i) {
    if (x.size(i - 1) == 1) continue;
    if (rows == 1) pitch = x.stride(i - 1);
    if (x.stride(i - 1) != pitch * rows) return 0;
    rows *= x.size(i - 1);
  }
  constexpr int64_t kShort = 16;
  return rows == 1 || (pitch >= row && row >= kShort) ? row : 0;
}
// f of the elements, if one of a and b consists of one number, and the other one of rows. The loops of `map` read the
// number from a row of copies.
template <class F>
at::Tensor map_one_number(F f, const at::Tensor& a, const at::Tensor& b) {
  const bool of_a = is_one_number(a);
  const at::Tensor &one = of_a ? a : b, &all = of_a ? b : a;
  if (a.sizes() != b.sizes() || a.scalar_type() != b.scalar_type() || !strided(all) || !(of_a || is_one_number(b)) ||
      !nobody_watches())
    return {};
  int64_t pitch;
  const int64_t row = row_of(all, pitch);
  if (!row) return {};
  at::Tensor y = at::detail::empty_cpu(all.sizes(), all.scalar_type(), /*pin_memory=*/false, std::nullopt);
  kernels::with_dtype(y, [&]<class T>(T) {
    constexpr int64_t kCopies = 256;
    std::array<T, kCopies> copies;
    copies.fill(*one.const_data_ptr<T>());
    T* const to = y.mutable_data_ptr<T>();
    const T* const from = all.const_data_ptr<T>();
    kernels::in_threads(y.numel(), kernels::kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin, n; i < end; i += n) {
        const int64_t column = i % row;
        n = std::min({kCopies, row - column, end - i});
        const T *const x = from + i / row * pitch + column, *const c = copies.data();
        kernels::map_range(n, to + i, f, of_a ? c : x, of_a ? x : c);
      }
    });
  });
  return y;
}
// f of the elements, or `aten`'s result.
template <class F, class G>
at::Tensor map_two(F f, G aten, const at::Tensor& a, const at::Tensor& b) {
  at::Tensor y = map(f, a, b);
  if (!y.defined()) y = map_one_number(f, a, b);
  return y.defined() ? y : aten(a, b);
}

}  // namespace

at::Tensor contiguous(const at::Tensor& x) {
  if (!is_one_number(x) || !nobody_watches()) return x.contiguous();
  at::Tensor y = at::detail::empty_cpu(x.sizes(), x.scalar_type(), /*pin_memory=*/false, std::nullopt);
  kernels::with_dtype(y, [&]<class T>(T) { std::fill_n(y.mutable_data_ptr<T>(), y.numel(), *x.const_data_ptr<T>()); });
  return y;
}

at::Tensor add(const at::Tensor& a, const at::Tensor& b) {
  return map_two([](auto a, auto b) CG_EACH { return a + b; }, [](auto& a, auto& b) { return at::add(a, b); }, a, b);
}
at::Tensor sub(const at::Tensor& a, const at::Tensor& b) {
  at::Tensor y = map([](auto a, auto b) CG_EACH { return a - b; }, a, b);
  return y.defined() ? y : at::sub(a, b);
}
at::Tensor mul(const at::Tensor& a, const at::Tensor& b) {
  return map_two([](auto a, auto b) CG_EACH { return a * b; }, [](auto& a, auto& b) { return at::mul(a, b); }, a, b);
}
at::Tensor div(const at::Tensor& a, const at::Tensor& b) {
  at::Tensor y = map([](auto a, auto b) CG_EACH { return a / b; }, a, b);
  return y.defined() ? y : at::div(a, b);
}
at::Tensor neg(const at::Tensor& x) {
  at::Tensor y = map([](auto x) CG_EACH { return -x; }, x);
  return y.defined() ? y : at::neg(x);
}
at::Tensor square(const at::Tensor& x) {
  at::Tensor y = map([](auto x) CG_EACH { return x * x; }, x);
  return y.defined() ? y : at::square(x);
}
at::Tensor sigmoid_backward(const at::Tensor& gy, const at::Tensor& y) {
  return map_two([](auto g, auto y) CG_EACH { return g * (1 - y) * y; },
                 [](auto& g, auto& y) { return at::sigmoid_backward(g, y); }, gy, y);
}
at::Tensor tanh_backward(const at::Tensor& gy, const at::Tensor& y) {
  return map_two([](auto g, auto y) CG_EACH { return g * (1 - y * y); },
                 [](auto& g, auto& y) { return at::tanh_backward(g, y); }, gy, y);
}

}  // namespace cg::few
