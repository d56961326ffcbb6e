// One pass of backpropagation: the heap, the slots and the visit of a function. backprop.cpp starts and ends passes.
#pragma once
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "core/backprop.h"
#include "core/mode.h"
#include "core/op.h"
#include "core/plan.h"
#include "core/slots.h"

namespace cg {

// An old-style function's gradients have no history: differentiating them again would give wrong results silently.
inline void check_old_style(const VariableNode& x) {
  if (x.old_style_generator)
    throw std::runtime_error("cannot twice-differentiate an old style Function \"" + *x.old_style_generator + "\"");
}

inline void check_released(const VariableNode& x) {
  if (x.creator && x.creator->released)
    throw ReleasedGraph("an earlier backward pass has freed this graph; it keeps it when asked to retain it");
}

template <class T>
class Pass : GradientSlots<T> {
 public:
  using GradientSlots<T>::accumulate, GradientSlots<T>::replace, GradientSlots<T>::take;
  Pass(const PassOptions& options, bool selective)
      : GradientSlots<T>(options.create_graph), options_(options), selective_(selective) {}
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;
  // Whatever stopped the pass, the graph is left unclaimed.
  ~Pass() {
    for (auto& e : heap_) {
      if (e.function->queued_by == this) e.function->queued_by = nullptr;
      for (auto& y : e.function->outputs) clear(y.node);
    }
    for (auto& n : touched_) clear(n.get());
    for (auto& n : marked_)
      if (n->marked_by == this) n->marked_by = nullptr;
  }

  bool stops_at(const FunctionNode* f) const { return options_.stops && options_.stops->count(f); }
  void push(FunctionNode* f) {
    if (stops_at(f)) return;
    // What is on the side stays there: the pass that owned the field may have let go of it meanwhile.
    if (!side_queued_.empty() && side_queued_.count(f)) return;
    if (f->queued_by == nullptr)
      f->queued_by = this;
    else if (f->queued_by == this)
      return;
    else
      side_queued_.insert(f);
    heap_.push_back({Ref<FunctionNode>(f), next_++});
    std::push_heap(heap_.begin(), heap_.end(), before);
  }
  // Nodes that are not outputs of a queued function and so must be remembered for clean-up.
  void touch(VariableNode& node) { touched_.emplace_back(&node); }
  void mark(VariableNode& node) {
    if (node.marked_by == nullptr) {
      node.marked_by = this;
      marked_.emplace_back(&node);
    } else if (node.marked_by != this) {
      side_marked_.insert(&node);
    }
  }
  bool is_marked(const VariableNode& node) const {
    return node.marked_by == this || (!side_marked_.empty() && side_marked_.count(&node));
  }

