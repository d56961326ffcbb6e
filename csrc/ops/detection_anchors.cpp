// Anchors of detectors, and the conversions between a box and its offsets from an anchor.
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/clamp_max.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/log.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "kernels/trace.h"
#include "ops/detection.h"

namespace cg {
namespace {

using namespace detection;

// Converts corners (..., 4) to centers and sizes.
std::pair<Tensor, Tensor> centers(const Tensor& corners) {
  const Tensor low = corners.slice(-1, 0, 2), size = corners.slice(-1, 2, 4) - low;
  return {low + size * 0.5, size};
}

// Center and size along one axis, from the corner coordinates p[0] and p[2].
template <class T>
std::pair<T, T> center(const T* p, bool centered = false) {
  if (centered) return {p[0], p[2]};
  const T size = p[2] - p[0];
  return {p[0] + size * T(0.5f), size};
}

struct BoxEncode {
  static constexpr bool any_dtype = true;
  static constexpr Mask optional = in_bit(4) | in_bit(5);
  static constexpr Mask saves = 0;

  static std::tuple<Tensor, Tensor> looped(const Tensor& samples, const Tensor& matches, const Tensor& anchors,
                                           const Tensor& refs, const Tensor& means, const Tensor& stds) {
    const auto dtype = anchors.scalar_type();
    const Tensor y = at::zeros(anchors.sizes(), anchors.options()), mask = at::zeros_like(y);
    const Tensor s = host(samples, at::kDouble), r = host(matches, at::kDouble), a = host(anchors, dtype);
    const Tensor f = host(refs, dtype), mean = means.defined() ? host(means, dtype) : at::zeros({4}, y.options());
    const Tensor std = stds.defined() ? host(stds, dtype) : at::ones({4}, y.options());
    const int64_t n = anchors.size(1), m = refs.size(1);
    by_dtype("box_encode", dtype, [&]<class T>(T) {
      using N = Wide<T>;
      const T *mu = mean.const_data_ptr<T>(), *sigma = std.const_data_ptr<T>();
      const T *from = a.const_data_ptr<T>(), *all = f.const_data_ptr<T>();
      const double *counts = s.const_data_ptr<double>(), *rows = r.const_data_ptr<double>();
      T *to = y.mutable_data_ptr<T>(), *one = mask.mutable_data_ptr<T>();
      for (int64_t i = 0, total = samples.numel(); i < total; ++i, from += 4, to += 4, one += 4) {
        if (!(counts[i] > 0.5)) continue;
        const T* found = all + (i / n * m + static_cast<int64_t>(std::max(0.0, std::min(rows[i], m - 1.0)))) * 4;
        for (int64_t k = 0; k < 2; ++k) {
          const auto [place, size] = center(from + k);
          const auto [goal, extent] = center(found + k);
          to[k] = T((goal - place) / size - mu[k]) / sigma[k];
          // The logarithm is rounded only after the mean has been subtracted.
          to[k + 2] = T(std::log(N(T(extent / size))) - N(mu[k + 2])) / sigma[k + 2];
        }
        std::fill_n(one, 4, T(1));
      }
    });
    return {y, mask};
  }
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
    if (by_loop(anchors) && by_loop(refs)) return looped(samples, matches, anchors, refs, means, stds);
    const auto [place, size] = centers(anchors);
    const Tensor rows = at::clamp(matches.to(at::kLong), 0, std::max<int64_t>(refs.size(1) - 1, 0)).unsqueeze(2);
    const auto [found, extent] = centers(at::gather(refs.to(anchors.options()), 1, rows.expand(anchors.sizes())));
    Tensor moves = (found - place) / size;
    const auto dtype = moves.scalar_type();
    // The logarithms are rounded only after the means have been subtracted.
    Tensor logs = at::log((extent / size).to(dtype == at::kHalf ? at::kFloat : dtype));
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
      "The network outputs (batch, n, 4) that lead from anchors (batch, n, 4) to their boxes, 0 for anchors whose "
      "samples (batch, n) are not above 0.5; and a mask (batch, n, 4) that is 1 for the other anchors. matches (batch, "
      "n): which of refs (batch, m, 4) is the box of an anchor; all boxes are corners. The outputs are normalized by "
      "means and stds (4). Not differentiated.")

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

  Tensor looped(const Tensor& x, const Tensor& anchors) const {
    const auto dtype = x.scalar_type();
    const Tensor y = at::empty(x.sizes(), x.options()), moves = host(x, dtype), a = host(anchors, dtype);
    by_dtype("box_decode", dtype, [&]<class T>(T) {
      const T stds[] = {T(float(std0)), T(float(std1)), T(float(std2)), T(float(std3))}, most = T(float(clip));
      const T *d = moves.const_data_ptr<T>(), *all = a.const_data_ptr<T>();
      T* to = y.mutable_data_ptr<T>();
      const T* end = all + anchors.numel();
      for (int64_t b = x.size(0); b > 0; --b)
        for (const T* from = all; from < end; from += 4, d += 4, to += 4)
          for (int64_t k = 0; k < 2; ++k) {
            const auto [place, size] = center(from + k, centered);
            const T middle = T(d[k] * stds[k]) * size + place, given = d[k + 2] * stds[k + 2];
            const T half = T(std::exp(clip > 0 && !(given < most) ? most : given)) * size * T(0.5f);
            to[k] = middle - half, to[k + 2] = middle + half;
          }
    });
    return y;
  }
  Tensor forward(const Tensor& x, const Tensor& given) {
    TORCH_CHECK_VALUE(x.dim() == 3 && x.size(2) == 4 && given.dim() == 3 && given.size(0) == 1 &&
                          given.size(1) == x.size(1) && given.size(2) == 4,
                      "box_decode: x ", x.sizes(), " and anchors ", given.sizes(),
                      " are not (batch, n, 4) and (1, n, 4)");
    if (by_loop(x) && by_loop(given)) return looped(x, given);
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
CG_OP(
    "box_decode", BoxDecode,
    "The boxes, as corners, that network outputs x (batch, n, 4), multiplied by std0, std1, std2 and std3, encode for "
    "anchors (1, n, 4), which are centered or corners; clip > 0 limits the logarithms of sizes. Not differentiated.")

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
    const auto options = x.options().dtype(at::kFloat);  // as in the original, for any dtype of x
    const Tensor s = sizes.to(options), r = at::sqrt(ratios.to(options));
    // all sizes with the first ratio, then the first size with the other ratios
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
CG_OP("multibox_prior", MultiboxPrior,
      "Anchors around each pixel of x (batch, channels, height, width): (1, height * width * k, 4), corners. Each "
      "pixel has an anchor for each of sizes with the first of ratios (width / height), and one for each further ratio "
      "with the first size. step_y, step_x: the distance of pixels, 1 / size unless both are positive; offset_y, "
      "offset_x: where in a pixel the center is; clip: limit to [0, 1]. Not differentiated.")

}  // namespace
}  // namespace cg
