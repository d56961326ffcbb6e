#include "ops/dense_product.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>

#include <array>

#include "kernels/dense.h"
#include "kernels/few_rows.h"
#include "kernels/raw.h"
#include "kernels/tape.h"
#include "kernels/threads.h"
#include "kernels/views.h"

namespace cg {

bool mkl_is_slow() {
#if defined(__x86_64__)
  static const bool slow = [] {
    __builtin_cpu_init();
    return kernels::simd_level() >= 4 && __builtin_cpu_is("amd");
  }();
  return slow;
#else
  return false;
#endif
}

namespace {

// torch's function of oneDNN for x wᵀ + bias, if MKL is slower.
const c10::OperatorHandle* faster() {
  static const auto found = []() -> std::optional<c10::OperatorHandle> {
    if (!mkl_is_slow()) return {};
    const auto op = c10::Dispatcher::singleton().findSchema({"mkldnn::_linear_pointwise", ""});
    return op && op->hasKernelForDispatchKey(c10::DispatchKey::CPU) ? op : std::nullopt;
  }();
  return found ? &*found : nullptr;
}
// How b (depth, columns) lies in memory, which may hold its transpose.
struct Factor {
  int64_t depth, columns, down, right;  // the last two: from a row to the next, and from a column
  Factor(const Tensor& b, bool turned)
      : depth(b.size(turned)), columns(b.size(!turned)), down(b.stride(turned)), right(b.stride(!turned)) {}
  int64_t products(const Tensor& a) const { return a.size(0) * depth * columns; }
  bool has_rows() const { return right == 1 && down >= columns; }  // of adjacent numbers
  bool has_columns() const { return down == 1 && right >= depth; }
  bool is_whole_columns() const { return (down == 1 || depth == 1) && (right == depth || columns == 1); }
};

// From 4 million multiplications on the preparation of oneDNN, some 10 us, is a tenth of the time that it saves.
bool is_large(const Tensor& a, const Factor& b) {
  constexpr int64_t kProducts = 1 << 22, kLeast = 16;
  return std::min({a.size(0), b.depth, b.columns}) >= kLeast && b.products(a) >= kProducts;
}

// Whether a has rows of adjacent numbers and b rows or columns, and own loops take less time than MKL. (MKL multiplies
// by rows as fast, but first writes the bias into the result.)
bool by_own_loops(const Tensor& a, const Factor& b, bool bias) {
  constexpr int64_t kProducts = 1 << 20;
  return !mkl_is_slow() && b.products(a) >= kProducts && kernels::dense_fits(a.size(0), b.depth, b.columns) &&
         a.stride(1) == 1 && a.stride(0) >= b.depth && (b.has_columns() || (bias && b.has_rows()));
}

// Whether b has rows, and own loops take less time than the preparations of ATen and MKL: 16 rows of 64 by 200 others
// and a bias take 3.8 us instead of 5.6. These loops add up in one order, so a long sum would be less exact.
bool is_small(const Tensor& a, const Factor& b) {
  constexpr int64_t kProducts = 1 << 19, kDepth = 1 << 8;
  const int64_t n = b.products(a);
  return kernels::few_rows_fit() && n > 0 && n <= kProducts && b.depth <= kDepth && b.has_rows();
}

// Whether b is small enough to be turned for the same loops, on the stack. A program whose matrices are all so small
// never calls MKL, whose code takes 1.4 MB.
constexpr int64_t kTiny = 1 << 10;
bool is_tiny(const Tensor& a, const Factor& b) {
  constexpr int64_t kProducts = 1 << 14;
  const int64_t n = b.products(a);
  return kernels::few_rows_fit() && n > 0 && n <= kProducts && b.depth * b.columns <= kTiny;
}

}  // namespace

// MKL multiplies 4 rows of 4,608 by 512 others in 0.7 ms, own loops in 0.4; 16 rows in 1.15 ms, own loops in 0.6. One
// row takes 0.34 ms with both. Of a small matrix MKL first makes a copy: 16 rows of 64 by 256 others take 8.5 us, own
// loops 6. On AMD's processors some orders of the same matrices take MKL several times as long.
bool few_rows(int64_t rows, int64_t numbers) {
  constexpr int64_t kLarge = 1 << 18, kSmall = 1 << 10, kFull = 12;  // kFull: rows that leave few lanes empty
  return rows > 1 && rows <= kernels::kMostRows && numbers >= (rows < kFull ? kLarge : kSmall) &&
         kernels::few_rows_fit();
}
void product_of_few_rows(const Tensor& x, const Tensor& w, const Tensor& bias, const Tensor& y) {
  const float* const from = x.const_data_ptr<float>();
  const bool rows = x.is_contiguous();
  kernels::few_rows({rows ? from : nullptr, rows ? nullptr : from, w.const_data_ptr<float>(),
                     bias.defined() ? bias.const_data_ptr<float>() : nullptr, y.mutable_data_ptr<float>(), x.size(0),
                     w.size(0), w.size(1), y.stride(0), y.stride(1)});
}

Tensor fast_product(const Tensor& a, const Tensor& given, const Tensor& bias, bool turned) {
  if (a.dim() != 2 || given.dim() != 2 || a.scalar_type() != at::kFloat || !kernels::raw(a, given)) return {};
  const Factor b(given, turned);
  if (a.size(1) != b.depth) return {};
  if (bias.defined() &&
      !(kernels::raw(a, bias) && bias.is_contiguous() && bias.dim() == 1 && bias.numel() == b.columns))
    return {};
  const auto numbers = [&] { return bias.defined() ? bias.const_data_ptr<float>() : nullptr; };
  const auto result = [&] { return few::empty({a.size(0), b.columns}, a); };
  const bool few = few_rows(a.size(0), given.numel());
  if (!few && by_own_loops(a, b, bias.defined())) {
    const bool rows = bias.defined() && b.has_rows();
    const Tensor y = result();
    kernels::dense({a.size(0), b.depth, b.columns, a.const_data_ptr<float>(), a.stride(0),
                    given.const_data_ptr<float>(), rows ? b.down : b.right, numbers(), y.mutable_data_ptr<float>(),
                    b.columns, rows});
    return y;
  }
  if (is_small(a, b)) {
    const Tensor y = result();
    kernels::tape::multiply<float>({a.size(0), b.columns, b.depth, a.const_data_ptr<float>(),
                                    given.const_data_ptr<float>(), numbers(), y.mutable_data_ptr<float>(), a.stride(0),
                                    a.stride(1), b.down, 0, 1, b.columns, 1});
    return y;
  }
  if (!a.is_contiguous()) return {};
  if (few && b.is_whole_columns()) {
    const Tensor y = result();
    product_of_few_rows(a, turned ? given : given.t(), bias, y);
    return y;
  }
  if (turned && b.has_columns() && is_tiny(a, b)) {
    std::array<float, kTiny> rows;
    kernels::tape::transpose(b.columns, b.depth, given.const_data_ptr<float>(), b.right, rows.data(), b.columns);
    const Tensor y = result();
    kernels::tape::multiply<float>({a.size(0), b.columns, b.depth, a.const_data_ptr<float>(), rows.data(), numbers(),
                                    y.mutable_data_ptr<float>(), a.stride(0), a.stride(1), b.columns, 0, 1, b.columns,
                                    1});
    return y;
  }
  if (!(b.has_rows() || b.has_columns()) || !is_large(a, b)) return {};
  const auto* op = faster();
  if (!op) return {};
  torch::jit::Stack stack{a,
                          turned ? given : given.t(),
                          bias.defined() ? c10::IValue(bias) : c10::IValue(),
                          "none",
                          c10::List<std::optional<at::Scalar>>(),
                          ""};
  op->callBoxed(stack);
  return std::move(stack[0]).toTensor();
}

Tensor product_of_rows(const Tensor& a, const Tensor& b) {
  constexpr int64_t kProducts = 1 << 14;
  const Tensor turned = a.dim() == 2 ? kernels::turned(a) : a.transpose(0, 1);
  if (a.dim() == 2 && a.numel() * b.size(-1) <= kProducts)
    if (Tensor y = fast_product(turned, b); y.defined()) return y;
  if (a.dim() != 2 || b.dim() != 2 || a.size(0) != b.size(0) || !few::ordinary(a) || !few::ordinary(b) ||
      a.scalar_type() != b.scalar_type() || !few::nobody_watches())
    return at::matmul(turned, b);
  // addmm_ also adds the products of further rows (ProductOfRows), so its code is in memory; at::matmul would bring in
  // 0.4 MB more of torch's code.
  Tensor y = few::empty({a.size(1), b.size(1)}, a);
  y.addmm_(turned, b, /*beta=*/0);
  return y;
}

}  // namespace cg
