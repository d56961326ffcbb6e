// What detectors of objects learn and give: anchors, the way from an anchor to a box and back, targets of anchors.
#include <ATen/ops/amax.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/clamp_max.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "kernels/trace.h"
#include "ops/detection.h"

namespace cg {
namespace {

using namespace detection;

// Centers and sizes of corners (..., 4).
std::pair<Tensor, Tensor> centers(const Tensor& corners) {
  const Tensor low = corners.slice(-1, 0, 2), size = corners.slice(-1, 2, 4) - low;
  return {low + size * 0.5, size};
}

struct BoxEncode {
  static constexpr bool any_dtype = true;
  static constexpr Mask optional = in_bit(4) | in_bit(5);
  static constexpr Mask saves = 0;

  std::tuple<Tensor, Tensor> forward(const Tensor& samples, const Tensor& matches, const Tensor& anchors,
                                     const Tensor& refs, const Tensor& means, const Tensor& stds) {
    TORCH_CHECK_VALUE(samples.dim() == 2 && matches.sizes() == samples.sizes() && anchors.dim() == 3 &&
                          refs.dim() == 3 && anchors.size(0) == samples.size(0) && refs.size(0) == samples.size(0) &&
                          anchors.size(1) == samples.size(1) && anchors.size(2) == 4 && refs.size(2) == 4,
                      "box_encode: samples ", samples.sizes(), ", matches ", matches.sizes(), ", anchors ",
                      anchors.sizes(), " and refs ", refs.sizes(),
                      " are not (batch, n), (batch, n), (batch, n, 4) and (batch, m, 4)");
    TORCH_CHECK_VALUE(refs.size(1) > 0 || samples.numel() == 0, "box_encode: there are no refs");
    for (const Tensor* t : {&means, &stds})
      TORCH_CHECK_VALUE(!t->defined() || (t->dim() == 1 && t->size(0) == 4),
                        "box_encode: means and stds must be 4 numbers, not of shape ", t->sizes());
    const auto [place, size] = centers(anchors);
    const Tensor rows = at::clamp(matches.to(at::kLong), 0, std::max<int64_t>(refs.size(1) - 1, 0)).unsqueeze(2);
    const auto [found, extent] = centers(at::gather(refs.to(anchors.options()), 1, rows.expand(anchors.sizes())));
    Tensor moves = (found - place) / size;
    const auto dtype = moves.scalar_type();
    Tensor logs = at::log((extent / size).to(dtype == at::kHalf ? at::kFloat : dtype));  // rounded after the means
    if (means.defined())
      moves = moves - means.slice(0, 0, 2).to(moves.options()), logs = logs - means.slice(0, 2, 4).to(moves.options());
    Tensor y = at::cat({moves, logs.to(dtype)}, 2);
    if (stds.defined()) y = y / stds.to(y.options());
    const Tensor mask = (samples > 0.5).unsqueeze(2).expand(anchors.sizes());
    return {at::where(mask, y, at::zeros_like(y)), mask.to(y.scalar_type())};
  }
  template <class T>
  void backward(Ctx<T>&) {}
};
CG_OP("box_encode", BoxEncode,
      "What a network must give for anchors (batch, n, 4) to find their boxes, zeros where samples (batch, n) is not "
      "above 0.5, and 1 where it is: twice (batch, n, 4). matches (batch, n): which of refs (batch, m, 4) belong to "
      "the anchors; all are corners. means and stds (4) are taken off and divided by. Not differentiated.")

struct BoxDecode {
  double std0 = 1, std1 = 1, std2 = 1, std3 = 1, clip = -1;
  bool centered = true;
  static constexpr auto params() {
    using Op = BoxDecode;
    return std::make_tuple(param("std0", &Op::std0), param("std1", &Op::std1), param("std2", &Op::std2),
                           param("std3", &Op::std3), param("clip", &Op::clip), param("centered", &Op::centered));
  }
  static constexpr bool any_dtype = true;
  static constexpr Mask saves = 0;

