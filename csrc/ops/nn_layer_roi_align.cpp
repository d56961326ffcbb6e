// Regions of images, averaged over a grid of bilinear samples.
//
// The weights of the samples of one region are a product of weights of rows and weights of columns, so a region is
// rows @ image @ columns^T with two small matrices; boxes are constants.
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/trace.h"
#include "ops/functions.h"

namespace cg {
namespace {

struct Regions {
  Ints output_size;
  double scale_y = 1, scale_x = 1;
  int64_t sampling_ratio = -1;

  // Weights of the pixels first, first + 1, ... of one axis in each bin of one region, divided by the samples per bin.
  struct Axis {
    int64_t first = 0, count = 0;
    Tensor weights;  // (bins, count)
  };
  template <class F>
  Axis axis(F low, F high, F scale, int64_t bins, int64_t length, const Tensor& like) const {
    const F start = low * scale - F(0.5), step = (high * scale - F(0.5) - start) / F(bins);
    const int64_t samples = sampling_ratio > 0 ? sampling_ratio : int64_t(std::ceil(step));
    struct Sample {
      int64_t bin, pixel;
      F weight;
    };
    std::vector<Sample> found;
    Axis r{length, 0, {}};
    int64_t last = -1;
    for (int64_t i = 0; i < bins; ++i)
      for (int64_t j = 0; j < samples; ++j) {
        F at = start + F(i) * step + (F(j) + F(0.5)) * (step / F(samples));
        if (at < F(-1) || at > F(length)) continue;
        at = std::clamp(at, F(0), F(length - 1));
        const int64_t below = int64_t(at), above = std::min(below + 1, length - 1);
        const F rest = at - F(below);
        found.push_back({i, below, (1 - rest) / F(samples)});
        found.push_back({i, above, rest / F(samples)});
        r.first = std::min(r.first, below);
        last = std::max(last, above);
      }
    if (found.empty()) return r;
    r.count = last - r.first + 1;
    Tensor w = at::zeros({bins, r.count}, c10::CppTypeToScalarType<F>::value);
    F* p = w.mutable_data_ptr<F>();
    for (const Sample& s : found) p[s.bin * r.count + s.pixel - r.first] += s.weight;
    r.weights = w.to(like.options());
    return r;
  }
  // The weights of one axis as a formula, of all pixels: (regions, bins, length). How many samples a bin has where
  // that depends on the box, no formula says.
  Tensor weights(const Tensor& low, const Tensor& high, double scale, int64_t bins, int64_t length) const {
    if (sampling_ratio <= 0) kernels::reads_values("roi_align with a sampling_ratio that depends on the boxes", low);
    const Tensor start = (low * scale - 0.5).unsqueeze(1), step = (high * scale - 0.5).unsqueeze(1).sub(start) / bins;
    const Tensor place = (at::arange(bins * sampling_ratio, low.options()) + 0.5) / sampling_ratio;
    const Tensor at = start + step * place, inside = at.ge(-1).logical_and(at.le(length));
    const Tensor distance = at.clamp(0, length - 1).unsqueeze(2) - at::arange(length, low.options());
    const Tensor each = (1 - distance.abs()).clamp_min(0) * inside.unsqueeze(2);
    return each.view({low.size(0), bins, sampling_ratio, length}).mean(2);
  }
  // The image of each region, and the weights of its rows and columns.
  std::array<Tensor, 3> formula(const Tensor& boxes, const Tensor& like, at::IntArrayRef images) const {
    const Tensor b = boxes.to(like.device(), like.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
    const auto column = [&](int64_t k) { return b.select(1, k); };
    return {column(0).to(at::kLong),
            weights(column(2), column(4), scale_y, output_size[0], images[2]).to(like.scalar_type()).unsqueeze(1),
            weights(column(1), column(3), scale_x, output_size[1], images[3]).to(like.scalar_type()).unsqueeze(1)};
  }
  // Runs f(region, image, rows, columns) for each box that touches its image. In single precision, as the original,
  // but for images in double precision.
  template <class F>
  void each(const Tensor& boxes, const Tensor& like, at::IntArrayRef images, F&& f) const {
    if (like.scalar_type() == at::kDouble)
      each_in<double>(boxes, like, images, f);
    else
      each_in<float>(boxes, like, images, f);
  }
  template <class V, class F>
  void each_in(const Tensor& boxes, const Tensor& like, at::IntArrayRef images, F&& f) const {
    const Tensor b = boxes.to(at::kCPU, c10::CppTypeToScalarType<V>::value).contiguous();
    const V* p = b.const_data_ptr<V>();
    for (int64_t k = 0; k < b.size(0); ++k, p += 5) {
      const int64_t image = int64_t(p[0]);
      TORCH_CHECK(image >= 0 && image < images[0], "roi_align: the image of box ", k, " is ", image, ", but there are ",
                  images[0], " images");
      const Axis rows = axis<V>(p[2], p[4], V(scale_y), output_size[0], images[2], like);
      const Axis columns = axis<V>(p[1], p[3], V(scale_x), output_size[1], images[3], like);
      if (rows.count && columns.count) f(k, image, rows, columns);
    }
  }
};

Tensor regions(const Regions& p, const Tensor& x, const Tensor& boxes);
Var regions(const Regions& p, const Var& x, const Var& boxes);

struct RoiAlignGrad : Regions {
  Ints insize;
  static constexpr auto params() {
    return std::make_tuple(required("output_size", &RoiAlignGrad::output_size),
                           required("insize", &RoiAlignGrad::insize), param("scale_y", &RoiAlignGrad::scale_y),
                           param("scale_x", &RoiAlignGrad::scale_x),
                           param("sampling_ratio", &RoiAlignGrad::sampling_ratio));
  }
  static constexpr bool any_dtype = true;
  static constexpr unsigned saves = in_bit(1);
  Tensor forward(const Tensor& gy, const Tensor& boxes) {
    if (gy.is_meta() || boxes.is_meta()) return at::empty(insize, gy.options());
    Tensor gx = at::zeros(insize, gy.options());
    if (kernels::traced(gy)) {
      const auto [image, rows, columns] = formula(boxes, gy, insize);
      return gx.index_add_(0, image, at::matmul(at::matmul(rows.mT(), gy), columns));
    }
    each(boxes, gy, insize, [&](int64_t k, int64_t image, const Axis& rows, const Axis& cols) {
      gx.select(0, image)
          .narrow(1, rows.first, rows.count)
          .narrow(2, cols.first, cols.count)
          .add_(at::matmul(at::matmul(rows.weights.t(), gy.select(0, k)), cols.weights));
    });
    return gx;
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return regions(*this, c.gy(), c.in(1)); });
  }
};
CG_OP("roi_align_grad", RoiAlignGrad, "The gradient of roi_align by its images, which have the shape insize.")

struct RoiAlign : Regions {
  static constexpr auto params() {
    return std::make_tuple(required("output_size", &RoiAlign::output_size), param("scale_y", &RoiAlign::scale_y),
                           param("scale_x", &RoiAlign::scale_x), param("sampling_ratio", &RoiAlign::sampling_ratio));
  }
  static constexpr bool any_dtype = true;
  static constexpr unsigned saves = in_bit(1);
  Tensor forward(const Tensor& x, const Tensor& boxes) {
    const Ints shape{boxes.size(0), x.size(1), output_size[0], output_size[1]};
    if (x.is_meta() || boxes.is_meta()) return at::empty(shape, x.options());
    if (kernels::traced(x)) {
      const auto [image, rows, columns] = formula(boxes, x, x.sizes());
      return at::matmul(at::matmul(rows, x.index_select(0, image)), columns.mT());
    }
    Tensor y = at::zeros(shape, x.options());
    each(boxes, x, x.sizes(), [&](int64_t k, int64_t image, const Axis& rows, const Axis& cols) {
      const Tensor part = x.select(0, image).narrow(1, rows.first, rows.count).narrow(2, cols.first, cols.count);
      y.select(0, k).copy_(at::matmul(at::matmul(rows.weights, part), cols.weights.t()));
    });
    return y;
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return run(RoiAlignGrad{*this, ints(c.in_sizes(0))}, c.gy(), c.in(1)); });
  }
};
CG_OP(
    "roi_align", RoiAlign,
    "Regions of x (batch, channels, height, width) as maps of output_size: means of sampling_ratio ** 2 bilinear "
    "samples per element, or about one per pixel where it is not positive. boxes (regions, 5): image, x1, y1, x2, y2, "
    "times the scales.")

Tensor regions(const Regions& p, const Tensor& x, const Tensor& boxes) { return RoiAlign{p}.forward(x, boxes); }
Var regions(const Regions& p, const Var& x, const Var& boxes) { return run(RoiAlign{p}, x, boxes); }

}  // namespace
}  // namespace cg
