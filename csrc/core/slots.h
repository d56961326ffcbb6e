// The gradients of nodes that wait to be summed during a pass. The pass owns them; nothing is stored in the graph.
#pragma once
#include "core/arithmetic.h"
#include "core/mode.h"
#include "core/op.h"
#include "core/parts.h"
#include "core/pointer_map.h"
#include "core/postponed.h"
#include "core/rows.h"
#include "core/unread.h"

namespace cg {

// Whether nobody else refers to the buffer: there is no other handle and no view of it.
inline bool sole_owner(const Var& v) { return !v.node && may_overwrite(v.data); }

// The contributions for one node.
struct GradientSlot {
  Ref<VariableNode> node;  // owned while its gradient waits, so that no other node gets its address, and its gradient
  bool leaf = false;
  bool written = false;  // the leaf's gradient is in a program's memory
  Var first;
  std::unique_ptr<c10::SmallVector<Var, 4>> more;
  std::unique_ptr<Parts> parts;  // of the gradient; they came before `first`
  bool empty() const { return !first.defined() && !parts; }
};

template <class T>
class GradientSlots {
 public:
  explicit GradientSlots(bool create_graph) : create_graph_(create_graph) {}
  GradientSlot* find(const VariableNode& node) { return slots_.find(&node); }
  // A node with a slot counts as reached, even while the slot contains no gradient.
  GradientSlot& open(VariableNode& node) {
    const auto [slot, made] = slots_.insert(&node);
    if (made) slot->node = Ref<VariableNode>(&node);
    return *slot;
  }
  void accumulate(VariableNode& node, Var g) { add(open(node), std::move(g)); }
  void add(GradientSlot& s, Var g) {
    if (s.written) read_again(s);
    sum_parts(s);
    if (!s.first.defined()) {
      s.first = std::move(g);
    } else {
      if (!s.more) s.more = std::make_unique<c10::SmallVector<Var, 4>>();
      s.more->push_back(std::move(g));
      if (!create_graph_ && s.more->size() >= kPending) sum(s);
    }
  }
  // Whether the rows of a leaf's gradient wait. The first gradient of a leaf is computed at once: most programs use a
  // weight once, and its operands are in the cache now.
  bool join(VariableNode& leaf, RowSum sum, const Tensor& a, const Tensor& b) {
    GradientSlot* s = find(leaf);
    return s && s->first.defined() && rows_.join(leaf, &leaf, sum, a, b, RowsInto{*this, *s});
  }
  // Before user code runs: whatever waits is computed.
  void compute_all_rows() {
    settle();
    rows_.compute_all([&](VariableNode& leaf) { return RowsInto{*this, open(leaf)}; });
    for (const VariableNode* node : std::exchange(parted_, {}))
      if (GradientSlot* s = slots_.find(node)) sum_parts(*s);
  }
  // Whether a part of the gradient of `node` can wait: sums keep their order, so nothing but parts may have come
  // before.
  bool waits_for_parts(const VariableNode& node) {
    const GradientSlot* s = find(node);
    return !s || !s->first.defined();
  }
  GradientSlot& add_part(VariableNode& node, Part p) {
    GradientSlot& s = open(node);
    if (!s.parts) {
      s.parts = std::make_unique<Parts>(node.sizes);
      parted_.push_back(&node);
    }
    s.parts->add(std::move(p));
    return s;
  }
  void replace(VariableNode& node, Var g) {
    GradientSlot& s = open(node);
    s.more.reset();
    s.parts.reset();
    s.first = std::move(g);
  }
  // Takes out the sum so far; the node then no longer counts as reached.
  Var take(const VariableNode& node) {
    GradientSlot s = slots_.take(&node);
    if (!s.node) return {};
    const ModeScope side(Mode::deferred, create_graph_ && node.deferred);
    collapse(s);
    return std::move(s.first);
  }
  void collapse(GradientSlot& s) {
    if (s.leaf) rows_.compute(s.node.get(), RowsInto{*this, s});
    sum_parts(s);
    sum(s);
  }
  // A gradient with which a program starts the pass.
  void given(const Tensor& g) {
    if (const auto* memory = storage_of(g)) given_.push_back(memory);
  }
  // Writes the gradients of those leaves among a visited function's inputs that no other function reads, as MXNet does.
  // Until then a program's memory contains the gradients of its last pass: if all were written when the pass ends,
  // there would be two gradients of each parameter. Such a pass frees each function, so that the functions still to
  // come are the only other owners of a leaf.
  void write_complete(const Nodes& inputs) {
    if (create_graph_) return;
    for (const auto& x : inputs) {
      GradientSlot* s = x ? find(*x) : nullptr;
      if (!s || !s->leaf || s->empty() || !writable(*x)) continue;
      const auto here = std::count(inputs.begin(), inputs.end(), x);
      // The slot, the pass's list of leaves and rows that wait own the leaf, too.
      if (x->refs != here + 2 + owners(*x) + rows_.wait(x.get())) continue;
      collapse(*s);
      settle();
      read(s->first.data);
      s->written = true;
      x->buffer->write(std::exchange(s->first, Var()).data);
    }
  }
  // The memory of a leaf's last gradient, if the gradient that the visited function is about to compute is the only one
  // of this pass and would replace it at once; otherwise undefined. New memory would be a second gradient, of which the
  // system clears each page. `inputs` and the function own the leaf.
  Tensor last_memory(const Ref<VariableNode>& x, const Nodes& inputs) {
    if (create_graph_ || !x || !writable(*x) || x->buffer->add || x->buffer->data.numel() < kLarge) return {};
    if (unread_gradients || find(*x) || std::count(inputs.begin(), inputs.end(), x) != 1 || x->refs != 2 + owners(*x))
      return {};
    const Tensor& g = x->buffer->data;
    return x->buffer->is_own() && in_own_memory(g) && g.sizes() == x->sizes && g.scalar_type() == x->dtype ? g
                                                                                                           : Tensor();
  }

