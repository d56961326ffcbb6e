// Joins and parts of few numbers without ATen.
#pragma once
#include <ATen/ops/tensor_split.h>
#include <ATen/ops/unbind.h>

#include <cstring>

#include "ops/few.h"
#include "ops/functions.h"

namespace cg {

// The tensors in turn along an axis of `sizes`, if they are few numbers in C order: ATen takes several times as long.
// Otherwise an undefined tensor.
inline Tensor few_joined(TensorList xs, const Ints& sizes, int64_t along) {
  int64_t outer = 1, numel = 1;
  for (size_t i = 0; i < sizes.size(); ++i) (static_cast<int64_t>(i) < along ? outer : numel) *= sizes[i];
  if (!few::nobody_watches() || outer * numel > few::kMost || outer * numel == 0) return {};
  for (const Tensor& x : xs)
    if (!few::takes(x) || x.scalar_type() != xs[0].scalar_type()) return {};
  Tensor y = at::detail::empty_cpu(sizes, xs[0].scalar_type(), /*pin_memory=*/false, std::nullopt);
  char* out = static_cast<char*>(y.mutable_data_ptr());
  for (int64_t i = 0; i < outer; ++i)
    for (const Tensor& x : xs) {
      const size_t bytes = x.nbytes() / outer;
      std::memcpy(out, static_cast<const char*>(x.const_data_ptr()) + i * bytes, bytes);
      out += bytes;
    }
  return y;
}

// What at::cat and at::stack give, or an undefined tensor.
inline Tensor few_concat(TensorList xs, int64_t axis) {
  const int64_t ndim = xs[0].dim(), along = axis < 0 ? axis + ndim : axis;
  if (along < 0 || along >= ndim) return {};
  Ints sizes = ints(xs[0].sizes());
  for (const Tensor& x : xs.slice(1)) {
    if (x.dim() != ndim) return {};
    for (int64_t i = 0; i < ndim; ++i)
      if (i != along && x.size(i) != sizes[i]) return {};
    sizes[along] += x.size(along);
  }
  return few_joined(xs, sizes, along);
}
inline Tensor few_stack(TensorList xs, int64_t axis) {
  const int64_t ndim = xs[0].dim() + 1, along = axis < 0 ? axis + ndim : axis;
  if (along < 0 || along >= ndim) return {};
  for (const Tensor& x : xs.slice(1))
    if (x.sizes() != xs[0].sizes()) return {};
  Ints sizes = ints(xs[0].sizes());
  sizes.insert(sizes.begin() + along, static_cast<int64_t>(xs.size()));
  return few_joined(xs, sizes, along);
}

// What at::tensor_split and at::unbind give: views.
inline std::vector<Tensor> few_parts(const Tensor& x, const Ints& ends, int64_t axis) {
  const int64_t along = axis < 0 ? axis + x.dim() : axis;
  if (along < 0 || along >= x.dim() || !few::nobody_watches() || !few::takes(x)) return at::tensor_split(x, ends, axis);
  Ints sizes = ints(x.sizes());
  std::vector<Tensor> ys;
  int64_t begin = 0;
  for (size_t i = 0; i <= ends.size(); ++i) {
    const int64_t end = i < ends.size() ? ends[i] : x.size(along);
    if (end < begin || end > x.size(along)) return at::tensor_split(x, ends, axis);
    sizes[along] = end - begin;
    ys.push_back(few::view_of(x, sizes, x.strides(), begin * x.stride(along)));
    begin = end;
  }
  return ys;
}
inline std::vector<Tensor> few_slices(const Tensor& x, int64_t axis) {
  const int64_t along = axis < 0 ? axis + x.dim() : axis;
  if (along < 0 || along >= x.dim() || !few::nobody_watches() || !few::takes(x)) return at::unbind(x, axis);
  Ints sizes = ints(x.sizes()), strides = ints(x.strides());
  sizes.erase(sizes.begin() + along);
  strides.erase(strides.begin() + along);
  std::vector<Tensor> ys;
  for (int64_t i = 0; i < x.size(along); ++i) ys.push_back(few::view_of(x, sizes, strides, i * x.stride(along)));
  return ys;
}

}  // namespace cg
