// Boxes from the outputs of detectors: single-shot detection, and the regions of a proposal network.
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include "kernels/trace.h"
#include "ops/detection.h"

namespace cg {
namespace {

using namespace detection;

struct MultiboxDetection {
  double threshold = 0.01, nms_threshold = 0.5;
  bool clip = true, force_suppress = false;
  int64_t topk = -1;
  Tensor variances;
  static constexpr auto params() {
    using Op = MultiboxDetection;
    return std::make_tuple(required("variances", &Op::variances), param("clip", &Op::clip),
                           param("threshold", &Op::threshold), param("nms_threshold", &Op::nms_threshold),
                           param("force_suppress", &Op::force_suppress), param("topk", &Op::topk));
  }
  static constexpr bool any_dtype = true;
  static constexpr Mask saves = 0;

  // The box that the offsets `moves` (4) from an anchor (4) lead to.
  template <class T>
  void place(const T* anchor, const T* moves, const float* v, T* to) const {
    for (int64_t k = 0; k < 2; ++k) {
      const T size = anchor[k + 2] - anchor[k];
      const T middle = static_cast<T>(static_cast<T>(moves[k] * static_cast<T>(v[k])) * size) +
                       static_cast<T>(anchor[k] + anchor[k + 2]) / 2;
      const T half = static_cast<T>(std::exp(static_cast<T>(moves[k + 2] * static_cast<T>(v[k + 2])))) * size / 2;
      to[k] = middle - half, to[k + 2] = middle + half;
    }
    if (clip)
      for (int64_t k = 0; k < 4; ++k) to[k] = std::max(T(0), std::min(T(1), to[k]));
  }
  // One image: scores (classes, n), moves (n, 4); y (n, 6) is full of -1.
  template <class T>
  void detect(const T* scores, const T* moves, const T* anchors, const float* v, int64_t classes, int64_t n,
              T* y) const {
    std::vector<T> rows;
    const double least = static_cast<float>(threshold), limit = static_cast<float>(nms_threshold);
    for (int64_t i = 0; i < n; ++i) {
      T score = -1;
      int64_t kind = 0;
      for (int64_t k = 1; k < classes; ++k)
        if (scores[k * n + i] > score) score = scores[k * n + i], kind = k;
      if (kind == 0 || static_cast<double>(score) < least) continue;
      T box[4];
      place(anchors + i * 4, moves + i * 4, v, box);
      rows.insert(rows.end(), {static_cast<T>(kind - 1), score, box[0], box[1], box[2], box[3]});
    }
    std::copy(rows.begin(), rows.end(), y);
    if (limit <= 0 || limit > 1) return;
    const int64_t count = rows.size() / 6, best = topk > 0 ? std::min(topk, count) : count;
    auto order = numbers_to(count);
    rank(order, rows.data() + 1, 6);
    std::vector<Box<T>> boxes;
    std::vector<float> kinds;
    for (int64_t i = 0; i < count; ++i) {
      if (i >= best) {
        y[i * 6] = -1;
        continue;
      }
      std::copy_n(rows.data() + order[i] * 6, 6, y + i * 6);
      boxes.push_back(Box<T>::corners(y + i * 6 + 2));
      if (!force_suppress) kinds.push_back(y[i * 6]);
    }
    const Wide<T> below =
        std::nextafter(static_cast<Wide<T>>(limit), Wide<T>(0));  // an overlap equal to the limit suppresses, too
    auto kept = Suppression<T>{below}(boxes, kinds);
    kept.push_back(best);
    for (int64_t i = 0, k = 0; i < best; ++i) i == kept[k] ? void(++k) : void(y[i * 6] = -1);
  }
  Tensor forward(const Tensor& cls_prob, const Tensor& loc_pred, const Tensor& anchor) {
    TORCH_CHECK_VALUE(cls_prob.dim() == 3 && loc_pred.dim() == 2 && anchor.dim() == 3 && anchor.size(0) == 1 &&
                          anchor.size(1) == cls_prob.size(2) && anchor.size(2) == 4 &&
                          loc_pred.size(0) == cls_prob.size(0) && loc_pred.size(1) == cls_prob.size(2) * 4,
                      "multibox_detection: cls_prob ", cls_prob.sizes(), ", loc_pred ", loc_pred.sizes(),
                      " and anchor ", anchor.sizes(), " are not (batch, classes, n), (batch, n * 4) and (1, n, 4)");
    TORCH_CHECK_VALUE(variances.numel() == 4, "multibox_detection: variances must be 4 numbers, not ",
                      variances.numel());
    const int64_t batch = cls_prob.size(0), classes = cls_prob.size(1), n = cls_prob.size(2);
    if (cls_prob.is_meta()) return at::empty({batch, n, 6}, cls_prob.options());
    kernels::reads_values("multibox_detection", cls_prob, loc_pred, anchor, variances);
    const auto dtype = cls_prob.scalar_type();
    const Tensor p = host(cls_prob, dtype), moves = host(loc_pred, dtype), a = host(anchor, dtype);
    const Tensor v = host(variances, at::kFloat), y = at::full({batch, n, 6}, -1, p.options());
    by_dtype("multibox_detection", dtype, [&]<class T>(T) {
      for (int64_t b = 0; b < batch; ++b)
        detect(p.const_data_ptr<T>() + b * classes * n, moves.const_data_ptr<T>() + b * n * 4, a.const_data_ptr<T>(),
               v.const_data_ptr<float>(), classes, n, y.mutable_data_ptr<T>() + b * n * 6);
    });
    return y.to(cls_prob.options());
  }
  template <class T>
  void backward(Ctx<T>&) {}
};
CG_OP("multibox_detection", MultiboxDetection,
      "Detections (batch, n, 6): class, score, corners, the best first; class -1: none. cls_prob (batch, classes, n), "
      "where class 0 is the background; loc_pred (batch, n * 4), which is multiplied by variances; anchor (1, n, 4). "
      "Removed are detections with a score below threshold, all but the best topk, and, if nms_threshold is in (0, 1], "
      "boxes that overlap a better one of the same class (with force_suppress: of any class) by nms_threshold. clip: "
      "limit boxes to [0, 1]. Not differentiated.")

struct RegionProposals {
  int64_t before = 6000, after = 300, stride = 16;
  double threshold = 0.7, min_size = 16;
  Tensor scales, ratios;
  bool iou_loss = false;
  static constexpr auto params() {
    using Op = RegionProposals;
    return std::make_tuple(required("scales", &Op::scales), required("ratios", &Op::ratios),
                           param("before", &Op::before), param("after", &Op::after), param("stride", &Op::stride),
                           param("threshold", &Op::threshold), param("min_size", &Op::min_size),
                           param("iou_loss", &Op::iou_loss));
  }
  static constexpr bool any_dtype = true;
  static constexpr Mask saves = 0;
  struct Region {
    float at[4], score;
  };

