// Declarations shared by the ops on columns of deformable convolution.
#pragma once
#include <algorithm>

#include "kernels/kernel.h"
#include "kernels/trace.h"
#include "ops/functions.h"

namespace cg {

// Sizes; `places` are the sizes of the columns.
struct Deformed {
  int64_t images, channels, height, width, groups, taps, out_h, out_w;
  Ints columns() const { return {images, channels * taps, out_h, out_w}; }
};
// Four pixels of each position and their weights: (images, groups, taps * places) for each corner.
struct DeformCorners {
  Deformed size;
  Tensor pixels[4], values[2][2], slopes[2][2];  // for each axis, of the lower and the upper pixel
  Tensor weights[4];

  Tensor weight(int64_t order, int corner) const;
  Tensor columns(const Tensor& x) const;
  Tensor spread(const Tensor& gy, at::IntArrayRef insize) const;
  Tensor factors(const Tensor& gy, const Tensor& x, at::IntArrayRef orders) const;
  Tensor read(const Tensor& x, int corner) const;  // (images, groups, channels, taps * places)
  Tensor by_group(const Tensor& columns) const;
};
// The readers of each pixel: see kernels/deform.h.
struct Readers {
  Tensor weights, order, starts;
};

struct DeformGeometry {
  static constexpr int64_t kTogether = 8, kPlanes = 16;  // channels per call, which share the computation of positions

  Ints ksize, stride, pad, dilate;
  int64_t groups = 1;
  bool clamp = false, nan = false;
  Ints orders{0};
  static constexpr auto common() {
    return std::make_tuple(required("ksize", &DeformGeometry::ksize), param("stride", &DeformGeometry::stride),
                           param("pad", &DeformGeometry::pad), param("dilate", &DeformGeometry::dilate),
                           param("groups", &DeformGeometry::groups), param("clamp", &DeformGeometry::clamp),
                           param("nan", &DeformGeometry::nan), param("orders", &DeformGeometry::orders));
  }
  void complete();
  Deformed sizes(at::IntArrayRef x, at::IntArrayRef offset) const;
  Ints factors_size(const Deformed& d) const;
  void check_factors(const Deformed& d, const Tensor& factors) const;
  // The integers of the kernels, see kernels/deform_places.h.
  std::vector<int64_t> integers(const Deformed& d, int64_t together, bool whole) const;
  // The pixels and weights that the kernels compute, by ATen's operations: for tracers, and for data that all channels
  // share.
  DeformCorners formula(const Deformed& d, const Tensor& offset, const Tensor& factors) const;
  static Readers readers(const DeformCorners& corners, const Deformed& d);

  // Calls f(x, more), with copies in main memory if x is on a device without kernels.
  template <class F>
  static Tensor with_kernels(const Tensor& x, TensorList more, F&& f) {
    TORCH_CHECK_TYPE(x.is_floating_point(), "deform_columns: x must be of floating point numbers, not ",
                     x.scalar_type());
    for (const Tensor& t : more)  // the kernels read all of them as numbers of one type
      TORCH_CHECK_TYPE(!t.defined() || t.scalar_type() == x.scalar_type(),
                       "deform_columns: x, offset and factors must have one dtype, not ", x.scalar_type(), " and ",
                       t.scalar_type());
    const bool there = kernels::takes(x);
    const auto given = [&](const Tensor& t) {
      return !t.defined() ? t : there ? t.contiguous() : t.cpu().contiguous();
    };
    std::vector<Tensor> rest;
    for (const Tensor& t : more) rest.push_back(given(t));
    const Tensor y = f(given(x), rest);
    return there ? y : y.to(x.device());
  }
};

}  // namespace cg
