// One pass of backpropagation: the order, the slots and the visit of a function. backprop.cpp starts and ends passes.
#pragma once
#include "core/backprop.h"
#include "core/door.h"
#include "core/formula.h"
#include "core/mode.h"
#include "core/op.h"
#include "core/order.h"
#include "core/pass_sink.h"
#include "core/plan.h"
#include "core/postponed.h"
#include "core/slots.h"
#include "core/unread.h"
#include "kernels/one_thread.h"

namespace cg {

template <class T>
class Pass : GradientSlots<T> {
 public:
  using GradientSlots<T>::accumulate, GradientSlots<T>::replace, GradientSlots<T>::take, GradientSlots<T>::find,
      GradientSlots<T>::given;
  Pass(const PassOptions& options, bool selective)
      : GradientSlots<T>(options.create_graph), options_(options), selective_(selective) {}
  // A pass that fails restores the gradients of all Variables.
  ~Pass() {
    while (!replaced_.empty()) {
      auto [x, old] = std::move(replaced_.back());
      replaced_.pop_back();
      if (x->variable) std::swap(x->variable->grad, old);
    }
  }
  // Called when the pass has succeeded.
  void commit() { const auto forgotten = std::exchange(replaced_, {}); }
  // Sets the gradient of the node's Variable to g and returns the old one, which a failing pass restores.
  Var exchange_grad(VariableNode& x, Var g) {
    if (!x.variable) return {};
    Var old = std::exchange(x.variable->grad, std::move(g));
    replaced_.emplace_back(&x, old);
    return old;
  }

  bool stops_at(const FunctionNode* f) const { return options_.stops && options_.stops->count(f); }
  void push(FunctionNode* f, bool next = false) {
    if (!stops_at(f)) order_.push(f, next);
  }
  // For a pass with selected inputs: the gradient of this node is wanted, or leads to a wanted one.
  void mark(VariableNode& node) { *marked_.insert(&node).first = Ref<VariableNode>(&node); }
  bool is_marked(const VariableNode& node) const { return marked_.contains(&node); }

  // Calls `captured(node, gradient)` with the final gradient of every output of every visited function.
  template <class Captured>
  void run(Captured&& captured) {
    order_.run([&](FunctionNode& f) {
      visit(f, captured);
      if (options_.watch) tell(f);
    });
    settle();
    settle_gradients();
  }
  std::vector<Ref<VariableNode>>& leaves() { return leaves_; }

 private:
  using GradientSlots<T>::open, GradientSlots<T>::add, GradientSlots<T>::collapse, GradientSlots<T>::compute_all_rows;
  using GradientSlots<T>::add_part;
  bool target(const FunctionNode& f, const Ref<VariableNode>& x) const {
    if (!x) return false;
    if (!selective_) return x->requires_grad;
    return is_marked(*x) && (x->requires_grad || f.saved_constants || f.python);
  }

  template <class Gradients>
  static void read_all(const Gradients& gs) {
    for (const auto& g : gs) read(value(g));
  }
  void tell(FunctionNode& f) {
    order_.remember();  // user code may run
    options_.watch->visited(f, [&](VariableNode& x) {
      GradientSlot* s = find(x);
      if (s) collapse(*s);
      return s ? s->first : Var();
    });
  }

  // Whether a program has set the gradient of this output of a function.
  bool has_given(const VariableNode& y) const {
    return !selective_ && y.variable && y.variable->grad.defined() && !y.buffer && !y.deferred;
  }
  // If the pass did not reach an output, its gradient is the one that a program has set.
  Var final_gradient(VariableNode& y) { return has_given(y) && !find(y) ? exchange_grad(y, {}) : take(y); }

