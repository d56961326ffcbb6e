// Training targets of a single-shot detector: the box and the class of each anchor.
#include <ATen/ops/amax.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "kernels/trace.h"
#include "ops/detection.h"

namespace cg {
namespace {

using namespace detection;

struct MultiboxTarget {
  double overlap_threshold = 0.5, ignore_label = -1, mining_ratio = -1, mining_threshold = 0.5;
  Tensor variances;
  static constexpr auto params() {
    using Op = MultiboxTarget;
    return std::make_tuple(required("variances", &Op::variances), param("overlap_threshold", &Op::overlap_threshold),
                           param("ignore_label", &Op::ignore_label), param("mining_ratio", &Op::mining_ratio),
                           param("mining_threshold", &Op::mining_threshold));
  }
  static constexpr bool any_dtype = true;
  static constexpr Mask saves = 0;

  // One image: anchors (n, 4), labels (m, columns), scores (classes, n).
  template <class T>
  struct Image {
    const MultiboxTarget& op;
    const Boxes<T>& anchors;
    int64_t n, columns;
    const T* labels;
    const float* ease;                                       // for each anchor: the probability of the background
    int64_t count = 0;                                       // labels before the first of class -1
    std::vector<int64_t> box = std::vector<int64_t>(n, -1);  // for each anchor; -1: none
    std::vector<float> best = std::vector<float>(n, -1);     // the largest overlap of each anchor