 private:
  // Whether the gradient of x goes into a program's memory, and nothing that waits is in that memory: gradients that
  // the program gave to the pass, which functions hand on without a copy, and rows.
  bool writable(const VariableNode& x) const {
    if (x.creator || !x.buffer || !x.buffer->data.defined() || x.buffer->data.requires_grad()) return false;
    const c10::StorageImpl* memory = storage_of(x.buffer->data);
    return std::find(given_.begin(), given_.end(), memory) == given_.end() && !rows_.read(memory);
  }
  // How many own a leaf besides functions and the pass: its Variable, its Python object.
  static uint32_t owners(const VariableNode& x) { return (x.variable != nullptr) + (x.handle != nullptr); }
  // Takes sums of rows: adds them to a leaf's slot, or gives them the memory of the gradient in it.
  struct RowsInto {
    GradientSlots& slots;
    GradientSlot& slot;
    void add(Tensor g) {
      slots.add(slot, Var(std::move(g)));
      if (!slots.create_graph_ && slot.more && slot.more->size() >= kPendingRows) slots.sum(slot);
    }
    Tensor changeable() {
      if (slots.create_graph_ || slot.parts || (slot.more && !slot.more->empty())) return {};
      return slot.first.defined() && slot.first.data.is_contiguous() && sole_owner(slot.first) ? slot.first.data
                                                                                               : Tensor();
    }
  };
  // Code in Python has changed the graph, so that another gradient comes after one that seemed complete.
  static void read_again(GradientSlot& s) {
    s.written = false;
    if (const auto& b = s.node->buffer; b && !b->add) s.first = Var(b->data.clone());
  }
  static void sum_parts(GradientSlot& s) {
    if (const auto parts = std::exchange(s.parts, nullptr)) s.first = Var(parts->sum());
  }
  void sum(GradientSlot& s) {
    if (!s.more || s.more->empty()) return;
    if constexpr (std::is_same_v<T, Var>) {
      Vars all{s.first};
      all.append(s.more->begin(), s.more->end());
      s.first = add_n(VarsRef(all));
    } else {
      const bool own = sole_owner(s.first);
      c10::SmallVector<Tensor, 8> all{s.first.data};
      for (Var& v : *s.more) all.push_back(std::move(v.data));
      for (const Tensor& g : all) read(g);
      Tensor total = postponed ? postpone_sum(all) : Tensor();
      if (!total.defined()) {
        settle();
        total = sum_gradients(all, own);
      }
      s.first = Var(std::move(total));  // a new Var, because the first one may belong to a Variable
    }
    s.more->clear();
  }
  // How many gradients of a node wait for their sum at most. Fewer of those that are sums of rows: each of them is as
  // large as a weight that is used in many steps.
  static constexpr size_t kPending = 4, kPendingRows = 2;
  const bool create_graph_;
  PointerMap<VariableNode, GradientSlot> slots_;
  RowsOfLeaves rows_;
  c10::SmallVector<const c10::StorageImpl*, 2> given_;
  std::vector<const VariableNode*> parted_;  // nodes whose slots got parts; a slot may have been taken out since
};

}  // namespace cg
