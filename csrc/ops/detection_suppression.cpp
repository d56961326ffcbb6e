// Non-maximum suppression as nnabla and ONNX define it.
#include <ATen/ops/empty.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/trace.h"
#include "ops/detection.h"

namespace cg {
namespace {

using namespace detection;

struct NmsDetection2d {
  double thresh = 0.5, nms = 0.45;
  bool per_class = true;
  static constexpr auto params() {
    using Op = NmsDetection2d;
    return std::make_tuple(param("thresh", &Op::thresh), param("nms", &Op::nms), param("per_class", &Op::per_class));
  }
  static constexpr Mask saves = 0;

  // x (boxes, columns): x, y, w, h, objectness, probabilities of the classes
  void suppress(float* y, int64_t n, int64_t columns) const {
    std::vector<Box<float>> boxes;
    const auto kept = [&](float p) { return p < static_cast<float>(thresh) ? 0.0f : p; };
    for (float* row = y; row < y + n * columns; row += columns) {
      boxes.push_back(Box<float>::measured(row));
      row[4] = kept(row[4]);
      for (int64_t k = 5; k < columns; ++k) row[k] = kept(row[4] * row[k]);
    }
    for (int64_t k = 5; per_class && k < columns; ++k) {
      auto order = numbers_to(n);
      std::erase_if(order, [&](int64_t i) { return y[i * columns + k] == 0; });
      rank(order, y + k, columns);
      std::vector<Box<float>> best;
      std::vector<float> before;
      for (int64_t i : order) best.push_back(boxes[i]), before.push_back(std::exchange(y[i * columns + k], 0));
      for (int64_t i : Suppression<float>{static_cast<float>(nms)}(best)) y[order[i] * columns + k] = before[i];
    }
    if (per_class) return;
    auto order = numbers_to(n);
    rank(order, y + 4, columns);
    Boxes<float> better;
    for (int64_t i : order) {
      float* row = y + i * columns;
      if (better.cover(boxes[i], nms)) std::fill(row + 4, row + columns, 0.0f);
      better.add(boxes[i]);  // a suppressed box suppresses others, too
    }
  }
  Tensor forward(const Tensor& x) {
    TORCH_CHECK_VALUE(x.dim() == 3 && x.size(2) > 5, "nms_detection2d: x must be (batch, boxes, 5 + classes), not ",
                      x.sizes());
    if (x.is_meta()) return at::empty(x.sizes(), x.options());
    kernels::reads_values("nms_detection2d", x);
    const Tensor y = host(x, at::kFloat).clone();
    float* out = y.mutable_data_ptr<float>();
    for (int64_t b = 0; b < x.size(0); ++b) suppress(out + b * x.size(1) * x.size(2), x.size(1), x.size(2));
    return y.to(x.options());
  }
  template <class T>
  void backward(Ctx<T>&) {}
};
CG_OP(
    "nms_detection2d", NmsDetection2d,
    "Detections (batch, boxes, 5 + classes) with zero probability where they are below thresh or overlap a better one "
    "by more than nms. Not differentiated.")

struct OnnxNonMaxSuppression {
  bool center_point_box = false;
  int64_t max_output_boxes = 0;
  double iou_threshold = 0, score_threshold = 0;
  static constexpr auto params() {
    using Op = OnnxNonMaxSuppression;
    return std::make_tuple(param("center_point_box", &Op::center_point_box),
                           param("max_output_boxes", &Op::max_output_boxes), param("iou_threshold", &Op::iou_threshold),
                           param("score_threshold", &Op::score_threshold));
  }
  static constexpr Mask saves = 0;
  Tensor forward(const Tensor& boxes, const Tensor& scores) {
    TORCH_CHECK_VALUE(boxes.dim() == 3 && boxes.size(2) == 4 && scores.dim() == 3 && scores.size(0) == boxes.size(0) &&
                          scores.size(2) == boxes.size(1),
                      "onnx_non_max_suppression: boxes of shape ", boxes.sizes(), " and scores of shape ",
                      scores.sizes(), " are not (batch, boxes, 4) and (batch, classes, boxes)");
    const auto options = boxes.options().dtype(at::kLong);
    if (boxes.is_meta()) return at::empty({0, 3}, options);
    kernels::reads_values("onnx_non_max_suppression", boxes, scores);
    const Tensor all = host(boxes, at::kFloat), marks = host(scores, at::kFloat);
    const int64_t n = boxes.size(1), classes = scores.size(1);
    std::vector<int64_t> found;
    for (int64_t b = 0; b < boxes.size(0); ++b) {
      std::vector<Box<float>> here;
      for (int64_t i = 0; i < n; ++i) {
        const float* r = all.const_data_ptr<float>() + (b * n + i) * 4;
        const float sides[] = {std::min(r[1], r[3]), std::min(r[0], r[2]), std::max(r[1], r[3]), std::max(r[0], r[2])};
        here.push_back(center_point_box ? Box<float>::measured(r) : Box<float>::corners(sides));
      }
      for (int64_t k = 0; k < classes; ++k) {
        const float* score = marks.const_data_ptr<float>() + (b * classes + k) * n;
        auto order = numbers_to(n);
        std::erase_if(order, [&](int64_t i) { return score[i] < static_cast<float>(score_threshold); });
        rank(order, score);
        std::vector<Box<float>> best;
        for (int64_t i : order) best.push_back(here[i]);
        const Suppression<float> stay{static_cast<float>(iou_threshold), 0, max_output_boxes};
        for (int64_t i : stay(best)) found.insert(found.end(), {b, k, order[i]});
      }
    }
    const Tensor r = at::empty({static_cast<int64_t>(found.size()) / 3, 3}, at::TensorOptions(at::kLong));
    std::copy(found.begin(), found.end(), r.mutable_data_ptr<int64_t>());
    return r.to(options);
  }
  template <class T>
  void backward(Ctx<T>&) {}
};
CG_OP("onnx_non_max_suppression", OnnxNonMaxSuppression,
      "The indices (batch, class, box) of the boxes selected for each class, the best first; none overlaps a better "
      "one by more than iou_threshold. Not differentiated.")

}  // namespace
}  // namespace cg