  Tensor forward(const Tensor& x, const Tensor& given) {
    TORCH_CHECK_VALUE(x.dim() == 3 && x.size(2) == 4 && given.dim() == 3 && given.size(0) == 1 &&
                          given.size(1) == x.size(1) && given.size(2) == 4,
                      "box_decode: x ", x.sizes(), " and anchors ", given.sizes(),
                      " are not (batch, n, 4) and (1, n, 4)");
    const Tensor anchors = given.to(x.options());
    const auto [place, size] = centered ? std::pair(anchors.slice(2, 0, 2), anchors.slice(2, 2, 4)) : centers(anchors);
    std::vector<double> stds{std0, std1, std2, std3};
    for (double& v : stds) v = static_cast<float>(v);
    const Tensor moves = x * kernels::constant(stds, at::kDouble).to(x.options());
    const Tensor middle = moves.slice(2, 0, 2) * size + place, logs = moves.slice(2, 2, 4);
    const Tensor half = at::exp(clip > 0 ? at::clamp_max(logs, static_cast<float>(clip)) : logs) * size * 0.5;
    return at::cat({middle - half, middle + half}, 2);
  }
  template <class T>
  void backward(Ctx<T>&) {}
};
CG_OP("box_decode", BoxDecode,
      "The boxes, corners, that x (batch, n, 4), times std0, std1, std2 and std3, means for anchors (1, n, 4), "
      "centered ones or "
      "corners; clip > 0 bounds the logarithms of sizes. Not differentiated.")

struct MultiboxPrior {
  Tensor sizes, ratios;
  double step_y = -1, step_x = -1, offset_y = 0.5, offset_x = 0.5;
  bool clip = false;
  static constexpr auto params() {
    using Op = MultiboxPrior;
    return std::make_tuple(required("sizes", &Op::sizes), required("ratios", &Op::ratios), param("clip", &Op::clip),
                           param("step_y", &Op::step_y), param("step_x", &Op::step_x), param("offset_y", &Op::offset_y),
                           param("offset_x", &Op::offset_x));
  }
  static constexpr Mask saves = 0;

  Tensor forward(const Tensor& x) {
    TORCH_CHECK_VALUE(x.dim() == 4 && x.size(2) > 0 && x.size(3) > 0,
                      "multibox_prior: x must be (batch, channels, height, width) with pixels, not ", x.sizes());
    for (const Tensor* t : {&sizes, &ratios})
      TORCH_CHECK_VALUE(t->dim() == 1 && t->numel() > 0,
                        "multibox_prior: sizes and ratios must be numbers, at least "
                        "one, not of shape ",
                        t->sizes());
    const int64_t height = x.size(2), width = x.size(3);
    const auto options = x.options().dtype(at::kFloat);  // as the original, whatever x is
    const Tensor s = sizes.to(options), r = at::sqrt(ratios.to(options));
    // the first ratio with all sizes, then the first size with all other ratios
    const Tensor wide = s * height / width;
    const auto both = [](const Tensor& a, const Tensor& b) { return at::cat({a, b}) / 2; };
    const Tensor first = r.slice(0, 0, 1), others = r.slice(0, 1);
    const Tensor half =
        at::stack({both(wide * first, wide.slice(0, 0, 1) * others), both(s / first, s.slice(0, 0, 1) / others)}, 1);
    const bool given = step_y > 0 && step_x > 0;
    const auto places = [&](int64_t n, double offset, double step) {
      return (at::arange(n, options) + offset) * (given ? step : static_cast<float>(1.0 / n));
    };
    const Tensor ys = places(height, offset_y, step_y), xs = places(width, offset_x, step_x);
    const Tensor middle = at::stack({xs.expand({height, width}), ys.unsqueeze(1).expand({height, width})}, 2);
    const Tensor at = middle.unsqueeze(2);
    const Tensor boxes = at::cat({at - half, at + half}, 3).reshape({1, -1, 4}).to(x.scalar_type());
    return clip ? at::clamp(boxes, 0, 1) : boxes;
  }
  template <class T>
  void backward(Ctx<T>&) {}
};
CG_OP(
    "multibox_prior", MultiboxPrior,
    "Anchors around each pixel of x (batch, channels, height, width): (1, height * width * k, 4), corners. Each pixel "
    "has one for each of sizes with the first of ratios (width / height) and one for each other ratio with the first "
    "size. step_y, step_x: the distance of pixels, 1 / size unless both are positive; offset_y, offset_x: where in "
    "a pixel the center is; clip: cut to [0, 1]. Not differentiated.")

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
    const float* ease;                                       // of each anchor: the probability that there is nothing
    int64_t count = 0;                                       // labels before the first of class -1
    std::vector<int64_t> box = std::vector<int64_t>(n, -1);  // of each anchor; -1: none
    std::vector<float> best = std::vector<float>(n, -1);     // the largest overlap of each anchor