  // Hooks, finalizers of arrays and other threads may rewire the graph at any call from here, so a visit holds
  // references to what it needs.
  template <class Captured>
  void visit(FunctionNode& f, Captured& captured) {
    if (f.released) throw_released();  // by another thread, after this pass had reached it
    const bool later = f.call && options_.create_graph;
    // The functions of f's backward are recorded in the graph of f, under its frontend.
    const ModeScope side(Mode::deferred, later);
    const CallerScope as_owner(options_.create_graph && f.frontend ? f.frontend : caller);
    Vars gys;
    Nodes outputs;  // held because a backward reads their data
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
    const OpInfo* info = f.info();
    if (observed || !info || info->override_backward) {  // user code may run
      order_.remember();
      compute_all_rows();
      read_all(gys);
    }
    if (observed) user_code(binding.before_backward, f, gys);
    if (observed || f.python)  // gradients that user code sets from here on are ignored
      for (size_t i = 0; i < inputs.size(); ++i)
        if (wanted[i]) reach(*inputs[i]);
    const Vars final = options_.retain_grad && !selective_ ? gys : Vars();
    Vars gxs(wanted.size());
    PassSink<T> sink(*this, inputs);
    if (f.python) {
      user_code(binding.python_backward, f, inputs, gys, gxs, wanted, this, &Pass::take_pending);
    } else if (info && info->override_backward && (later || !f.call)) {
      user_code(binding.overridden_backward, f, gys, gxs, wanted);
      fit_all(gxs, inputs);
    } else if (!(later && registered(f, inputs, gys, gxs, wanted))) {
      run_native(f, inputs, gys, gxs, wanted, observed, sink);
    }
    if (observed) user_code(binding.after_backward, f, gys);
    gys.clear();
    for (size_t j = 0; j < final.size(); ++j)
      if (outputs[j] && !outputs[j]->buffer && !outputs[j]->deferred) exchange_grad(*outputs[j], final[j]);

    complete(f, inputs, gxs, wanted, sink);
    hand_on(inputs, gxs, wanted, sink, observed);
    if (!options_.release || f.call) return;
    f.release_graph();
    if (!options_.watch) this->write_complete(inputs);
  }

