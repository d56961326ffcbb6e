// Gradients of leaves that a pass computes from the rows of many functions at once: the gradient of a weight that a
// program uses in each step of a sequence is one product of all steps' rows, which costs less than a product and a sum
// for each step.
#pragma once
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/arithmetic.h"
#include "core/pointer_map.h"
#include "kernels/raw.h"
#include "kernels/views.h"

namespace cg {

inline const c10::StorageImpl* storage_of(const at::Tensor& t) {
  return t.has_storage() ? t.storage().unsafeGetStorageImpl() : nullptr;
}

class RowsOfLeaves : Pinned {
 public:
  // Returns whether the rows wait for those of other functions, or were added to the gradient. If too many rows wait,
  // their sum is computed and given to `to`: by to.add(sum), or added in to.changeable(), the gradient so far, which is
  // undefined if it must not be changed. Leaves with the same `key` have one gradient together.
  template <class To>
  bool join(VariableNode& leaf, const void* key, RowSum sum, const at::Tensor& a, const at::Tensor& b, To&& to) {
    const bool joins = b.dim() == 2 && b.size(0) <= kFewRows && b.scalar_type() == leaf.dtype && !kernels::traced() &&
                       (leaf.dtype == at::kFloat || leaf.dtype == at::kDouble);
    if (!joins) return false;
    if (const Waiting* w = find(key);
        w && !(w->sum == sum && w->leaf->sizes == leaf.sizes && w->a.joins(a) && w->b.joins(b)))
      compute(key, to);
    if (sum->adds_at_once && add_to(sum, a, b, to)) return true;
    const auto [place, first] = places_.insert(key);
    if (first) {
      *place = waiting_.size();
      waiting_.push_back(std::make_unique<Waiting>(Waiting{Ref<VariableNode>(&leaf), key, sum, {}, {}}));
    }
    Waiting& w = *waiting_[*place];
    const int64_t n = b.size(0), numbers = b.numel() + (a.defined() ? a.numel() : 0);
    const int64_t enough = std::max(kRows, kNumbers * n / std::max<int64_t>(numbers, 1));
    const int64_t capacity = (enough + n - 1) / std::max<int64_t>(n, 1) * n;
    w.a.add(a, capacity);
    w.b.add(b, capacity);
    if (w.b.count() >= enough) compute(key, to);
    return true;
  }
  bool wait(const void* key) const { return find(key) != nullptr; }
  // Whether rows that wait are in this memory.
  bool read(const c10::StorageImpl* memory) const {
    return std::any_of(waiting_.begin(), waiting_.end(),
                       [&](const auto& w) { return w && (w->a.in(memory) || w->b.in(memory)); });
  }
  // Computes the rows of a key that wait, if there are any.
  template <class To>
  void compute(const void* key, To&& to) {
    if (!find(key)) return;
    const auto w = std::move(waiting_[places_.take(key)]);
    if (!places_.size()) waiting_.clear();
    const at::Tensor a = w->a.all(), b = w->b.all();
    if (!add_to(w->sum, a, b, to)) to.add(fit(w->sum->of(a, b, w->leaf->sizes), *w->leaf));
  }
  // Computes all rows that wait; to_leaf(x) is where the sum of leaf x goes. Must be called before user code runs,
  // which may change the arrays that the rows are in.
  template <class ToLeaf>
  void compute_all(ToLeaf&& to_leaf) {
    while (places_.size()) {
      const auto next = std::find_if(waiting_.begin(), waiting_.end(), [](auto& w) { return w != nullptr; });
      const Ref<VariableNode> leaf = (*next)->leaf;
      compute((*next)->key, to_leaf(*leaf));
    }
  }

 private:
  // Rows that wait. Those of the second and later functions are copied to one array when they come: if the functions'
  // arrays were kept until the sum is computed, they and the copy would be in memory at the same time.
  class Rows {
   public:
    void add(const at::Tensor& t, int64_t capacity) {
      if (!all_.defined()) {
        all_ = t;
        rows_ = t.defined() ? t.size(0) : 0;
        return;
      }
      if (!copied_) {
        c10::DimVector sizes(t.sizes().begin(), t.sizes().end());
        sizes[0] = std::max(capacity, rows_ + t.size(0));
        const at::Tensor first = std::exchange(all_, at::empty(sizes, t.options()));
        copied_ = true;
        rows_ = 0;
        append(first);
      }
      append(t);
    }
    int64_t count() const { return rows_; }
    bool in(const c10::StorageImpl* memory) const { return all_.defined() && storage_of(all_) == memory; }
    at::Tensor all() const { return copied_ ? kernels::first_rows(all_, rows_) : all_; }
    // Whether t can be added.
    bool joins(const at::Tensor& t) const {
      if (!all_.defined() || !t.defined()) return all_.defined() == t.defined();
      return all_.scalar_type() == t.scalar_type() && all_.device() == t.device() &&
             all_.sizes().slice(1) == t.sizes().slice(1) && (!copied_ || rows_ + t.size(0) <= all_.size(0));
    }

   private:
    void append(const at::Tensor& t) {
      const int64_t begin = std::exchange(rows_, rows_ + t.size(0));
      if (t.device().is_cpu() && t.is_contiguous() && kernels::plain(t) && t.numel())
        std::memcpy(static_cast<char*>(all_.mutable_data_ptr()) + begin * all_.stride(0) * t.element_size(),
                    t.const_data_ptr(), t.nbytes());
      else
        all_.narrow(0, begin, t.size(0)).copy_(t);
    }
    at::Tensor all_;
    int64_t rows_ = 0;
    bool copied_ = false;
  };
  struct Waiting {
    Ref<VariableNode> leaf;
    const void* key;
    RowSum sum;
    Rows a, b;
  };
  const Waiting* find(const void* key) const {
    const size_t* place = places_.size() ? places_.find(key) : nullptr;
    return place ? waiting_[*place].get() : nullptr;
  }
  template <class To>
  static bool add_to(RowSum sum, const at::Tensor& a, const at::Tensor& b, To&& to) {
    const at::Tensor total = sum->add ? to.changeable() : at::Tensor();
    return total.defined() && sum->add(total, a, b);
  }
  static constexpr int64_t kFewRows = 256;
  // As many rows and numbers wait. MKL takes 6.5 us a row to add the product of 128 or more rows to 512 x 1024 numbers,
  // and 7.4 if there are fewer rows; matrices of 2^16 to 2^22 numbers are alike.
  static constexpr int64_t kRows = 128, kNumbers = 1 << 17;
  std::vector<std::unique_ptr<Waiting>> waiting_;  // null: computed
  PointerMap<void, size_t> places_;
};

}  // namespace cg