    void find() {
      std::vector<float> overlaps(count * n);
      std::vector<int64_t> which(n);
      std::vector<Wide<T>> row(n);
      for (int64_t k = 0; k < count; ++k) {
        anchors.overlap_with(Box<T>::corners(labels + k * columns + 1), row.data());
        for (int64_t j = 0; j < n; ++j) {
          const float v = overlaps[k * n + j] = row[j];
          if (v > best[j]) best[j] = v, which[j] = k;
        }
      }
      const auto take = [&](int64_t k, int64_t j) { return box[j] = k, true; };
      match(overlaps.data(), count, n, false, true, [](float v) { return v > 1e-6f; }, take);
      const float limit = op.overlap_threshold;
      for (int64_t j = 0; j < n; ++j)
        if (limit > 0 && box[j] < 0 && best[j] > limit) box[j] = which[j];
    }
    // Anchors without a box that count: all, or the hardest.
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
      TORCH_CHECK_VALUE(static_cast<int64_t>(found.size()) >= wanted, "multibox_target: negative mining wants ", wanted,
                        " anchors, but only ", found.size(), " overlap no box by ", op.mining_threshold);
      const auto harder = [&](int64_t i, int64_t j) { return ease[i] < ease[j] || (ease[i] == ease[j] && i < j); };
      std::partial_sort(found.begin(), found.begin() + wanted, found.end(), harder);
      found.resize(wanted);
      return found;
    }
    // From the anchor to the box, in single precision as the original.
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
    Tensor ease;
    if (mining_ratio > 0) {
      const Tensor e = at::exp(s - at::amax(s, 1, true));
      ease = host(e.select(1, 0) / at::sum(e, 1), at::kFloat);
    }
    const Tensor place = at::zeros({batch, n * 4}, a.options()), mask = at::zeros_like(place);
    const Tensor classes = at::full({batch, n}, static_cast<float>(ignore_label), a.options());
    by_dtype("multibox_target", dtype, [&]<class T>(T) {
      Boxes<T> anchors;
      for (int64_t j = 0; j < n; ++j) anchors.add(Box<T>::corners(a.const_data_ptr<T>() + j * 4));
      for (int64_t b = 0; b < batch; ++b) {
        Image<T> image{*this,
                       anchors,
                       n,
                       columns,
                       l.const_data_ptr<T>() + b * m * columns,
                       ease.defined() ? ease.const_data_ptr<float>() + b * n : nullptr};
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
      "What a single-shot detector must give: offsets over variances (batch, n * 4), their mask, classes (batch, n). "
      "anchor (1, n, 4); label (batch, m, 5 or more): class, corners, ended by a class -1; cls_pred (batch, classes, "
      "n). An anchor gets the box that it overlaps most, if by more than overlap_threshold, and each box its best "
      "anchor; class 0 means none. With mining_ratio > 0 only that many hardest anchors without a box per one with a "
      "box count, of those that overlap no box by mining_threshold; the others have ignore_label. Not differentiated.")

}  // namespace
}  // namespace cg
