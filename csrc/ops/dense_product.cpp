#include "ops/dense_product.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include "kernels/raw.h"
#include "kernels/threads.h"

namespace cg {
namespace {

// torch's function of oneDNN for x wᵀ + bias, if MKL, which at::matmul calls, is slower: on AMD's processors MKL does
// not use AVX-512.
const c10::OperatorHandle* faster() {
#if defined(__x86_64__)
  static const auto found = []() -> std::optional<c10::OperatorHandle> {
    __builtin_cpu_init();
    if (kernels::simd_level() < 4 || !__builtin_cpu_is("amd")) return {};
    const auto op = c10::Dispatcher::singleton().findSchema({"mkldnn::_linear_pointwise", ""});
    return op && op->hasKernelForDispatchKey(c10::DispatchKey::CPU) ? op : std::nullopt;
  }();
  return found ? &*found : nullptr;
#else
  return nullptr;
#endif
}
// From 4 million multiplications on the preparation of oneDNN, some 10 us, is a tenth of the time that it saves.
bool is_large(const Tensor& a, const Tensor& b) {
  constexpr int64_t kProducts = 1 << 22, kLeast = 16;
  const int64_t m = a.size(0), k = a.size(1), n = b.size(1);
  return std::min({m, k, n}) >= kLeast && k == b.size(0) && m * k * n >= kProducts;
}

// Whether rows or columns lie one after the other, which oneDNN expects.
bool has_rows(const Tensor& m) {
  const int64_t rows = m.size(0), columns = m.size(1), down = m.stride(0), right = m.stride(1);
  return (right == 1 && down >= columns) || (down == 1 && right >= rows);
}

}  // namespace

Tensor fast_product(const Tensor& a, const Tensor& b, const Tensor& bias) {
  if (a.dim() != 2 || b.dim() != 2 || a.scalar_type() != at::kFloat || !kernels::raw(a, b)) return {};
  if (!a.is_contiguous() || !has_rows(b) || !is_large(a, b)) return {};
  if (bias.defined() && !(kernels::raw(a, bias) && bias.is_contiguous() && bias.sizes() == b.sizes().slice(1)))
    return {};
  const auto* op = faster();
  if (!op) return {};
  torch::jit::Stack stack{
      a, b.t(), bias.defined() ? c10::IValue(bias) : c10::IValue(), "none", c10::List<std::optional<at::Scalar>>(), ""};
  op->callBoxed(stack);
  return std::move(stack[0]).toTensor();
}

}  // namespace cg
