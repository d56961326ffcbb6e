// One pass of backpropagation: the heap, the slots and the visit of a function. backprop.cpp starts and ends passes.
#pragma once
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <vector>

#include "core/backprop.h"
#include "core/door.h"
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
  using GradientSlots<T>::accumulate, GradientSlots<T>::replace, GradientSlots<T>::take, GradientSlots<T>::find;
  Pass(const PassOptions& options, bool selective)
      : GradientSlots<T>(options.create_graph), options_(options), selective_(selective) {}
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

  bool stops_at(const FunctionNode* f) const { return options_.stops && options_.stops->count(f); }
  void push(FunctionNode* f) {
    if (stops_at(f) || !queued_.insert(f).second) return;
    heap_.push_back({Ref<FunctionNode>(f), f->rank, next_++});
    std::push_heap(heap_.begin(), heap_.end());
  }
  // Of a selective pass: a gradient of this node is wanted, or leads to one that is.
  void mark(VariableNode& node) { *marked_.insert(&node).first = Ref<VariableNode>(&node); }
  bool is_marked(const VariableNode& node) const { return marked_.contains(&node); }

  // `captured(node, gradient)` sees the final gradient of every output of every visited function.
  template <class Captured>
  void run(Captured&& captured) {
    while (!heap_.empty()) {
      if (slow_ || ++visits_ % 16 == 0) binding.check_signals();
      slow_ = false;
      std::pop_heap(heap_.begin(), heap_.end());
      Ref<FunctionNode> f = std::move(heap_.back().function);
      heap_.pop_back();
      queued_.take(f.get());
      visit(*f, captured);
    }
  }
  std::vector<Ref<VariableNode>>& leaves() { return leaves_; }
  // Outputs whose given gradients the pass has used up.
  std::vector<Ref<VariableNode>>& given() { return given_; }

 private:
  using GradientSlots<T>::open, GradientSlots<T>::add, GradientSlots<T>::collapse;
  struct Entry {
    Ref<FunctionNode> function;
    int32_t rank;
    uint64_t order;
    bool operator<(const Entry& o) const { return rank != o.rank ? rank < o.rank : order > o.order; }
  };

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

  // Hooks, finalizers of arrays and other threads may rewire the graph at any call out of here: what a visit needs it
  // holds itself.
  template <class Captured>
  void visit(FunctionNode& f, Captured& captured) {
    const bool later = f.call && options_.create_graph;
    const ModeScope side(Mode::deferred, later);  // what the backward of f is made of goes to the graph that has f
    Vars gys;
    Nodes outputs;  // a backward reads their data
    for (auto& y : f.outputs) outputs.emplace_back(y.node);
    bool some_gradient = false;
    for (auto& y : outputs) {
      Var g;
      if (y) {
        g = final_gradient(*y);
        captured(*y, g);
      }
      some_gradient |= g.defined();
      gys.push_back(std::move(g));
    }
    const Nodes inputs = f.inputs;
    c10::SmallVector<bool, 4> wanted;
    bool any = false;
    for (auto& x : inputs) {
      wanted.push_back(target(f, x));
      any |= wanted.back();
      if (x && !wanted.back()) check_released(*x);
    }
    if (!any) return;
    if (!some_gradient && !f.python)
      throw MissingGradient("the outputs of " + binding.label(f) + " have no gradient: set y.grad before y.backward()");

    const bool observed = f.hooks || (!f.call && binding.observing && binding.observing());
    if (observed) {
      const Door door;
      binding.before_backward(f, gys);
    }
    Vars gxs(wanted.size());
    const OpInfo* info = f.info();
    if (f.python) {
      const Door door;
      binding.python_backward(f, inputs, gys, gxs, wanted, this, &Pass::take_pending);
    } else if (info && info->override_backward && (later || !f.call)) {
      {
        const Door door;
        binding.overridden_backward(f, gys, gxs, wanted);
      }
      fit_all(gxs, inputs);
    } else if (!(later && registered(f, inputs, gys, gxs, wanted))) {
      run_native(f, inputs, gys, gxs, wanted, observed);
    }
    if (observed) {
      const Door door;
      binding.after_backward(f, gys);
    }
    gys.clear();

    const bool debug = mode(Mode::debug);
    for (size_t i = 0; i < gxs.size(); ++i) {
      if (wanted[i] && !gxs[i].defined() && options_.zeros && !f.call) gxs[i] = zeros_of(*inputs[i]);
      if (!wanted[i] || !gxs[i].defined()) continue;
      if (f.python && !selective_) binding.check_gradient(f, *inputs[i], i, gxs[i].data);
      if (debug && !(gxs[i].node && gxs[i].node->deferred) && has_nan(gxs[i].data))
        throw std::runtime_error("NaN is detected on backward computation of " + binding.label(f));
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!wanted[i]) continue;
      VariableNode& x = *inputs[i];
      if (gxs[i].defined()) {
        if (!x.creator && !find(x)) open_leaf(x);
        add(open(x), std::move(gxs[i]));
      } else if (x.creator && has_given(x) && !find(x)) {
        open(x);  // reached: what its Variable has does not count
      }
      if (!x.creator) continue;
      if (const GradientSlot* s = find(x); s && s->first.defined()) push(x.creator.get());
    }
    if (options_.release && !f.call) f.release_graph();
  }

  static void fit_all(Vars& gxs, NodesRef inputs) {
    for (size_t i = 0; i < gxs.size(); ++i)
      if (gxs[i].defined()) gxs[i] = fit(std::move(gxs[i]), *inputs[i]);
  }
  static bool registered(FunctionNode& f, NodesRef inputs, VarsRef gys, Vars& gxs, c10::ArrayRef<bool> wanted) {
    const Door door;
    if (!binding.registered_backward(f, inputs, gys, gxs, wanted)) return false;
    fit_all(gxs, inputs);
    return true;
  }
  static Var zeros_of(const VariableNode& x) {
    return Var(at::zeros(x.sizes, at::TensorOptions().dtype(x.dtype).device(x.device)));
  }
  // A native backward reads the inputs that its function had when the visit began, also where a hook has cut it off.
  struct Whole {
    FunctionNode& f;
    const bool cut;
    Whole(FunctionNode& g, const Nodes& inputs) : f(g), cut(g.inputs.size() != inputs.size()) {
      if (cut) f.inputs = inputs;
    }
    ~Whole() {
      if (cut) const Nodes again = std::exchange(f.inputs, Nodes());
    }
  };
  // `keep`: hooks still want to see `gys`. Otherwise a gradient is handed over, so that its memory can be used again.
  void run_native(FunctionNode& f, const Nodes& inputs, Vars& gys, Vars& gxs, c10::ArrayRef<bool> wanted, bool keep) {
    const Whole whole(f, inputs);
    if (std::is_same_v<T, Var> && (options_.create_graph || (f.info() && !f.call))) {
      Ctx<Var> c(f, gys, gxs, wanted);
      f.backward(c);
      fit_all(gxs, inputs);
      return;
    }
    if (f.call) compute_missing(f, wanted);
    Tensors gy, gx(wanted.size());
    bool large = false;
    for (Var& g : gys) {
      large |= g.defined() && g.data.numel() >= kLarge;
      gy.push_back(keep ? g.data : std::move(g.data));
    }
    slow_ |= large;
    {
      Unlocked unlocked(large && f.info());  // without info it may run Python
      Ctx<Tensor> c(f, gy, gx, wanted);
      f.backward(c);
      for (size_t i = 0; i < gx.size(); ++i)
        if (gx[i].defined()) gx[i] = fit(std::move(gx[i]), *inputs[i]);
    }
    for (size_t i = 0; i < gx.size(); ++i) gxs[i].data = std::move(gx[i]);
  }

 public:
  // A leaf starts from the gradient that its Variable has already; that one stays in place until the pass succeeded.
  void open_leaf(VariableNode& x) {
    check_old_style(x);
    leaves_.emplace_back(&x);
    open(x);  // it counts as reached from now on, also while it has no gradient
    if (!selective_ && x.variable && x.variable->grad.defined()) accumulate(x, x.variable->grad);
  }

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
  unsigned visits_ = 0;
  bool slow_ = false;  // the last function took long: Ctrl-C may be waiting
  std::vector<Entry> heap_;
  PointerSet<FunctionNode> queued_;
  PointerMap<VariableNode, Ref<VariableNode>> marked_;
  std::vector<Ref<VariableNode>> leaves_, given_;
};

}  // namespace cg