  // The anchors around the first pixel: for each ratio of height to width, all scales.
  std::vector<Region> anchors() const {
    const Tensor s = host(scales, at::kFloat), r = host(ratios, at::kFloat);
    std::vector<Region> found;
    const float middle = 0.5f * (static_cast<float>(stride) - 1), area = static_cast<float>(stride) * stride;
    for (int64_t j = 0; j < r.numel(); ++j)
      for (int64_t k = 0; k < s.numel(); ++k) {
        const float scale = s.const_data_ptr<float>()[k], ratio = r.const_data_ptr<float>()[j];
        const float width = std::floor(std::sqrt(std::floor(area / ratio)) + 0.5f) * scale;
        const float height = std::floor(width / scale * ratio + 0.5f) * scale;
        const float x = 0.5f * (width - 1), y = 0.5f * (height - 1);
        found.push_back({{middle - x, middle - y, middle + x, middle + y}, 0});
      }
    return found;
  }
  // Moves a region by four numbers, `step` apart in memory: offsets of corners, or of the center and the logarithms of
  // sizes.
  void move(Region& r, const float* d, int64_t step) const {
    for (int64_t k = 0; k < 2; ++k) {
      float &low = r.at[k], &high = r.at[k + 2];
      const float a = d[k * step], b = d[(k + 2) * step];
      if (iou_loss) {
        low += a, high += b;
        continue;
      }
      const float size = high - low + 1.0f, center = low + 0.5 * (size - 1.0);
      const float middle = a * size + center, length = std::exp(b) * size;
      low = middle - 0.5 * (length - 1.0), high = middle + 0.5 * (length - 1.0);
    }
  }
  // All regions of an image: scores (kinds, height, width), deltas (kinds * 4, height, width), info: height, width,
  // scale.
  std::vector<Region> regions(const std::vector<Region>& anchors, const float* scores, const float* deltas,
                              const float* info, int64_t height, int64_t width) const {
    const int64_t kinds = anchors.size(), pixels = height * width;
    const auto down = static_cast<int64_t>(info[0] / stride), right = static_cast<int64_t>(info[1] / stride);
    TORCH_CHECK_VALUE(height >= down && width >= right, "region_proposals: im_info exceeds the feature map of shape (",
                      height, ", ", width, ")");
    const float least = static_cast<float>(min_size) * info[2], limits[] = {info[1] - 1, info[0] - 1};
    std::vector<Region> found;
    for (int64_t at = 0; at < pixels; ++at)
      for (int64_t kind = 0; kind < kinds; ++kind) {
        Region r = anchors[kind];
        const int64_t row = at / width, column = at % width;
        for (int64_t k = 0; k < 4; ++k) r.at[k] += static_cast<float>((k % 2 ? row : column) * stride);
        move(r, deltas + kind * 4 * pixels + at, pixels);
        for (int64_t k = 0; k < 4; ++k) r.at[k] = std::max(std::min(r.at[k], limits[k % 2]), 0.0f);
        r.score = row >= down || column >= right ? -1 : scores[kind * pixels + at];
        if (r.at[2] - r.at[0] + 1 < least || r.at[3] - r.at[1] + 1 < least) {
          for (int64_t k = 0; k < 4; ++k) r.at[k] += k < 2 ? -least / 2 : least / 2;
          r.score = -1;
        }
        found.push_back(r);
      }
    return found;
  }
  std::tuple<Tensor, Tensor> forward(const Tensor& cls_prob, const Tensor& bbox_pred, const Tensor& im_info) {
    TORCH_CHECK_VALUE(cls_prob.dim() == 4 && bbox_pred.dim() == 4 && im_info.dim() == 2,
                      "region_proposals: cls_prob, bbox_pred and im_info must have 4, 4 and 2 axes, not ",
                      cls_prob.dim(), ", ", bbox_pred.dim(), " and ", im_info.dim());
    const int64_t images = cls_prob.size(0), height = cls_prob.size(2), width = cls_prob.size(3);
    const int64_t kinds = scales.numel() * ratios.numel(), pixels = height * width;
    TORCH_CHECK_VALUE(kinds > 0 && cls_prob.size(1) == 2 * kinds, "region_proposals: ", kinds, " anchors need ",
                      2 * kinds, " channels of cls_prob, not ", cls_prob.size(1));
    TORCH_CHECK_VALUE(bbox_pred.sizes() == at::IntArrayRef({images, 4 * kinds, height, width}) &&
                          im_info.sizes() == at::IntArrayRef({images, 3}) && pixels > 0 && after > 0 && stride > 0,
                      "region_proposals: bbox_pred ", bbox_pred.sizes(), ", im_info ", im_info.sizes(), ", after ",
                      after, " and stride ", stride, " do not fit cls_prob ", cls_prob.sizes());
    const auto options = cls_prob.options().dtype(at::kFloat);
    if (cls_prob.is_meta()) return {at::empty({images * after, 5}, options), at::empty({images * after, 1}, options)};
    kernels::reads_values("region_proposals", cls_prob, bbox_pred, im_info, scales, ratios);
    const Tensor p = host(cls_prob, at::kFloat), d = host(bbox_pred, at::kFloat), info = host(im_info, at::kFloat);
    const Tensor y = at::empty({images * after, 5}, p.options()), points = at::empty({images * after, 1}, p.options());
    float *to = y.mutable_data_ptr<float>(), *point = points.mutable_data_ptr<float>();
    const auto around = anchors();
    for (int64_t b = 0; b < images; ++b) {
      const auto all = regions(around, p.const_data_ptr<float>() + (2 * b + 1) * kinds * pixels,
                               d.const_data_ptr<float>() + b * 4 * kinds * pixels, info.const_data_ptr<float>() + b * 3,
                               height, width);
      auto order = numbers_to(all.size());
      rank(order, &all[0].score, sizeof(Region) / sizeof(float));
      if (before > 0 && before < static_cast<int64_t>(order.size())) order.resize(before);
      std::vector<Box<float>> boxes;
      for (int64_t i : order) boxes.push_back(Box<float>::pixels(all[i].at));
      const auto kept = Suppression<float>{static_cast<float>(threshold), 1, after}(boxes);
      for (int64_t i = 0; i < after; ++i) {  // if fewer regions are kept, they are repeated
        const Region& r = all[order[kept[i % kept.size()]]];
        *to++ = b;
        to = std::copy_n(r.at, 4, to);
        *point++ = r.score;
      }
    }
    return {y.to(options), points.to(options)};
  }
  template <class T>
  void backward(Ctx<T>&) {}
};
CG_OP("region_proposals", RegionProposals,
      "The best regions of each image from a proposal network, (images * after, 5): the image's index and corners; and "
      "their scores (images * after, 1). cls_prob (images, 2 * kinds, height, width), whose second half are scores; "
      "bbox_pred (images, 4 * kinds, height, width): the offsets from the anchors, of corners with iou_loss; im_info "
      "(images, 3): height, width, scale. kinds: the anchors around each pixel, for each of ratios all scales; pixels "
      "are stride apart. Of the best `before` regions, those that overlap a better one by more than threshold are "
      "removed; regions smaller than min_size come last. Not differentiated.")

}  // namespace
}  // namespace cg
