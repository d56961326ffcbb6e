// Means over the bins of regions of images. Regions are constants, so the functions are linear in the images, and the
// gradient's gradient is the function itself.
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/zeros.h>

#include "ops/roi.h"

namespace cg {
namespace {

using kernels::Kernel;

template <class P>
void refuse_groups(const P& p, const Tensor& x) {
  if (p.groups() > 1) kernels::reads_values("position-sensitive regions", x);
}

template <class P>
struct RoiMean;

template <class P>
struct RoiMeanGrad : P {
  Ints insize;
  static constexpr auto params() {
    return std::tuple_cat(std::make_tuple(required("insize", &RoiMeanGrad::insize)), P::common());
  }
  static constexpr bool any_dtype = true;
  static constexpr Mask saves = in_bit(1);
  Tensor forward(const Tensor& gy, const Tensor& regions) {
    if (gy.is_meta() || regions.is_meta()) return at::empty(insize, gy.options());
    if (kernels::traced(gy)) {
      refuse_groups(*this, gy);
      const RegionWeights w = this->formula(regions, gy, insize);
      const Tensor each = at::matmul(at::matmul(w.rows.unsqueeze(1).mT(), gy), w.columns.unsqueeze(1));
      return at::zeros(insize, gy.options()).index_add_(0, w.images, each);
    }
    static const Kernel kernel("region_sums_grad");
    return where_kernels_are(gy, true, [&](const Tensor& g) {
      TORCH_CHECK_VALUE(g.sizes() == this->result(regions.size(0), insize), "regions: a gradient of shape ", g.sizes(),
                        " does not fit images of shape ", insize);
      const RegionWeights w = this->weights(regions, g, insize);
      Tensor gx = at::empty(insize, g.options());
      kernel({g, gx, w.images, w.rows, w.row_ranges, w.columns, w.column_ranges}, {},
             this->integers(g.size(0), insize, g.is_cpu()));
      return gx;
    });
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return run(RoiMean<P>{*this}, c.gy(), c.in(1)); });
  }
};

template <class P>
struct RoiMean : P {
  static constexpr auto params() { return P::common(); }
  static constexpr bool any_dtype = true;
  static constexpr Mask saves = in_bit(1);
  Tensor forward(const Tensor& x, const Tensor& regions) {
    const Ints shape = this->result(regions.size(0), x.sizes());
    if (x.is_meta() || regions.is_meta()) return at::empty(shape, x.options());
    this->check(regions, x.sizes());
    if (kernels::traced(x)) {
      refuse_groups(*this, x);
      const RegionWeights w = this->formula(regions, x, x.sizes());
      return at::matmul(at::matmul(w.rows.unsqueeze(1), x.index_select(0, w.images)), w.columns.unsqueeze(1).mT());
    }
    static const Kernel kernel("region_sums");
    return where_kernels_are(x, false, [&](const Tensor& given) {
      const RegionWeights w = this->weights(regions, given, x.sizes());
      Tensor y = at::empty(shape, given.options());
      kernel({y, given, w.images, w.rows, w.row_ranges, w.columns, w.column_ranges}, {},
             this->integers(shape[0], x.sizes(), given.is_cpu()));
      return y;
    });
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return run(RoiMeanGrad<P>{*this, ints(c.in_sizes(0))}, c.gy(), c.in(1)); });
  }
};

using RoiAlign = RoiMean<BoxRegions>;
using RoiAlignGrad = RoiMeanGrad<BoxRegions>;
using RoiAverage = RoiMean<PixelRegions>;
using RoiAverageGrad = RoiMeanGrad<PixelRegions>;

}  // namespace

CG_OP("roi_align", RoiAlign,
      "Regions of x (batch, channels, height, width) as maps of output_size: means of sampling_ratio ** 2 bilinear "
      "samples per element, or, if it is not positive, of about one sample per pixel; sampling_ratio_x: samples along "
      "columns. boxes (regions, 5): image, x1, y1, x2, y2, which are multiplied by the scales. group (rows, columns): "
      "each group of bins reads its own channel.")
CG_OP("roi_align_grad", RoiAlignGrad,
      "The gradient of roi_align with respect to its images, which have the shape insize.")
CG_OP("roi_average", RoiAverage,
      "Means of bins of whole pixels of x (batch, channels, height, width), 0 in empty ones. bins (regions, 1 + 2 rows "
      "+ 2 columns), integers: image, first row of each bin, row past its last one, and the same for columns. group: "
      "as in roi_align.")
CG_OP("roi_average_grad", RoiAverageGrad,
      "The gradient of roi_average with respect to its images, which have the shape insize.")

}  // namespace cg