  // Sets zeros where the pass wants them in place of no gradient, and checks the gradients that f has given.
  void complete(FunctionNode& f, const Nodes& inputs, Vars& gxs, c10::ArrayRef<bool> wanted, const PassSink<T>& sink) {
    const bool debug = mode(Mode::debug);
    for (size_t i = 0; i < gxs.size(); ++i) {
      if (!wanted[i]) continue;
      if (!gxs[i].defined() && options_.zeros && !f.call && !sink.later.input(i)) gxs[i] = zeros_of(*inputs[i]);
      if (!gxs[i].defined()) continue;
      if (f.python && !selective_) binding.check_gradient(f, *inputs[i], i, gxs[i].data);
      if (debug && !(gxs[i].node && gxs[i].node->deferred) && has_nan(gxs[i].data))
        throw std::runtime_error("NaN is detected on backward computation of " + binding.label(f));
    }
  }
  // Adds the gradients of a function's inputs to their slots, and pushes the functions that these reach.
  void hand_on(const Nodes& inputs, Vars& gxs, c10::ArrayRef<bool> wanted, PassSink<T>& sink, bool observed) {
    const bool unseen =
        std::is_same_v<T, at::Tensor> && !observed && !options_.watch && !mode(Mode::debug);  // nothing looks on
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!wanted[i]) continue;
      VariableNode& x = *inputs[i];
      GradientSlot* s;
      if (gxs[i].defined()) {
        if (!x.creator && !find(x)) open_leaf(x);
        if (options_.watch) options_.watch->adds(x);
        s = &open(x);
        add(*s, std::move(gxs[i]));
      } else if (sink.part && sink.part_of == i) {
        s = &add_part(x, std::move(*sink.part));
      } else {
        s = find(x);
        if (!s && x.creator && has_given(x)) open(x);  // reached now, so the gradient that its Variable has is ignored
      }
      if (!s || s->empty()) continue;
      if (x.creator)
        push(creator_of(x), unseen && alone(x, 3 + is_marked(x)));
      else
        keep_leaf(*s);  // it may have become a leaf a moment ago
    }
  }

  static bool registered(FunctionNode& f, NodesRef inputs, VarsRef gys, Vars& gxs, c10::ArrayRef<bool> wanted) {
    if (!user_code(binding.registered_backward, f, inputs, gys, gxs, wanted)) return false;
    fit_all(gxs, inputs);
    return true;
  }
  // `keep`: hooks still need `gys`. Otherwise the gradients are moved into the formula, so that it can reuse their
  // memory.
  void run_native(FunctionNode& f, const Nodes& inputs, Vars& gys, Vars& gxs, c10::ArrayRef<bool> wanted, bool keep,
                  PassSink<T>& sink) {
    const Whole whole(f, inputs);
    const kernels::OneThread one(f.info());
    if (std::is_same_v<T, Var> && (options_.create_graph || (f.info() && !f.call))) {
      read_all(gys);
      settle();
      run_formula(f, gys, gxs, wanted);
      fit_all(gxs, inputs);
      return;
    }
    if (f.call) {
      settle();
      compute_missing(f, wanted);
    }
    PassSink<T>* const joins = keep || options_.watch || mode(Mode::debug) ? nullptr : &sink;
    if (joins && options_.release && !selective_ && !f.call) sink.find_memories(wanted);
    Tensors gy, gx(wanted.size());
    bool large = false;
    for (Var& g : gys) {
      large |= g.defined() && g.data.numel() >= kLarge;
      gy.push_back(keep ? g.data : std::move(g.data));
    }
    const bool joined = joins && !f.call && join_attention_backward(f, gy, gx, wanted);
    if (!joined) read_all(gy);
    if (joined || (joins && large && !f.call && postpone_backward(f, gy, gx, wanted))) {
      for (size_t i = 0; i < gx.size(); ++i) gxs[i].data = std::move(gx[i]);
      return;
    }
    settle();
    if (large) order_.slow();
    if (large && f.info() && !f.call) {  // a function without info may run Python
      const Snapshot kept(f);
      Unlocked unlocked(true);
      run_formula(f, gy, gx, wanted, &kept, joins);
      for (size_t i = 0; i < gx.size(); ++i)
        if (gx[i].defined()) gx[i] = fit(std::move(gx[i]), kept.in_sizes[i], kept.in_dtypes[i]);
    } else {
      Unlocked unlocked(large && f.info());
      run_formula(f, gy, gx, wanted, nullptr, joins);
      fit_all(gx, inputs);
    }
    for (size_t i = 0; i < gx.size(); ++i) gxs[i].data = std::move(gx[i]);
  }

 public:
  // A leaf starts from the gradient that its Variable already has. It counts as reached even if it has no gradient yet.
  void open_leaf(VariableNode& x) {
    check_old_style(x);
    keep_leaf(open(x));
    if (!selective_ && x.variable && x.variable->grad.defined()) accumulate(x, exchange_grad(x, {}));
  }

 private:
  void reach(VariableNode& x) {
    if (find(x)) return;
    if (x.creator)
      open(x);
    else
      open_leaf(x);
  }
  void keep_leaf(GradientSlot& s) {
    if (!std::exchange(s.leaf, true)) leaves_.push_back(s.node);
  }
  // Takes out the gradient accumulated so far for an input, for functions that accumulate gradients themselves.
  static Var take_pending(void* pass, VariableNode& x) {
    auto* self = static_cast<Pass*>(pass);
    if (!x.creator && !self->find(x)) self->open_leaf(x);
    GradientSlot* s = self->find(x);
    if (!s) return {};
    self->collapse(*s);
    read(s->first.data);
    return std::exchange(s->first, Var());
  }

  const PassOptions& options_;
  const bool selective_;
  Order order_;
  PointerMap<VariableNode, Ref<VariableNode>> marked_;
  std::vector<Ref<VariableNode>> leaves_;
  std::vector<std::pair<Ref<VariableNode>, Var>> replaced_;  // gradients that the Variables had before
};

}  // namespace cg
