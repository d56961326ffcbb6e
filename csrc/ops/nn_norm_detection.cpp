// Suppression of overlapping boxes.
#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "kernels/trace.h"
#include "ops/functions.h"

namespace cg {
namespace {

struct Box {
  float x0, y0, x1, y1;
  static Box centered(float x, float y, float w, float h) { return {x - w / 2, y - h / 2, x + w / 2, y + h / 2}; }
  static Box corners(float ya, float xa, float yb, float xb) {
    return {std::min(xa, xb), std::min(ya, yb), std::max(xa, xb), std::max(ya, yb)};
  }
  float area() const { return (x1 - x0) * (y1 - y0); }
};
// Intersection over union.
float overlap(const Box& a, const Box& b) {
  const float w = std::min(a.x1, b.x1) - std::max(a.x0, b.x0), h = std::min(a.y1, b.y1) - std::max(a.y0, b.y0);
  return w <= 0 || h <= 0 ? 0 : w * h / (a.area() + b.area() - w * h);
}
// Numbers 0 ... n - 1, those of the largest scores first.
std::vector<int64_t> ranking(int64_t n, const float* scores, int64_t step) {
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [=](int64_t i, int64_t j) { return scores[i * step] > scores[j * step]; });
  return order;
}
Tensor plain(const Tensor& t) { return t.to(at::kCPU, at::kFloat).contiguous(); }

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
    std::vector<Box> boxes;
    for (int64_t i = 0; i < n; ++i) {
      float* row = y + i * columns;
      boxes.push_back(Box::centered(row[0], row[1], row[2], row[3]));
      auto kept = [&](float p) { return p < static_cast<float>(thresh) ? 0.0f : p; };
      row[4] = kept(row[4]);
      for (int64_t k = 5; k < columns; ++k) row[k] = kept(row[4] * row[k]);
    }
    const int64_t last = per_class ? columns : 5;
    for (int64_t k = per_class ? 5 : 4; k < last; ++k) {
      const auto order = ranking(n, y + k, columns);
      for (int64_t i = 0; i < n; ++i) {
        if (per_class && y[order[i] * columns + k] == 0) continue;  // of its objects only those that are left suppress
        for (int64_t j = i + 1; j < n; ++j) {
          float* row = y + order[j] * columns;
          if (row[k] == 0 || overlap(boxes[order[i]], boxes[order[j]]) <= static_cast<float>(nms)) continue;
          std::fill(row + k, per_class ? row + k + 1 : row + columns, 0.0f);
        }
      }
    }
  }
  Tensor forward(const Tensor& x) {
    TORCH_CHECK_VALUE(x.dim() == 3 && x.size(2) > 5, "nms_detection2d: x must be (batch, boxes, 5 + classes), not ",
                      x.sizes());
    if (x.is_meta()) return at::empty(x.sizes(), x.options());
    kernels::reads_values("nms_detection2d", x);
    const Tensor y = plain(x).clone();
    float* out = y.mutable_data_ptr<float>();
    for (int64_t b = 0; b < x.size(0); ++b) suppress(out + b * x.size(1) * x.size(2), x.size(1), x.size(2));
    return y.to(x.options());
  }
  template <class T>
  void backward(Ctx<T>&) {}
};
CG_OP(
    "nn_nms_detection2d", NmsDetection2d,
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
    const Tensor all = plain(boxes), marks = plain(scores);
    const int64_t n = boxes.size(1), classes = scores.size(1);
    std::vector<int64_t> found;
    for (int64_t b = 0; b < boxes.size(0); ++b) {
      std::vector<Box> here;
      for (int64_t i = 0; i < n; ++i) {
        const float* r = all.const_data_ptr<float>() + (b * n + i) * 4;
        here.push_back(center_point_box ? Box::centered(r[0], r[1], r[2], r[3]) : Box::corners(r[0], r[1], r[2], r[3]));
      }
      for (int64_t k = 0; k < classes; ++k) {
        const float* score = marks.const_data_ptr<float>() + (b * classes + k) * n;
        std::vector<int64_t> chosen;
        for (int64_t i : ranking(n, score, 1)) {
          if (static_cast<int64_t>(chosen.size()) >= max_output_boxes) break;
          if (score[i] < static_cast<float>(score_threshold)) continue;
          auto covers = [&](int64_t j) { return overlap(here[j], here[i]) > static_cast<float>(iou_threshold); };
          if (std::none_of(chosen.begin(), chosen.end(), covers)) chosen.push_back(i);
        }
        for (int64_t i : chosen) found.insert(found.end(), {b, k, i});
      }
    }
    const Tensor r = at::empty({static_cast<int64_t>(found.size()) / 3, 3}, at::TensorOptions(at::kLong));
    std::copy(found.begin(), found.end(), r.mutable_data_ptr<int64_t>());
    return r.to(options);
  }
  template <class T>
  void backward(Ctx<T>&) {}
};
CG_OP("nn_onnx_non_max_suppression", OnnxNonMaxSuppression,
      "(batch, class, box) of the boxes chosen for each class, best first; none overlaps a better one by more than "
      "iou_threshold. Not differentiated.")

}  // namespace
}  // namespace cg
