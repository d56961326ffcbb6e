// Maxima over the bins of regions of images. Given their positions (`places`), the function is linear.
#include <ATen/ops/empty.h>

#include <algorithm>

#include "ops/roi.h"

namespace cg {
namespace {

using kernels::Kernel;

// Runs a kernel of region_maxima.h.
template <class P>
void call(const Kernel& kernel, const P& p, const Tensor& y, const Tensor& places, const Tensor& x,
          const Tensor& regions, std::optional<double> empty = {}) {
  const RegionOperands o = p.operands(regions.to(x.device()), x.sizes());
  c10::SmallVector<Tensor, 6> operands{y, places.to(x.device(), at::kInt).contiguous(), x, o.images.contiguous()};
  for (const Tensor& t : o.bins) operands.push_back(t.contiguous());
  Ints integers = p.integers(y.size(0), x.sizes(), x.is_cpu());
  integers.append(o.integers.begin(), o.integers.end());
  std::vector<double> numbers = o.numbers;
  if (empty) numbers.push_back(*empty);
  kernel(operands, numbers, integers);
}
template <class P>
constexpr bool samples = std::is_same_v<P, BoxRegions>;

template <class P>
struct RoiMaxAt;

template <class P>
struct RoiMaxGrad : P {
  Ints insize;
  static constexpr auto params() {
    return std::tuple_cat(std::make_tuple(required("insize", &RoiMaxGrad::insize)), P::common());
  }
  static constexpr bool any_dtype = true;
  static constexpr Mask saves = in_bit(1) | in_bit(2);
  Tensor forward(const Tensor& gy, const Tensor& regions, const Tensor& places) {
    TORCH_CHECK_VALUE(gy.sizes() == at::IntArrayRef(this->result(regions.size(0), insize)),
                      "regions: a gradient of shape ", gy.sizes(), " does not fit images of shape ", insize);
    if (gy.is_meta()) return at::empty(insize, gy.options());
    kernels::reads_values("maxima of regions", gy);
    static const Kernel kernel(samples<P> ? "sample_picks_grad" : "region_picks_grad");
    return where_kernels_are(gy, true, [&](const Tensor& g) {
      Tensor gx = at::empty(insize, g.options());
      call<P>(kernel, *this, g, places, gx, regions);
      return gx;
    });
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return run(RoiMaxAt<P>{*this}, c.gy(), c.in(1), c.in(2)); });
  }
};

template <class P>
struct RoiMaxAt : P {
  static constexpr auto params() { return P::common(); }
  static constexpr bool any_dtype = true;
  static constexpr Mask saves = in_bit(1) | in_bit(2);
  Tensor forward(const Tensor& x, const Tensor& regions, const Tensor& places) {
    const Ints shape = this->result(regions.size(0), x.sizes());
    if (x.is_meta()) return at::empty(shape, x.options());
    kernels::reads_values("maxima of regions", x);
    static const Kernel kernel(samples<P> ? "sample_picks" : "region_picks");
    return where_kernels_are(x, false, [&](const Tensor& given) {
      Tensor y = at::empty(shape, given.options());
      call<P>(kernel, *this, y, places, given, regions);
      return y;
    });
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return run(RoiMaxGrad<P>{*this, ints(c.in_sizes(0))}, c.gy(), c.in(1), c.in(2)); });
  }
};

template <class P>
struct RoiMax : P {
  double empty = 0;
  static constexpr auto params() {
    return std::tuple_cat(P::common(), std::make_tuple(param("empty", &RoiMax::empty)));
  }
  static constexpr bool any_dtype = true;
  static constexpr Mask saves = in_bit(1);
  Tensor places;
  static constexpr auto stored() { return std::make_tuple(param("places", &RoiMax::places)); }
  std::vector<Tensor> forward(const Tensor& x, const Tensor& regions) {
    const Ints shape = this->result(regions.size(0), x.sizes());
    Tensor y;
    if (x.is_meta()) {
      y = at::empty(shape, x.options());
      places = at::empty(shape, x.options().dtype(at::kInt));
      return {y, places};
    }
    kernels::reads_values("maxima of regions", x);
    this->check(regions, x.sizes());
    if constexpr (samples<P>)
      TORCH_CHECK_VALUE(std::max(this->sampling_ratio, this->sampling_ratio_x.value_or(0)) <= 1 << 15,
                        "roi_max_align: sampling_ratio must be at most 32768");
    static const Kernel kernel(samples<P> ? "sample_maxima" : "region_maxima");
    y = where_kernels_are(x, false, [&](const Tensor& given) {
      Tensor found = at::empty(shape, given.options());
      places = at::empty(shape, given.options().dtype(at::kInt));
      call<P>(kernel, *this, found, places, given, regions, empty);
      return found;
    });
    return {y, places};
  }
  template <class T>
  void backward(Ctx<T>& c) {
    if (value(c.gy()).defined())
      c.grad(0, [&] { return run(RoiMaxGrad<P>{*this, ints(c.in_sizes(0))}, c.gy(), c.in(1), c.saved(places)); });
  }
};

using RoiMaxAlign = RoiMax<BoxRegions>;
using RoiMaxAlignGrad = RoiMaxGrad<BoxRegions>;
using RoiMaxAlignAt = RoiMaxAt<BoxRegions>;
using RoiMaximum = RoiMax<PixelRegions>;
using RoiMaximumGrad = RoiMaxGrad<PixelRegions>;
using RoiMaximumAt = RoiMaxAt<PixelRegions>;

}  // namespace

CG_OP("roi_max_align", RoiMaxAlign,
      "As roi_align with maxima instead of means; empty: the value of bins without samples. Also the place of each "
      "maximum, row * columns + column among the samples of its bin; -1: none.")
CG_OP("roi_max_align_grad", RoiMaxAlignGrad,
      "Adds each element to the pixels of the sample at its place (input places).")
CG_OP("roi_max_align_at", RoiMaxAlignAt, "The samples at the given places; its gradient is roi_max_align_grad.")
CG_OP("roi_max", RoiMaximum,
      "As roi_average with maxima instead of means; empty: the value of bins without pixels. Also the place of each "
      "maximum, row * width + column; -1: none.")
CG_OP("roi_max_grad", RoiMaximumGrad, "Adds each element to the pixel at its place (input places).")
CG_OP("roi_max_at", RoiMaximumAt, "The pixels at the given places; its gradient is roi_max_grad.")

}  // namespace cg
