// The axes of images, and those of a reduction: a list, or None for all.
#pragma once
#include <ATen/WrapDimUtilsMulti.h>

#include <algorithm>

#include "ops/functions.h"

namespace cg {

// Images have the axes samples, channels, and the spatial ones.
inline Ints spatial(at::IntArrayRef sizes) { return ints(sizes.slice(2)); }
inline Ints all_but_channels(int64_t ndim) {
  Ints r{0};
  for (int64_t k = 2; k < ndim; ++k) r.push_back(k);
  return r;
}

using Axes = std::optional<Ints>;

// ATen reads an empty list as "all axes", NumPy as "none".
inline bool none(const Axes& axis) { return axis && axis->empty(); }
inline at::OptionalIntArrayRef or_all(const Axes& axis) { return axis ? at::OptionalIntArrayRef(*axis) : std::nullopt; }
// The axes as non-negative numbers. ValueError for an axis that is given twice.
inline Ints listed(const Axes& axis, int64_t ndim) {
  Ints r;
  for (int64_t i = 0; i < (axis ? static_cast<int64_t>(axis->size()) : ndim); ++i)
    r.push_back(axis ? wrap_axis((*axis)[i], ndim) : i);
  for (size_t i = 1; axis && i < r.size(); ++i)
    TORCH_CHECK_VALUE(std::find(r.begin(), r.begin() + i, r[i]) == r.begin() + i, "axis ", r[i], " is given twice");
  return r;
}
inline int64_t reduced_elements(at::IntArrayRef sizes, const Axes& axis) {
  int64_t n = 1;
  for (int64_t a : listed(axis, sizes.size())) n *= sizes[a];
  return n;
}
// The shape of a reduction's result. at::sum would tell it by a function in Python, which imports torch's compiler at
// its first call; its errors are those of dim_list_to_bitset.
inline Ints reduced_sizes(at::IntArrayRef sizes, const Axes& axis, bool keepdims) {
  const auto reduced = at::dim_list_to_bitset(or_all(axis), sizes.size());
  Ints r;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (!reduced[i] || keepdims) r.push_back(reduced[i] ? 1 : sizes[i]);
  return r;
}

// The result of a reduction, or its gradient, reshaped so that it broadcasts against the input.
template <class T>
T restore_axes(const T& y, at::IntArrayRef in_sizes, const Axes& axis, bool keepdims) {
  if (keepdims || in_sizes.empty() || !axis) {
    if (keepdims || y.dim() == static_cast<int64_t>(in_sizes.size())) return y;
    return shaped(y, Ints(in_sizes.size(), 1));
  }
  Ints shape = ints(in_sizes);
  for (int64_t a : *axis) shape[wrap_axis(a, shape.size())] = 1;
  return shaped(y, shape);
}

// axis and keepdims, common to all reductions.
#define CG_REDUCTION_PARAMS(OP) \
  Axes axis;                    \
  bool keepdims = false;        \
  static constexpr auto params() { return std::make_tuple(param("axis", &OP::axis), param("keepdims", &OP::keepdims)); }

}  // namespace cg
