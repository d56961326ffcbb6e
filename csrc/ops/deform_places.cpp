// The positions that deformable convolution reads, computed by ATen's operations.
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/searchsorted.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include "ops/deform.h"

namespace cg {

void DeformGeometry::complete() {
  const auto fill = [](Ints& v, int64_t value) {
    if (v.empty()) v.assign(2, value);
    if (v.size() == 1) v.assign(2, v[0]);
  };
  fill(stride, 1);
  fill(pad, 0);
  fill(dilate, 1);
  TORCH_CHECK_VALUE(ksize.size() == 2 && stride.size() == 2 && pad.size() == 2 && dilate.size() == 2,
                    "deform_columns: ksize, stride, pad and dilate must have 2 entries");
  TORCH_CHECK_VALUE(ksize[0] > 0 && ksize[1] > 0, "deform_columns: ksize must be positive, not ", ksize);
  TORCH_CHECK_VALUE(!orders.empty() && orders.size() <= 4 &&
                        std::all_of(orders.begin(), orders.end(), [](int64_t o) { return o >= 0 && o <= 3; }),
                    "deform_columns: orders must be 1 to 4 numbers from 0 to 3, not ", orders);
}
Deformed DeformGeometry::sizes(at::IntArrayRef x, at::IntArrayRef offset) const {
  TORCH_CHECK_VALUE(x.size() == 4 && groups > 0 && x[1] % groups == 0,
                    "deform_columns: x must have 4 axes and a multiple of ", groups, " channels, not shape ", x);
  const int64_t taps = ksize[0] * ksize[1];
  TORCH_CHECK_VALUE(offset.size() == 4 && offset[0] == x[0] && offset[1] == groups * taps * 2,
                    "deform_columns: offset must have the shape (", x[0], ", ", groups * taps * 2,
                    ", rows, columns), not ", offset);
  TORCH_CHECK_VALUE(x[2] * x[3] > 0 || offset[2] * offset[3] == 0, "deform_columns: the images of x, of shape ", x,
                    ", have no elements");
  return {x[0], x[1], x[2], x[3], groups, taps, offset[2], offset[3]};
}
Ints DeformGeometry::factors_size(const Deformed& d) const {
  return {d.images, groups * d.taps * int64_t(orders.size()), d.out_h, d.out_w};
}
void DeformGeometry::check_factors(const Deformed& d, const Tensor& factors) const {
  if (!factors.defined()) {
    TORCH_CHECK_VALUE(orders.size() == 1, "deform_columns: ", orders.size(), " orders need factors");
    return;
  }
  TORCH_CHECK_VALUE(factors.sizes() == at::IntArrayRef(factors_size(d)), "deform_columns: factors must have the shape ",
                    factors_size(d), ", not ", factors.sizes());
}
std::vector<int64_t> DeformGeometry::integers(const Deformed& d, int64_t together, bool whole) const {
  std::vector<int64_t> r{d.images,
                         d.channels,
                         d.height,
                         d.width,
                         groups,
                         ksize[0],
                         ksize[1],
                         d.out_h,
                         d.out_w,
                         stride[0],
                         stride[1],
                         pad[0],
                         pad[1],
                         dilate[0],
                         dilate[1],
                         clamp ? 2 : nan,
                         int64_t(orders.size())};
  for (size_t j = 0; j < 4; ++j) r.push_back(j < orders.size() ? orders[j] : 0);
  r.push_back(std::max<int64_t>(together, 1));
  r.push_back(whole);
  return r;
}

DeformCorners DeformGeometry::formula(const Deformed& d, const Tensor& offset, const Tensor& factors) const {
  DeformCorners r;
  r.size = d;
  const bool narrow = offset.element_size() < 4;
  const Tensor moved =
      (narrow ? offset.to(at::kFloat) : offset).reshape({d.images, groups, ksize[0], ksize[1], 2, d.out_h, d.out_w});
  Tensor pixels[2][2];
  for (int axis = 0; axis < 2; ++axis) {
    const int64_t length = axis ? d.width : d.height, out = axis ? d.out_w : d.out_h;
    const auto ramp = [&](int64_t n, int64_t step, int64_t start) {
      return at::arange(n, moved.options()).mul(step).add(start);
    };
    const Tensor taps = ramp(ksize[axis], dilate[axis], -pad[axis]), places = ramp(out, stride[axis], 0);
    const Tensor base = axis ? taps.view({-1, 1, 1}) + places : taps.view({-1, 1, 1, 1}) + places.view({-1, 1});
    const Tensor at = (moved.select(4, axis) + base).reshape({d.images, groups, -1});
    const Tensor inside = (clamp ? at.ge(0) : at.gt(-1)).logical_and(at.lt(length));
    const Tensor place = at::where(inside, at, at::zeros_like(at)), low = place.floor(), rest = place - low;
    const Tensor a = inside.logical_and(low.ge(0)), b = inside.logical_and(low.lt(length - 1));
    const Tensor still = clamp ? low.ge(length - 1) : at::zeros_like(inside), zero = at::zeros_like(at);
    const Tensor beyond = nan ? at::where(at::isnan(at), at, zero) : zero;
    r.values[axis][0] = at::where(a, at::where(still, zero + 1, 1 - rest), beyond);
    r.values[axis][1] = at::where(b, rest, zero);
    r.slopes[axis][0] = at::where(a.logical_and(still.logical_not()), zero - 1, zero);
    r.slopes[axis][1] = at::where(b, zero + 1, zero);
    pixels[axis][0] = low.clamp_min(0).to(at::kLong);
    pixels[axis][1] = (low + 1).clamp_max(length - 1).to(at::kLong);
  }
  const Tensor given = factors.defined()
                           ? (narrow ? factors.to(at::kFloat) : factors)
                                 .reshape({d.images, groups, d.taps, int64_t(orders.size()), d.out_h * d.out_w})
                           : factors;
  for (int corner = 0; corner < 4; ++corner) {
    r.pixels[corner] = pixels[0][corner / 2] * d.width + pixels[1][corner % 2];
    for (size_t j = 0; j < orders.size(); ++j) {
      Tensor w = r.weight(orders[j], corner);
      if (given.defined()) w = w * given.select(3, j).reshape(w.sizes());
      r.weights[corner] = j ? r.weights[corner] + w : w;
    }
  }
  return r;
}

Tensor DeformCorners::weight(int64_t order, int corner) const {
  const Tensor& h = (order & 1 ? slopes : values)[0][corner / 2];
  return h * (order & 2 ? slopes : values)[1][corner % 2];
}
Tensor DeformCorners::by_group(const Tensor& columns) const {
  return columns.reshape({size.images, size.groups, size.channels / size.groups, -1});
}
Tensor DeformCorners::read(const Tensor& x, int corner) const {
  const Tensor planes = by_group(x), at = pixels[corner].unsqueeze(2);
  return at::gather(planes, 3, at.expand({-1, -1, planes.size(2), -1}));
}
Tensor DeformCorners::columns(const Tensor& x) const {
  Tensor y;
  for (int corner = 0; corner < 4; ++corner) {
    const Tensor part = read(x, corner) * weights[corner].to(x.scalar_type()).unsqueeze(2);
    y = corner ? y + part : part;
  }
  return y.reshape(size.columns());
}
Tensor DeformCorners::spread(const Tensor& gy, at::IntArrayRef insize) const {
  const Tensor g = by_group(gy);
  Tensor gx = at::zeros({g.size(0), g.size(1), g.size(2), size.height * size.width}, gy.options());
  for (int corner = 0; corner < 4; ++corner)
    gx = gx.scatter_add(3, pixels[corner].unsqueeze(2).expand(g.sizes()),
                        g * weights[corner].to(gy.scalar_type()).unsqueeze(2));
  return gx.reshape(insize);
}
Tensor DeformCorners::factors(const Tensor& gy, const Tensor& x, at::IntArrayRef orders) const {
  const Tensor g = by_group(gy);
  Tensor sums[4];
  for (int corner = 0; corner < 4; ++corner) sums[corner] = (g * read(x, corner)).sum(2);
  std::vector<Tensor> found;
  for (const int64_t order : orders) {
    Tensor y;
    for (int corner = 0; corner < 4; ++corner) {
      const Tensor part = sums[corner] * weight(order, corner).to(gy.scalar_type());
      y = corner ? y + part : part;
    }
    found.push_back(y.reshape({size.images, size.groups, size.taps, size.out_h * size.out_w}));
  }
  return at::stack(found, 3);
}

Readers DeformGeometry::readers(const DeformCorners& c, const Deformed& d) {
  const int64_t lists = d.images * d.groups, area = d.height * d.width;
  const auto entries = [&](const Tensor(&parts)[4]) {
    return at::stack({parts[0], parts[1], parts[2], parts[3]}, 3).reshape({lists, -1});
  };
  Readers r;
  r.weights = entries(c.weights).contiguous();
  // Entries of weight 0 get an index after all pixels, so that they are not read.
  const Tensor pixels = at::where(r.weights.ne(0), entries(c.pixels), area);
  const auto [sorted, order] = at::sort(pixels, std::optional<bool>(true), 1);
  r.order = order.to(at::kInt);
  const Tensor starts = at::arange(area + 1, pixels.options()).expand({lists, -1}).contiguous();
  r.starts = at::searchsorted(sorted, starts, /*out_int32=*/true);
  return r;
}

}  // namespace cg
