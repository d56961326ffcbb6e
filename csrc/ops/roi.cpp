// Regions of images, as boxes and as whole pixels: checks, and the weights of pixels in the bins.
#include "ops/roi.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>

namespace cg {

using kernels::Kernel;

Ints Regions::result(int64_t regions, at::IntArrayRef x) const {
  TORCH_CHECK_VALUE(x.size() == 4, "regions: images must have 4 axes, not ", x.size());
  TORCH_CHECK_VALUE(output_size.size() == 2 && output_size[0] > 0 && output_size[1] > 0,
                    "regions: output_size must be two positive numbers, not ", output_size);
  TORCH_CHECK_VALUE(group.empty() || (group.size() == 2 && group[0] > 0 && group[1] > 0 && x[1] % groups() == 0),
                    "regions: group must be two numbers whose product divides the ", x[1], " channels, not ", group);
  return {regions, x[1] / groups(), output_size[0], output_size[1]};
}
Ints Regions::integers(int64_t regions, at::IntArrayRef x, bool whole) const {
  Ints r{regions, x[0], x[1], x[2], x[3], output_size[0], output_size[1], 1, 1, whole};
  if (!group.empty()) std::copy_n(group.begin(), 2, r.begin() + 7);
  return r;
}

namespace {
at::ScalarType compute_dtype(const Tensor& like) {
  return like.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}
}  // namespace

// ---- boxes ----------------------------------------------------------------------------------------------------------
void BoxRegions::check(const Tensor& boxes, at::IntArrayRef x) const {
  TORCH_CHECK_VALUE(boxes.dim() == 2 && boxes.size(1) == 5, "roi_align: boxes must have the shape (regions, 5), not ",
                    boxes.sizes());
  if (!boxes.is_cpu() || kernels::traced(boxes)) return;  // elsewhere a box with an invalid image index gives 0
  const Tensor images = boxes.select(1, 0).to(at::kLong).contiguous();
  const int64_t* p = images.const_data_ptr<int64_t>();
  for (int64_t k = 0; k < images.numel(); ++k)
    TORCH_CHECK(p[k] >= 0 && p[k] < x[0], "roi_align: the image of box ", k, " is ", p[k], ", but there are ", x[0],
                " images");
}
// In single precision as in the originals, except for images or boxes in double precision.
RegionWeights BoxRegions::weights(const Tensor& given, const Tensor& like, at::IntArrayRef x) const {
  static const Kernel kernel("region_weights");
  const bool exact = given.scalar_type() == at::kDouble || like.scalar_type() == at::kDouble;
  const Tensor boxes = given.to(like.device(), exact ? at::kDouble : at::kFloat).contiguous();
  const auto axis = [&](int k, double scale, int64_t ratio, Tensor& weights, Tensor& ranges) {
    const int64_t regions = boxes.size(0), bins = output_size[k], length = x[2 + k];
    weights = at::empty({regions, bins, length}, boxes.options());
    ranges = at::empty({regions, bins, 2}, boxes.options().dtype(at::kInt));
    const int64_t integers[] = {regions, bins, length, ratio, 2 - k};
    kernel({weights, ranges, boxes}, scale, integers);
    weights = weights.to(compute_dtype(like));
  };
  RegionWeights r;
  r.images = boxes.select(1, 0).to(at::kInt);
  axis(0, scale_y, sampling_ratio, r.rows, r.row_ranges);
  axis(1, scale_x, sampling_ratio_x.value_or(sampling_ratio), r.columns, r.column_ranges);
  return r;
}
// A formula for tracers needs a fixed number of samples per bin.
RegionWeights BoxRegions::formula(const Tensor& boxes, const Tensor& like, at::IntArrayRef x) const {
  const Tensor b = boxes.to(like.device(), boxes.scalar_type() == at::kDouble ? at::kDouble : compute_dtype(like));
  const auto axis = [&](int k, double scale, int64_t ratio) {
    if (ratio <= 0) kernels::reads_values("roi_align with a sampling_ratio that depends on the boxes", like);
    const int64_t bins = output_size[k], length = x[2 + k];
    const Tensor low = b.select(1, 2 - k), high = b.select(1, 4 - k);
    const Tensor start = (low * scale - 0.5).unsqueeze(1), step = (high * scale - 0.5).unsqueeze(1).sub(start) / bins;
    const Tensor place = (at::arange(bins * ratio, low.options()) + 0.5) / ratio;
    const Tensor at = start + step * place, inside = at.ge(-1).logical_and(at.le(length));
    const Tensor distance = at.clamp(0, length - 1).unsqueeze(2) - at::arange(length, low.options());
    const Tensor each = (1 - distance.abs()).clamp_min(0) * inside.unsqueeze(2);
    return each.view({low.size(0), bins, ratio, length}).mean(2).to(like.scalar_type());
  };
  return {b.select(1, 0).to(at::kLong),
          axis(0, scale_y, sampling_ratio),
          {},
          axis(1, scale_x, sampling_ratio_x.value_or(sampling_ratio)),
          {}};
}
RegionOperands BoxRegions::operands(const Tensor& given, at::IntArrayRef) const {
  const Tensor boxes = given.to(at::kDouble).contiguous();
  return {boxes.select(1, 0).to(at::kInt),
          {boxes},
          {scale_y, scale_x},
          {sampling_ratio, sampling_ratio_x.value_or(sampling_ratio)}};
}

// ---- whole pixels --------------------------------------------------------------------------------------------------
void PixelRegions::check(const Tensor& bins, at::IntArrayRef) const {
  TORCH_CHECK_VALUE(output_size.size() == 2, "regions: output_size must be two numbers, not ", output_size);
  TORCH_CHECK_VALUE(bins.dim() == 2 && bins.size(1) == 1 + 2 * (output_size[0] + output_size[1]),
                    "regions: bins must have the shape (regions, ", 1 + 2 * (output_size[0] + output_size[1]),
                    "), not ", bins.sizes());
}
Tensor PixelRegions::ranges(const Tensor& bins, int axis, int64_t length) const {
  const int64_t n = output_size[axis], first = 1 + (axis ? 2 * output_size[0] : 0);
  return at::stack({bins.narrow(1, first, n), bins.narrow(1, first + n, n)}, 2).clamp(0, length).to(at::kInt);
}
RegionWeights PixelRegions::formula(const Tensor& bins, const Tensor& like, at::IntArrayRef x) const {
  RegionWeights r;
  r.images = bins.select(1, 0).to(at::kLong);
  const auto axis = [&](int k, Tensor& weights, Tensor& ranges) {
    ranges = this->ranges(bins, k, x[2 + k]);
    const Tensor pixels = at::arange(x[2 + k], ranges.options()), first = ranges.select(2, 0).unsqueeze(2);
    const Tensor stop = ranges.select(2, 1).unsqueeze(2), inside = pixels.ge(first).logical_and(pixels.lt(stop));
    weights = inside.to(compute_dtype(like)).div(stop.sub(first).clamp_min(1)).to(like.scalar_type());
  };
  axis(0, r.rows, r.row_ranges);
  axis(1, r.columns, r.column_ranges);
  return r;
}
RegionWeights PixelRegions::weights(const Tensor& bins, const Tensor& like, at::IntArrayRef x) const {
  RegionWeights r = formula(bins.to(like.device()), at::empty({0}, like.options().dtype(compute_dtype(like))), x);
  r.images = r.images.to(at::kInt);
  return r;
}
RegionOperands PixelRegions::operands(const Tensor& bins, at::IntArrayRef x) const {
  return {bins.select(1, 0).to(at::kInt), {ranges(bins, 0, x[2]), ranges(bins, 1, x[3])}, {}, {}};
}

}  // namespace cg
