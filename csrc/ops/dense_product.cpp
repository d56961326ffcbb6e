#include "ops/dense_product.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>

#include "kernels/dense.h"
#include "kernels/few_rows.h"
#include "kernels/raw.h"
#include "kernels/threads.h"

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
// From 4 million multiplications on the preparation of oneDNN, some 10 us, is a tenth of the time that it saves.
bool is_large(const Tensor& a, const Tensor& b) {
  constexpr int64_t kProducts = 1 << 22, kLeast = 16;
  const int64_t m = a.size(0), k = a.size(1), n = b.size(1);
  return std::min({m, k, n}) >= kLeast && m * k * n >= kProducts;
}

// Whether rows or columns lie one after the other.
bool has_rows(const Tensor& m) {
  const int64_t rows = m.size(0), columns = m.size(1), down = m.stride(0), right = m.stride(1);
  return (right == 1 && down >= columns) || (down == 1 && right >= rows);
}

// Whether a has rows of adjacent numbers and b rows (`turned`) or columns, and own loops take less time than MKL. (MKL
// multiplies by rows as fast, but first writes the bias into the result.)
bool by_own_loops(const Tensor& a, const Tensor& b, bool turned) {
  constexpr int64_t kProducts = 1 << 20;
  const int64_t m = a.size(0), k = a.size(1), n = b.size(1);
  return !mkl_is_slow() && m * k * n >= kProducts && kernels::dense_fits(m, k, n) && a.stride(1) == 1 &&
         a.stride(0) >= k && b.stride(turned) == 1 && b.stride(!turned) >= (turned ? n : k);
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

Tensor fast_product(const Tensor& a, const Tensor& b, const Tensor& bias) {
  if (a.dim() != 2 || b.dim() != 2 || a.scalar_type() != at::kFloat || !kernels::raw(a, b)) return {};
  if (a.size(1) != b.size(0)) return {};
  if (bias.defined() && !(kernels::raw(a, bias) && bias.is_contiguous() && bias.sizes() == b.sizes().slice(1)))
    return {};
  const bool few = few_rows(a.size(0), b.numel()), turned = !few && bias.defined() && by_own_loops(a, b, true);
  if (!few && (turned || by_own_loops(a, b, false))) {
    const int64_t rows = a.size(0), depth = a.size(1), columns = b.size(1);
    const Tensor y = at::empty({rows, columns}, a.options());
    kernels::dense({rows, depth, columns, a.const_data_ptr<float>(), a.stride(0), b.const_data_ptr<float>(),
                    b.stride(!turned), bias.defined() ? bias.const_data_ptr<float>() : nullptr,
                    y.mutable_data_ptr<float>(), columns, turned});
    return y;
  }
  if (!a.is_contiguous()) return {};
  if (few && b.t().is_contiguous()) {
    const Tensor y = at::empty({a.size(0), b.size(1)}, a.options());
    product_of_few_rows(a, b.t(), bias, y);
    return y;
  }
  if (!has_rows(b) || !is_large(a, b)) return {};
  const auto* op = faster();
  if (!op) return {};
  torch::jit::Stack stack{
      a, b.t(), bias.defined() ? c10::IValue(bias) : c10::IValue(), "none", c10::List<std::optional<at::Scalar>>(), ""};
  op->callBoxed(stack);
  return std::move(stack[0]).toTensor();
}

}  // namespace cg
