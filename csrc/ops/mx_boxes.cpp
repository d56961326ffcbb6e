// Non-maximum suppression.
#include <ATen/ops/full.h>

#include <algorithm>

#include "kernels/trace.h"
#include "ops/functions.h"

namespace cg {
namespace {

struct BoxSuppression {
  double threshold = 0.5;
  static constexpr auto params() { return std::make_tuple(param("threshold", &BoxSuppression::threshold)); }
  static constexpr bool any_dtype = true;
  static constexpr Mask optional = in_bit(1);
  static constexpr Mask saves = 0;

  Tensor forward(const Tensor& boxes, const Tensor& classes) {
    TORCH_CHECK_VALUE(boxes.dim() == 2 && boxes.size(1) == 4, "box_suppression: boxes must have the shape (n, 4), not ",
                      boxes.sizes());
    const int64_t n = boxes.size(0);
    if (boxes.is_meta()) return at::full({n}, true, boxes.options().dtype(at::kBool));
    kernels::reads_values("box_suppression", boxes);
    const Tensor b = boxes.to(at::kCPU, at::kDouble).contiguous();
    const Tensor k = classes.defined() ? classes.to(at::kCPU, at::kDouble).contiguous() : Tensor();
    TORCH_CHECK_VALUE(!k.defined() || k.numel() == n, "box_suppression: ", n, " boxes, but ", k.numel(), " classes");
    const Tensor kept = at::full({n}, true, at::TensorOptions().dtype(at::kBool));
    const double* p = b.const_data_ptr<double>();
    const double* kind = k.defined() ? k.const_data_ptr<double>() : nullptr;
    bool* stays = kept.mutable_data_ptr<bool>();
    auto area = [](const double* q) { return std::max(q[2] - q[0], 0.0) * std::max(q[3] - q[1], 0.0); };
    for (int64_t i = 0; i < n; ++i) {
      if (!stays[i]) continue;
      const double *a = p + 4 * i, size = area(a);
      for (int64_t j = i + 1; j < n; ++j) {
        if (!stays[j] || (kind && kind[i] != kind[j])) continue;
        const double* c = p + 4 * j;
        const double w = std::min(a[2], c[2]) - std::max(a[0], c[0]), h = std::min(a[3], c[3]) - std::max(a[1], c[1]);
        if (w <= 0 || h <= 0) continue;
        stays[j] = w * h <= threshold * (size + area(c) - w * h);
      }
    }
    return kept.to(boxes.device());
  }
  template <class T>
  void backward(Ctx<T>&) {}
};
CG_OP(
    "box_suppression", BoxSuppression,
    "Which of boxes (n, 4), corners, best first, stay: those that no better one of the same class that stays overlaps "
    "by more than threshold. Not differentiated.")

}  // namespace
}  // namespace cg
