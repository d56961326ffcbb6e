// The gradients that wait for their functions during a pass, in the slots of the nodes they belong to.
#pragma once
#include <unordered_map>

#include "core/mode.h"
#include "core/op.h"
#include "ops/functions.h"

namespace cg {

// A buffer nobody else can see: no other handle, no view of it.
inline bool sole_owner(const Var& v) { return !v.node && may_overwrite(v.data); }

// Of one pass. A slot that another pass holds is replaced by an entry in a table of this one's own.
template <class T>
class GradientSlots {
 public:
  explicit GradientSlots(bool create_graph) : create_graph_(create_graph) {}
  void accumulate(VariableNode& node, Var g) {
    GradientSlot& s = slot(node);
    if (!s.first.defined()) {
      s.first = std::move(g);
    } else {
      if (!s.more) s.more = std::make_unique<c10::SmallVector<Var, 4>>();
      s.more->push_back(std::move(g));
      if (!create_graph_ && s.more->size() >= kPending) collapse(s);
    }
  }
  void replace(VariableNode& node, Var g) {
    GradientSlot& s = slot(node);
    s.more.reset();
    s.first = std::move(g);
  }
  Var take(VariableNode& node) {
    GradientSlot* s = find(node);
    if (!s) return {};
    const ModeScope side(Mode::deferred, create_graph_ && node.deferred);
    collapse(*s);
    Var g = std::move(s->first);
    s->first = {};
    s->owner = nullptr;
    if (s != &node.slot) side_slots_.erase(&node);
    return g;
  }

 protected:
  // What is on the side stays there: the pass that owned the field may have let go of it meanwhile.
  GradientSlot& slot(VariableNode& node) {
    if (GradientSlot* s = find(node)) return *s;
    if (node.slot.owner == nullptr) {
      node.slot.owner = this;
      return node.slot;
    }
    GradientSlot& s = side_slots_[&node];
    s.owner = this;
    return s;
  }
  GradientSlot* find(VariableNode& node) {
    if (node.slot.owner == this) return &node.slot;
    if (side_slots_.empty()) return nullptr;
    auto it = side_slots_.find(&node);
    return it == side_slots_.end() ? nullptr : &it->second;
  }
  void clear(VariableNode* node) {
    if (node && node->slot.owner == this) node->slot = GradientSlot();
  }
  void collapse(GradientSlot& s) {
    if (!s.more || s.more->empty()) return;
    if constexpr (std::is_same_v<T, Var>) {
      Vars all{s.first};
      all.append(s.more->begin(), s.more->end());
      s.first = add_n(VarsRef(all));
    } else {
      const bool own = sole_owner(s.first);
      c10::SmallVector<Tensor, 8> all{s.first.data};
      for (Var& v : *s.more) all.push_back(std::move(v.data));
      s.first = Var(sum_gradients(all, own));  // not the Variable that the first one was
    }
    s.more->clear();
  }
  bool has_gradient(VariableNode& node) {
    const GradientSlot* s = find(node);
    return s && s->first.defined();
  }

 private:
  static constexpr size_t kPending = 4;
  const bool create_graph_;
  std::unordered_map<VariableNode*, GradientSlot> side_slots_;
};

}  // namespace cg
