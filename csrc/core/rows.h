// Gradients of leaves that a pass computes from the rows of many functions at once: the gradient of a weight that a
// program uses in each step of a sequence is one product of all steps' rows, which costs less than a product and a sum
// for each step.
#pragma once
#include <ATen/ops/cat.h>

#include <algorithm>
#include <vector>

#include "core/arithmetic.h"
#include "core/pointer_map.h"
#include "kernels/trace.h"

namespace cg {

class RowsOfLeaves : Pinned {
 public:
  // Whether the rows wait for those of other functions. Rows that are too many together are computed: `add` then gets
  // their gradient. Leaves with the same `key` have one gradient together.
  template <class Add>
  bool join(VariableNode& leaf, const void* key, RowSum sum, const at::Tensor& a, const at::Tensor& b, Add&& add) {
    const bool joins = b.dim() == 2 && b.size(0) <= kFewRows && b.scalar_type() == leaf.dtype && !kernels::traced() &&
                       (leaf.dtype == at::kFloat || leaf.dtype == at::kDouble);
    if (!joins) return false;
    if (const Waiting* w = find(key);
        w && !(w->sum == sum && w->leaf->sizes == leaf.sizes && alike(w->a[0], a) && alike(w->b[0], b)))
      compute(key, add);
    const auto [place, first] = places_.insert(key);
    if (first) {
      *place = waiting_.size();
      waiting_.push_back(std::make_unique<Waiting>(Waiting{Ref<VariableNode>(&leaf), key, sum, {}, {}, 0}));
    }
    Waiting& w = *waiting_[*place];
    w.a.push_back(a);
    w.b.push_back(b);
    w.numbers += b.numel() + (a.defined() ? a.numel() : 0);
    // No more memory than the gradient itself takes, if that is large
    if (w.numbers > std::max(c10::multiply_integers(leaf.sizes), kFewNumbers)) compute(key, add);
    return true;
  }
  bool wait(const void* key) const { return find(key) != nullptr; }
  // Calls add(gradient) for the rows of a key that wait, if there are any.
  template <class Add>
  void compute(const void* key, Add&& add) {
    if (!find(key)) return;
    const auto w = std::move(waiting_[places_.take(key)]);
    if (!places_.size()) waiting_.clear();
    add(fit(w->sum(all(w->a), all(w->b), w->leaf->sizes), *w->leaf));
  }
  // Calls add(leaf, gradient) for all rows that wait. Must be called before user code runs, which may change the arrays
  // that the rows are in.
  template <class Add>
  void compute_all(Add&& add) {
    while (places_.size()) {
      const auto next = std::find_if(waiting_.begin(), waiting_.end(), [](auto& w) { return w != nullptr; });
      const Ref<VariableNode> leaf = (*next)->leaf;
      compute((*next)->key, [&](at::Tensor g) { add(*leaf, std::move(g)); });
    }
  }

 private:
  using Rows = c10::SmallVector<at::Tensor, 8>;
  struct Waiting {
    Ref<VariableNode> leaf;
    const void* key;
    RowSum sum;
    Rows a, b;
    int64_t numbers;  // in a and b
  };
  const Waiting* find(const void* key) const {
    const size_t* place = places_.size() ? places_.find(key) : nullptr;
    return place ? waiting_[*place].get() : nullptr;
  }
  static bool alike(const at::Tensor& t, const at::Tensor& u) {
    if (!t.defined() || !u.defined()) return t.defined() == u.defined();
    return t.scalar_type() == u.scalar_type() && t.device() == u.device() && t.dim() == u.dim();
  }
  static at::Tensor all(const Rows& rows) {
    return rows.size() > 1 && rows[0].defined() ? at::cat(at::TensorList(rows.data(), rows.size())) : rows[0];
  }
  static constexpr int64_t kFewRows = 256, kFewNumbers = 1 << 18;
  std::vector<std::unique_ptr<Waiting>> waiting_;  // null: computed
  PointerMap<void, size_t> places_;
};

}  // namespace cg