  // `captured(node, gradient)` sees the final gradient of every output of every visited function.
  template <class Captured>
  void run(Captured&& captured) {
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), before);
      Ref<FunctionNode> f = std::move(heap_.back().function);
      heap_.pop_back();
      if (f->queued_by == this)
        f->queued_by = nullptr;
      else
        side_queued_.erase(f.get());
      visit(*f, captured);
    }
  }
  std::vector<Ref<VariableNode>>& leaves() { return leaves_; }
  // Outputs whose given gradients the pass has used up.
  std::vector<Ref<VariableNode>>& given() { return given_; }

 private:
  using GradientSlots<T>::slot, GradientSlots<T>::find, GradientSlots<T>::has_gradient, GradientSlots<T>::clear,
      GradientSlots<T>::collapse;
  struct Entry {
    Ref<FunctionNode> function;
    uint64_t order;
  };
  static bool before(const Entry& a, const Entry& b) {
    return a.function->rank != b.function->rank ? a.function->rank < b.function->rank : a.order > b.order;
  }

  bool target(const FunctionNode& f, const Ref<VariableNode>& x) const {
    if (!x) return false;
    if (!selective_) return x->requires_grad;
    return is_marked(*x) && (x->requires_grad || f.saved_constants || f.python);
  }

  // A gradient that a program gave to an output of a function.
  bool has_given(const VariableNode& y) const {
    return !selective_ && y.variable && y.variable->grad.defined() && !y.buffer && !y.deferred;
  }
  // Where the pass did not lead to an output, the output has the gradient that a program gave it.
  Var final_gradient(VariableNode& y) {
    if (!has_given(y) || find(y)) return take(y);
    given_.emplace_back(&y);
    return y.variable->grad;
  }

  template <class Captured>
  void visit(FunctionNode& f, Captured& captured) {
    const bool later = f.call && options_.create_graph;
    const ModeScope side(Mode::deferred, later);  // what the backward of f is made of goes to the graph that has f
    Vars gys;
    bool some_gradient = false;
    for (size_t j = 0; j < f.outputs.size(); ++j) {
      Var g;
      if (Ref<VariableNode> y{f.outputs[j].node}) {
        g = final_gradient(*y);
        captured(*y, g);
      }
      some_gradient |= g.defined();
      gys.push_back(std::move(g));
    }
    c10::SmallVector<bool, 4> wanted;
    bool any = false;
    for (auto& x : f.inputs) {
      wanted.push_back(target(f, x));
      any |= wanted.back();
      if (x && !wanted.back()) check_released(*x);
    }
    if (!any) return;
    if (!some_gradient && !f.python)
      throw MissingGradient("the outputs of " + binding.label(f) + " have no gradient: set y.grad before y.backward()");

    const bool observed = f.hooks || (!f.call && binding.observing && binding.observing());
    if (observed) binding.before_backward(f, gys);
    Vars gxs(wanted.size());
    const OpInfo* info = f.info();
    if (f.python) {
      binding.python_backward(f, gys, gxs, wanted, this, &Pass::take_pending);
    } else if (info && info->override_backward && (later || !f.call)) {
      binding.overridden_backward(f, gys, gxs, wanted);
      for (size_t i = 0; i < gxs.size(); ++i)
        if (gxs[i].defined()) gxs[i] = fit(std::move(gxs[i]), *f.inputs[i]);
    } else if (!(later && binding.registered_backward(f, gys, gxs, wanted))) {
      run_native(f, gys, gxs, wanted, observed);
    }
    if (observed) binding.after_backward(f, gys);
    gys.clear();

    const bool debug = mode(Mode::debug);
    for (size_t i = 0; i < gxs.size(); ++i) {
      if (wanted[i] && !gxs[i].defined() && options_.zeros && !f.call) gxs[i] = zeros_of(*f.inputs[i]);
      if (!wanted[i] || !gxs[i].defined()) continue;
      if (f.python && !selective_) binding.check_gradient(f, i, gxs[i].data);
      if (debug && !(gxs[i].node && gxs[i].node->deferred) && has_nan(gxs[i].data))
        throw std::runtime_error("NaN is detected on backward computation of " + binding.label(f));
    }
    for (size_t i = 0; i < gxs.size(); ++i) {
      if (!wanted[i] || i >= f.inputs.size()) continue;
      VariableNode& x = *f.inputs[i];
      if (gxs[i].defined()) {
        if (!x.creator && !find(x)) open_leaf(x);
        accumulate(x, std::move(gxs[i]));
      } else if (x.creator && has_given(x) && !find(x)) {
        touch(x);
        slot(x);  // reached: what its Variable has does not count
      }
      if (x.creator && has_gradient(x)) push(x.creator.get());
    }
    if (options_.release && !f.call) {
      // A node that only this function holds has its gradient waiting in it.
      for (auto& x : f.inputs)
        if (x && x->creator) touch(*x);
      f.release_graph();
    }
  }

  static Var zeros_of(const VariableNode& x) {
    return Var(at::zeros(x.sizes, at::TensorOptions().dtype(x.dtype).device(x.device)));
  }
  // `keep`: hooks still want to see `gys`. Otherwise a gradient is handed over, so that its memory can be used again.
  void run_native(FunctionNode& f, Vars& gys, Vars& gxs, c10::ArrayRef<bool> wanted, bool keep) {
    if (std::is_same_v<T, Var> && (options_.create_graph || (f.info() && !f.call))) {
      Ctx<Var> c(f, gys, gxs, wanted);
      f.backward(c);
      for (size_t i = 0; i < gxs.size(); ++i)
        if (gxs[i].defined()) gxs[i] = fit(std::move(gxs[i]), *f.inputs[i]);
    } else {
      if (f.call) compute_missing(f, wanted);
      Tensors gy, gx(wanted.size());
      bool large = false;
      for (Var& g : gys) {
        large |= g.defined() && g.data.numel() >= kLarge;
        gy.push_back(keep ? g.data : std::move(g.data));
      }
      {
        // Without the lock another thread may drop an output whose data is read here.
        c10::SmallVector<Ref<VariableNode>, 2> alive;
        if (large)
          for (auto& y : f.outputs) alive.emplace_back(y.node);
        Unlocked unlocked(large && f.info());  // without info it may run Python
        Ctx<Tensor> c(f, gy, gx, wanted);
        f.backward(c);
        for (size_t i = 0; i < gx.size(); ++i)
          if (gx[i].defined()) gx[i] = fit(std::move(gx[i]), *f.inputs[i]);
      }
      for (size_t i = 0; i < gx.size(); ++i) gxs[i].data = std::move(gx[i]);
    }
  }

 public:
  // A leaf starts from the gradient that its Variable has already; that one stays in place until the pass succeeded.
  void open_leaf(VariableNode& x) {
    check_old_style(x);
    leaves_.emplace_back(&x);
    touch(x);
    slot(x);  // from now on it counts as opened, also while it has no gradient
    if (!selective_ && x.variable && x.variable->grad.defined()) accumulate(x, x.variable->grad);
  }
  bool has(VariableNode& node) { return find(node) != nullptr; }

 private:
  // What is accumulated so far for an input: functions that accumulate themselves ask for it.
  static Var take_pending(void* pass, VariableNode& x) {
    auto* self = static_cast<Pass*>(pass);
    if (!x.creator && !self->find(x)) self->open_leaf(x);
    GradientSlot* s = self->find(x);
    if (!s) return {};
    self->collapse(*s);
    return std::exchange(s->first, Var());
  }

  const PassOptions& options_;
  const bool selective_;
  uint64_t next_ = 0;
  std::vector<Entry> heap_;
  std::vector<Ref<VariableNode>> leaves_, touched_, marked_, given_;
  std::unordered_set<const VariableNode*> side_marked_;
  std::unordered_set<const FunctionNode*> side_queued_;
};

}  // namespace cg