    void find() {
      std::vector<float> overlaps(count * n);
      std::vector<int32_t> which(n);
      for (int64_t k = 0; k < count; ++k)
        anchors.overlap_with(Box<T>::corners(labels + k * columns + 1), k, overlaps.data() + k * n, best.data(),
                             which.data());
      const auto take = [&](int64_t k, int64_t j) { return box[j] = k, true; };
      match(overlaps.data(), count, n, false, true, [](float v) { return v > 1e-6f; }, take);
      const float limit = op.overlap_threshold;
      for (int64_t j = 0; j < n; ++j)
        if (limit > 0 && box[j] < 0 && best[j] > limit) box[j] = which[j];
    }
    // The anchors without a box that are used: all, or the hardest.
    std::vector<int64_t> negatives() const {
      std::vector<int64_t> found;
      int64_t positive = 0;
      for (int64_t j = 0; j < n; ++j)
        if (box[j] >= 0)
          ++positive;
        else if (!ease || best[j] < static_cast<float>(op.mining_threshold))
          found.push_back(j);
      if (!ease) return found;
      const float asked = static_cast<float>(positive) * static_cast<float>(op.mining_ratio);
      const int64_t wanted = asked < static_cast<float>(n - positive) ? static_cast<int64_t>(asked) : n - positive;
      TORCH_CHECK_VALUE(static_cast<int64_t>(found.size()) >= wanted, "multibox_target: negative mining needs ", wanted,
                        " anchors, but only ", found.size(), " overlap no box by ", op.mining_threshold);
      const auto harder = [&](int64_t i, int64_t j) { return ease[i] < ease[j] || (ease[i] == ease[j] && i < j); };
      std::nth_element(found.begin(), found.begin() + wanted, found.end(), harder);
      found.resize(wanted);
      return found;
    }
    // The offsets from the anchor to the box, in single precision as in the original.
    void offsets(int64_t j, const float* v, T* to) const {
      const T* l = labels + box[j] * columns + 1;
      const Box<T> anchor = anchors[j];
      const float low[] = {float(anchor.x0), float(anchor.y0)}, high[] = {float(anchor.x1), float(anchor.y1)};
      for (int64_t k = 0; k < 2; ++k) {
        const float a = low[k], b = high[k], c = l[k], d = l[k + 2];
        to[k] = static_cast<T>(((c + d) * 0.5f - (a + b) * 0.5f) / (b - a) / v[k]);
        to[k + 2] = static_cast<T>(std::log((d - c) / (b - a)) / v[k + 2]);
      }
    }
  };
  // For each anchor the probability of the background, from scores (classes, n).
  template <class T>
  static std::vector<float> nothing(const Tensor& scores) {
    const Tensor e = at::sub(scores, at::amax(scores, 0, true)).exp_();
    const int64_t n = e.size(1);
    const T* p = e.const_data_ptr<T>();
    std::vector<T> sums(n);
    for (int64_t k = 0; k < e.size(0); ++k)
      for (int64_t j = 0; j < n; ++j) sums[j] += p[k * n + j];
    std::vector<float> found;
    for (int64_t j = 0; j < n; ++j) found.push_back(p[j] / sums[j]);
    return found;
  }
  std::tuple<Tensor, Tensor, Tensor> forward(const Tensor& anchor, const Tensor& label, const Tensor& cls_pred) {
    TORCH_CHECK_VALUE(anchor.dim() == 3 && label.dim() == 3 && cls_pred.dim() == 3 && anchor.size(0) == 1 &&
                          anchor.size(2) == 4 && label.size(2) >= 5 && cls_pred.size(0) == label.size(0) &&
                          cls_pred.size(2) == anchor.size(1) && cls_pred.size(1) > 0,
                      "multibox_target: anchor ", anchor.sizes(), ", label ", label.sizes(), " and cls_pred ",
                      cls_pred.sizes(), " are not (1, n, 4), (batch, m, at least 5) and (batch, classes, n)");
    TORCH_CHECK_VALUE(variances.numel() == 4, "multibox_target: variances must be 4 numbers, not ", variances.numel());
    TORCH_CHECK_VALUE(!(mining_ratio > 0) || mining_threshold > 0,
                      "multibox_target: the threshold of negative mining must be positive, not ", mining_threshold);
    const int64_t batch = label.size(0), n = anchor.size(1), m = label.size(1), columns = label.size(2);
    const auto options = anchor.options();
    if (anchor.is_meta())
      return {at::empty({batch, n * 4}, options), at::empty({batch, n * 4}, options), at::empty({batch, n}, options)};
    kernels::reads_values("multibox_target", anchor, label, cls_pred, variances);
    const auto dtype = anchor.scalar_type();
    const Tensor a = host(anchor, dtype), l = host(label, dtype), s = host(cls_pred, dtype);
    const Tensor v = host(variances, at::kFloat);
    const Tensor place = at::zeros({batch, n * 4}, a.options()), mask = at::zeros_like(place);
    const Tensor classes = at::full({batch, n}, static_cast<float>(ignore_label), a.options());
    by_dtype("multibox_target", dtype, [&]<class T>(T) {
      Boxes<T> anchors;
      for (int64_t j = 0; j < n; ++j) anchors.add(Box<T>::corners(a.const_data_ptr<T>() + j * 4));
      for (int64_t b = 0; b < batch; ++b) {
        const auto ease = mining_ratio > 0 ? nothing<T>(s[b]) : std::vector<float>();
        Image<T> image{*this,
                       anchors,
                       n,
                       columns,
                       l.const_data_ptr<T>() + b * m * columns,
                       mining_ratio > 0 ? ease.data() : nullptr};
        for (const T* row = image.labels; image.count < m && row[0] != -1; row += columns) ++image.count;
        if (image.count < m)
          for (int64_t k = 1; k < 5; ++k)
            TORCH_CHECK_VALUE(image.labels[image.count * columns + k] == -1,
                              "multibox_target: a label of class -1 must be -1 throughout");
        if (image.count == 0) continue;
        image.find();
        T *to = place.mutable_data_ptr<T>() + b * n * 4, *one = mask.mutable_data_ptr<T>() + b * n * 4;
        T* kind = classes.mutable_data_ptr<T>() + b * n;
        for (int64_t j : image.negatives()) kind[j] = 0;
        for (int64_t j = 0; j < n; ++j) {
          if (image.box[j] < 0) continue;
          kind[j] = image.labels[image.box[j] * columns] + 1;
          std::fill_n(one + j * 4, 4, T(1));
          image.offsets(j, v.const_data_ptr<float>(), to + j * 4);
        }
      }
    });
    return {place.to(options), mask.to(options), classes.to(options)};
  }
  template <class T>
  void backward(Ctx<T>&) {}
};
CG_OP("multibox_target", MultiboxTarget,
      "Training targets of a single-shot detector: offsets divided by variances (batch, n * 4), their mask, and "
      "classes (batch, n). anchor (1, n, 4); label (batch, m, 5 or more): class, corners, terminated by a class -1; "
      "cls_pred (batch, classes, n). An anchor gets the box that it overlaps most, if by more than overlap_threshold, "
      "and each box gets its best anchor; class 0 means no box. With mining_ratio > 0, only the hardest anchors "
      "without a box are used, mining_ratio for each anchor with a box, among those that overlap no box by "
      "mining_threshold; the other anchors get ignore_label. Not differentiated.")

}  // namespace
}  // namespace cg
