// An index expression, as NumPy reads it: x[0, ..., None, 2:9:2, rows].
#pragma once
#include <optional>
#include <vector>

#include "ops/functions.h"

namespace cg {

struct IndexItem {
  enum class Kind : uint8_t { None, Ellipsis, Int, Slice, Tensor };
  Kind kind = Kind::Ellipsis;
  std::optional<int64_t> start;  // Int: the index. Slice: the start as written; may be negative or out of range.
  std::optional<int64_t> stop;
  int64_t step = 1;   // not 0; may be negative
  at::Tensor tensor;  // integers of any width, or a boolean mask (also of no dimension: x[True])

  static IndexItem none() { return {Kind::None, {}, {}, 1, {}}; }
  static IndexItem ellipsis() { return {}; }
  static IndexItem integer(int64_t i) { return {Kind::Int, i, {}, 1, {}}; }
  static IndexItem slice(std::optional<int64_t> start, std::optional<int64_t> stop, int64_t step = 1) {
    return {Kind::Slice, start, stop, step, {}};
  }
  static IndexItem array(at::Tensor t) { return {Kind::Tensor, {}, {}, 1, std::move(t)}; }
};

// x[index] as in NumPy: a view if the index has no arrays.
Tensor get_item(const Tensor& x, const Index& index);
Var get_item(const Var& x, const Index& index);
// The gradient of get_item: zeros of `shape`, to which gy is added at the index.
Tensor get_item_grad(const Tensor& gy, const Index& index, at::IntArrayRef shape);
Var get_item_grad(const Var& gy, const Index& index, at::IntArrayRef shape);
// The index that selects elements start to stop - 1 of one axis (counted from the front).
inline Index along(int64_t axis, std::optional<int64_t> start, std::optional<int64_t> stop) {
  Index r(axis, IndexItem::slice({}, {}));
  r.push_back(IndexItem::slice(start, stop));
  return r;
}

}  // namespace cg
