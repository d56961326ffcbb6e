// The gradient of a node whose parts a program reads one by one: `q, k, v = x`, or each step of a sequence. The
// gradient of x[i] alone is zeros but for one part; a sum of such arrays would write the whole once for each part. In a
// plain pass the parts wait here, and are copied into one array.
#pragma once
#include <ATen/ops/empty_strided.h>
#include <c10/util/strides.h>

#include <algorithm>
#include <vector>

#include "core/function.h"

namespace cg {

class Parts {
 public:
  explicit Parts(at::IntArrayRef sizes) : sizes_(sizes.begin(), sizes.end()) {}
  void add(Part p) {
    numbers_ += p.g.numel();
    waiting_.push_back(std::move(p));
    // Parts that overlap can be any number; together they take no more memory than the whole.
    if (numbers_ > c10::multiply_integers(sizes_)) whole_ = sum();
  }
  // The gradient; no part waits after that.
  at::Tensor sum() {
    const bool apart = !whole_.defined() && are_apart();
    if (!whole_.defined()) {
      const Part& p = waiting_.front();
      const c10::DimVector strides = p.strides.empty() ? c10::contiguous_strides(sizes_) : p.strides;
      whole_ = at::empty_strided(sizes_, strides, p.g.options());
      if (!apart || numbers_ < whole_.numel()) whole_.zero_();
    }
    for (const Part& p : waiting_) {
      const at::Tensor place = whole_.narrow(p.axis, p.begin, p.g.size(p.axis));
      if (apart)
        place.copy_(p.g);
      else
        place.add_(p.g);
    }
    waiting_.clear();
    numbers_ = 0;
    return whole_;
  }

 private:
  // Whether no element belongs to two parts.
  bool are_apart() {
    std::vector<std::pair<int64_t, int64_t>> ranges;
    for (const Part& p : waiting_) {
      if (p.axis != waiting_.front().axis) return waiting_.size() == 1;
      ranges.emplace_back(p.begin, p.begin + p.g.size(p.axis));
    }
    std::sort(ranges.begin(), ranges.end());
    for (size_t i = 1; i < ranges.size(); ++i)
      if (ranges[i].first < ranges[i - 1].second) return false;
    return true;
  }
  const c10::DimVector sizes_;
  std::vector<Part> waiting_;
  int64_t numbers_ = 0;  // in the parts that wait
  at::Tensor whole_;
};

}  // namespace cg
