// An index as in NumPy, applied to a tensor.
#pragma once
#include <ATen/core/List.h>

#include <vector>

#include "ops/index.h"

namespace cg {

// An index applied to a tensor: a view of the tensor, then arrays that index the view, then axes to be reversed.
struct Selection {
  Tensor view;
  std::vector<std::optional<Tensor>> arrays;
  bool advanced = false;
  Ints reversed;  // axes of the result
  Ints inserted;  // axes of length 1 that are removed from the result
  c10::List<std::optional<Tensor>> list() const { return c10::List<std::optional<Tensor>>(arrays); }
  // The entries of one axis in another order, of large arrays: index_select copies each entry at once, where at::index
  // computes the place of each element. Undefined for other indices, among them those from the end.
  Tensor entries() const;
  Tensor pick() const;                        // the elements
  void put(Tensor b, bool accumulate) const;  // b takes their place, or is added to them
};
Selection select(const Tensor& x, const Index& index);

}  // namespace cg
