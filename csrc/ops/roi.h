// Declarations shared by ops on regions of images: regions as boxes between pixels, and as bins of whole pixels.
#pragma once
#include <algorithm>

#include "kernels/kernel.h"
#include "kernels/trace.h"
#include "ops/functions.h"

namespace cg {

struct Regions {
  Ints output_size;
  Ints group;  // groups of bins along both axes, each of which reads its own channel; empty: none

  int64_t groups() const { return group.empty() ? 1 : group[0] * group[1]; }
  Ints result(int64_t regions, at::IntArrayRef x) const;
  // The integers for a kernel on regions, see kernels/region_bins.h; `whole`: a call computes a map or a plane.
  Ints integers(int64_t regions, at::IntArrayRef x, bool whole) const;
};

// For each region its image, and for its bins along each axis the weights of pixels and the ranges of nonzero weights.
struct RegionWeights {
  Tensor images, rows, row_ranges, columns, column_ranges;
};
// The operands and numbers that describe the bins to a kernel of maxima.
struct RegionOperands {
  Tensor images;
  std::vector<Tensor> bins;
  std::vector<double> numbers;
  std::vector<int64_t> integers;
};

// Samples between pixels. Regions: boxes (regions, 5) of image, x1, y1, x2, y2.
struct BoxRegions : Regions {
  double scale_y = 1, scale_x = 1;
  int64_t sampling_ratio = -1;              // along rows, or along both axes; not positive: about one sample per pixel
  std::optional<int64_t> sampling_ratio_x;  // along columns
  static constexpr const char* kind = "sample";
  static constexpr auto common() {
    return std::make_tuple(required("output_size", &BoxRegions::output_size), param("scale_y", &BoxRegions::scale_y),
                           param("scale_x", &BoxRegions::scale_x), param("sampling_ratio", &BoxRegions::sampling_ratio),
                           param("sampling_ratio_x", &BoxRegions::sampling_ratio_x),
                           param("group", &BoxRegions::group));
  }
  void check(const Tensor& boxes, at::IntArrayRef x) const;
  RegionWeights weights(const Tensor& boxes, const Tensor& like, at::IntArrayRef x) const;
  // The same weights as formulas for tracers, of all pixels, without ranges.
  RegionWeights formula(const Tensor& boxes, const Tensor& like, at::IntArrayRef x) const;
  RegionOperands operands(const Tensor& boxes, at::IntArrayRef x) const;
};

// Whole pixels. Regions: integers (regions, 1 + 2 rows + 2 columns): the image, the first row of each bin, the row past
// its last one, and the same for columns.
struct PixelRegions : Regions {
  static constexpr const char* kind = "region";
  static constexpr auto common() {
    return std::make_tuple(required("output_size", &PixelRegions::output_size), param("group", &PixelRegions::group));
  }
  void check(const Tensor& bins, at::IntArrayRef x) const;
  RegionWeights weights(const Tensor& bins, const Tensor& like, at::IntArrayRef x) const;
  RegionWeights formula(const Tensor& bins, const Tensor& like, at::IntArrayRef x) const;
  RegionOperands operands(const Tensor& bins, at::IntArrayRef x) const;
  // The ranges (regions, bins, 2) along one axis.
  Tensor ranges(const Tensor& bins, int axis, int64_t length) const;
};

// Calls f(x), with a copy in main memory if x is on a device without kernels. `planes`: f sums planes, on a CPU in
// place, which needs at least single precision.
template <class F>
Tensor where_kernels_are(const Tensor& x, bool planes, F&& f) {
  TORCH_CHECK_TYPE(x.is_floating_point(), "regions: images must be floating point numbers, not ", x.scalar_type());
  if (planes && x.element_size() < 4 && !(x.is_cuda() && kernels::takes(x)))
    return f(x.to(at::kCPU, at::kFloat).contiguous()).to(x.options());
  if (kernels::takes(x)) return f(x.contiguous());
  return f(x.cpu().contiguous()).to(x.device());
}

}  // namespace cg
