// Joins and parts of tensors without ATen.
#pragma once
#include <ATen/ops/tensor_split.h>
#include <ATen/ops/unbind.h>

#include <cstring>

#include "ops/few.h"
#include "ops/functions.h"

namespace cg {

// The tensors in turn along an axis of `sizes`, if they are ordinary and in C order: of few numbers ATen takes several
// times as long. Otherwise an undefined tensor.
inline Tensor few_joined(TensorList xs, const Ints& sizes, int64_t along) {
  int64_t outer = 1, numel = 1;
  for (size_t i = 0; i < sizes.size(); ++i) (static_cast<int64_t>(i) < along ? outer : numel) *= sizes[i];
  numel *= outer;
  if (numel == 0 || !few::nobody_watches()) return {};
  // Of many numbers in short parts ATen takes less time
  const size_t shortest = numel <= few::kMost ? 0 : 64;  // bytes
  for (const Tensor& x : xs)
    if (!few::ordinary(x) || x.scalar_type() != xs[0].scalar_type() || x.nbytes() / outer < shortest) return {};
  Tensor y = at::detail::empty_cpu(sizes, xs[0].scalar_type(), /*pin_memory=*/false, std::nullopt);
  char* const out = static_cast<char*>(y.mutable_data_ptr());
  const size_t row = y.nbytes() / outer;
  const int64_t parts = static_cast<int64_t>(xs.size());
  // In threads: the parts of all rows, by their numbers
  kernels::in_threads(outer * parts, std::max<int64_t>(kernels::kGrain * outer * parts / numel, 1),
                      [&](int64_t begin, int64_t end) {
                        const int64_t first = begin / parts;
                        for (int64_t i = first; i * parts < end; ++i) {
                          char* to = out + i * row;
                          for (int64_t k = 0; k < std::min(parts, end - i * parts); ++k) {
                            const size_t bytes = xs[k].nbytes() / outer;
                            if (i * parts + k >= begin)
                              std::memcpy(to, static_cast<const char*>(xs[k].const_data_ptr()) + i * bytes, bytes);
                            to += bytes;
                          }
                        }
                      });
  return y;
}

// Adds the lengths along an axis of all but the first of the tensors to `sizes`, those of the first. Returns the first
// tensor that differs from it in another axis, or null.
inline const Tensor* add_lengths(TensorList xs, int64_t along, Ints& sizes) {
  for (const Tensor& x : xs.slice(1)) {
    if (x.dim() != xs[0].dim()) return &x;
    for (int64_t i = 0; i < x.dim(); ++i)
      if (i != along && x.size(i) != sizes[i]) return &x;
    sizes[along] += x.size(along);
  }
  return nullptr;
}
// What at::cat and at::stack give, or an undefined tensor.
inline Tensor few_concat(TensorList xs, int64_t axis) {
  const int64_t ndim = xs[0].dim(), along = axis < 0 ? axis + ndim : axis;
  if (along < 0 || along >= ndim) return {};
  Ints sizes = ints(xs[0].sizes());
  return add_lengths(xs, along, sizes) ? Tensor() : few_joined(xs, sizes, along);
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

// Writes what x holds along the axes from k on, each repeated; returns the end of what it has written. From axis
// `plain` on nothing is repeated, and `run` bytes of x lie side by side.
inline char* write_tiles(const Ints& sizes, const Ints& reps, size_t k, size_t plain, size_t run, const char*& from,
                         char* to) {
  char* const begin = to;
  if (k + 1 >= plain) {
    const size_t bytes = k == plain ? run : run * sizes[k];
    std::memcpy(to, from, bytes);
    from += bytes;
    to += bytes;
    if (k == plain) return to;
  } else {
    for (int64_t i = 0; i < sizes[k]; ++i) to = write_tiles(sizes, reps, k + 1, plain, run, from, to);
  }
  const size_t bytes = to - begin;
  for (int64_t i = 1; i < reps[k]; ++i, to += bytes) std::memcpy(to, begin, bytes);
  return to;
}
// What at::tile gives, if the result has few numbers or its parts are long; otherwise an undefined tensor.
inline Tensor few_tiled(const Tensor& x, const Ints& given) {
  if (!few::nobody_watches() || !few::ordinary(x) || x.numel() == 0) return {};
  constexpr int64_t kLargest = int64_t(1) << 40;  // numbers; more than any memory has
  const size_t ndim = std::max<size_t>(given.size(), x.dim());
  Ints sizes(ndim, 1), reps(ndim, 1), tiled;
  std::copy(x.sizes().begin(), x.sizes().end(), sizes.end() - x.dim());
  std::copy(given.begin(), given.end(), reps.end() - given.size());
  int64_t numel = 1;
  for (size_t i = 0; i < ndim; ++i) {
    if (reps[i] < 1 || reps[i] > kLargest / x.numel()) return {};
    tiled.push_back(sizes[i] * reps[i]);
    if ((numel *= tiled[i]) > kLargest) return {};
  }
  size_t plain = ndim, run = x.element_size();
  while (plain > 0 && reps[plain - 1] == 1) run *= sizes[--plain];
  constexpr size_t shortest = 64;  // bytes; of many numbers in shorter parts ATen takes less time
  if (numel > few::kMost && run * (plain > 0 ? sizes[plain - 1] : 1) < shortest) return {};
  const Tensor y = at::detail::empty_cpu(tiled, x.scalar_type(), /*pin_memory=*/false, std::nullopt);
  const char* from = static_cast<const char*>(x.const_data_ptr());
  char* const to = static_cast<char*>(y.mutable_data_ptr());
  if (plain < 2) {
    write_tiles(sizes, reps, 0, plain, run, from, to);
    return y;
  }
  // In threads: the slices of the result along its first axis
  const int64_t slices = tiled[0], read = x.nbytes() / sizes[0], written = y.nbytes() / slices;
  kernels::in_threads(slices, kernels::kGrain * slices / numel + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const char* slice = from + i % sizes[0] * read;
      write_tiles(sizes, reps, 1, plain, run, slice, to + i * written);
    }
  });
  return y;
}

// What at::tensor_split and at::unbind give: views.
inline std::vector<Tensor> few_parts(const Tensor& x, const Ints& ends, int64_t axis) {
  const int64_t along = axis < 0 ? axis + x.dim() : axis;
  if (along < 0 || along >= x.dim() || !few::nobody_watches() || !few::strided(x))
    return at::tensor_split(x, ends, axis);
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
  if (along < 0 || along >= x.dim() || !few::nobody_watches() || !few::strided(x)) return at::unbind(x, axis);
  Ints sizes = ints(x.sizes()), strides = ints(x.strides());
  sizes.erase(sizes.begin() + along);
  strides.erase(strides.begin() + along);
  std::vector<Tensor> ys;
  for (int64_t i = 0; i < x.size(along); ++i) ys.push_back(few::view_of(x, sizes, strides, i * x.stride(along)));
  return ys;
}

}  // namespace cg
