// Backward passes over deferred functions.
#include <ATen/ops/add.h>

#include <algorithm>

#include "core/arithmetic.h"
#include "core/backprop.h"
#include "core/leaf_gradients.h"
#include "core/mode.h"
#include "core/op.h"
#include "core/order.h"
#include "core/plan.h"
#include "core/recomputation.h"
#include "core/settle.h"
#include "kernels/one_thread.h"

namespace cg {

void accumulate(Array& grad, at::Tensor g, bool overwrite) {
  if (overwrite || grad.zeroing || !grad.touched || grad.cleared) return grad.put(std::move(g));
  grad.move(g.device());
  const bool alike = g.sizes() == at::IntArrayRef(grad.sizes);
  if (grad.tensor.defined() && may_overwrite(grad.tensor)) {
    const at::Tensor to = grad.write();  // nobody else has the tensor, so its version counter need not be increased
    if (alike)
      sum_gradients({to, g}, true);
    else
      to.add_(g);
  } else {
    grad.put(alike ? sum_gradients({grad.read(), g}, false) : at::add(grad.read(), g));
  }
}

namespace {
// A leaf's gradient must not share memory: solvers and users write into it.
at::Tensor owned(at::Tensor g) {
  return g.is_contiguous() && may_overwrite(g) ? g : g.clone(at::MemoryFormat::Contiguous);
}

// Whether `a` is one of the arrays of the function's inputs.
bool is_of(const Ref<Array>& a, c10::ArrayRef<Ref<Store>> in) {
  return std::any_of(in.begin(), in.end(), [&](const Ref<Store>& s) { return s && (s->data == a || s->grad == a); });
}
void free_early(FunctionNode& f, c10::ArrayRef<Ref<Store>> in, c10::ArrayRef<bool> wanted, const LastUse& last) {
  const Mask read = f.saves(wanted), once = f.reuses();
  for (size_t j = 0; j < f.call->outputs.size(); ++j) {
    Store& y = *f.call->outputs[j];
    if (last.grads[j] && !is_of(y.grad, in)) y.grad->clear();
    if (!last.data[j] || is_of(y.data, in)) continue;
    if (!read.output(j))
      y.data->clear();
    else if (once.output(j))
      f.call->last_reads |= out_bit(j);
  }
  for (size_t i = 0; i < in.size(); ++i)
    if (once.input(i) && in[i] && last.input(i)) f.call->last_reads |= in_bit(i);
}

void backward_of(FunctionNode& f, c10::ArrayRef<bool> wanted, c10::ArrayRef<bool> accum, const LastUse* last,
                 Collected* collected) {
  settle();
  if (collected && !f.info()) collected->compute_rows();  // the function may run Python
  const Nodes inputs = f.inputs;                          // a backward in Python may cut the function off
  const auto in = input_stores(f);
  for (auto& x : in)
    if (x && !f.info()) x->data->move(f.call->device);  // other functions move the arrays that they read
  for (auto& y : f.call->outputs) y->grad->move(f.call->device);
  if (f.backward_on(in, f.call->outputs, wanted, accum)) return;  // it has written into the arrays itself
  Tensors gys, gxs(wanted.size());
  bool large = false;
  for (auto& y : f.call->outputs) {
    Array& g = *y->grad;
    const bool none = f.call->outputs.size() > 1 && g.zeroing && !g.tensor.defined();
    gys.push_back(none ? at::Tensor() : cast_real(*f.call, g.read()));
    large |= !none && gys.back().numel() >= kLarge;
  }
  if (unread) {  // the formula may run without the interpreter lock, which the computation of the values needs
    const Mask kept = f.saves(wanted);
    for (size_t i = 0; i < in.size(); ++i)
      if (in[i] && kept.input(i)) read(in[i]->data->tensor);
    for (size_t j = 0; j < f.call->outputs.size(); ++j)
      if (kept.output(j)) read(f.call->outputs[j]->data->tensor);
  }
  std::optional<Collected::Sink> sink;
  if (collected && collected->joins && f.info()) sink.emplace(*collected, inputs, accum);
  const Setting reads(f.call->last_reads, Mask());
  if (last) free_early(f, in, wanted, *last);
  try {
    Unlocked unlocked(large && f.info());  // a function without info may run Python
    const kernels::OneThread one(f.info());
    Ctx<at::Tensor> c(f, gys, gxs, wanted, nullptr, sink ? &*sink : nullptr);
    f.backward(c);
    fit_all(gxs, inputs);
  } catch (const c10::Error& e) {
    throw std::runtime_error(binding.label(f) + ", backward: " + e.what_without_backtrace());
  }
  gys.clear();
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i] || (sink && sink->later.input(i))) continue;
    if (!inputs[i]->deferred) {
      if (collected && gxs[i].defined()) collected->crossing.emplace_back(inputs[i], std::move(gxs[i]));
      continue;
    }
    Array& grad = *in[i]->grad;
    if (collected && !inputs[i]->creator) collected->leaves.keep(in[i]->grad);
    if (!gxs[i].defined()) {
      if (!accum[i]) grad.fill(0);
      continue;
    }
    if (!inputs[i]->creator && !accum[i]) gxs[i] = owned(std::move(gxs[i]));
    accumulate(grad, std::move(gxs[i]), !accum[i]);
  }
}

// One backward pass over deferred functions, from the variable y down.
class DeferredPass : Pinned {
 public:
  DeferredPass(VariableNode& y, const DeferredOptions& options)
      : y_(y),
        start_(*y.creator),
        options_(options),
        recomputation_(options),
        collected_(!options.before && !options.after && !options.finished) {}
  void run() {
    order_.remember();
    order_.push(&start_);
    order_.run([&](FunctionNode& f) {
      if (f.call->need_grad) visit(f);
    });
    collected_.compute_rows();
    cross();
    collected_.leaves.commit();
  }

 private:
  void visit(FunctionNode& f) {
    const Nodes inputs = f.inputs;  // a hook may cut the function off
    const auto wanted = wanted_of(f), accum = reach(f, inputs, wanted);
    for (size_t j = 0; j < f.outputs.size(); ++j)
      if (&f != &start_ && (!f.outputs[j].node || !seen_.contains(f.outputs[j].node)))
        f.call->outputs[j]->grad->fill(0);
    recomputation_.prepare(f, wanted);
    if (options_.before) user_code(options_.before, f);
    if (f.inputs.size() != inputs.size()) return;  // the hook has cut it off
    const auto last_read = [&](size_t i) { return read_up(*inputs[i]); };
    LastUse last{.input = last_read};
    if (options_.clear_buffer) find_last(f, last);
    const bool early = options_.clear_buffer && !options_.after && f.info();
    backward_of(f, wanted, accum, early ? &last : nullptr, &collected_);
    if (options_.after) user_code(options_.after, f);
    for (size_t j = 0; j < last.data.size(); ++j) {
      if (last.data[j]) f.call->outputs[j]->data->clear();
      if (last.grads[j]) f.call->outputs[j]->grad->clear();
    }
    if (options_.finished) user_code(options_.finished, f);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!wanted[i]) continue;
      if (const auto& p = inputs[i]->creator; p && p->call) order_.push(p.get());
    }
  }
  // Notes the inputs of f; whether the gradient of each is added to the one that its array has.
  c10::SmallVector<bool, 4> reach(FunctionNode& f, const Nodes& inputs, c10::ArrayRef<bool> wanted) {
    c10::SmallVector<bool, 4> accum(inputs.size(), false);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i]) continue;
      VariableNode& x = *inputs[i];
      const auto [meeting, first] = seen_.insert(&x);
      if (first) *meeting = inputs[i];
      if (f.call->keeps_inputs) kept_.insert(&x);
      if (!wanted[i]) continue;
      const Array* g = x.deferred ? x.deferred->store->grad.get() : nullptr;
      bool shared = false;
      for (size_t k = 0; k < inputs.size() && g; ++k)
        shared |= k != i && inputs[k] && inputs[k]->deferred && inputs[k]->deferred->store->grad.get() == g;
      accum[i] = !(g && g->zeroing && !shared) && !(x.creator && first);
    }
    return accum;
  }
  // Which arrays of f's outputs nothing reads after f.
  void find_last(FunctionNode& f, LastUse& last) {
    for (size_t j = 0; j < f.outputs.size(); ++j) {
      VariableNode* o = f.outputs[j].node;
      const bool stays = o && (o->deferred->persistent || kept_.contains(o));
      last.data.push_back(!stays && &f != &start_ && !read_elsewhere(o) && !given_ahead(*f.call->outputs[j]));
      last.grads.push_back(!stays && (&f != &start_ || options_.clear_initial_grad));
    }
  }
  // Data that a function outside this pass reads is kept, because that function's own backward may follow.
  bool read_elsewhere(const VariableNode* o) {
    return o && o->deferred->users.any([&](FunctionNode& f) { return f.call->need_grad && !order_.met(&f); });
  }
  // Data that another variable shares is kept, too, while a function that is still to be visited reads that variable:
  // an unlinked variable, or the first state of a recurrent network.
  bool given_ahead(const Store& s) {
    if (s.refs <= 2 && s.data->refs < 2) return false;  // only a variable and its function hold it
    for (auto& f : *forward_order(y_))
      for (auto& x : f->inputs)
        if (x && x->deferred && x->deferred->store->data == s.data && !order_.over(f.get())) return true;
    return false;
  }
  // Whether all functions that read an intermediate variable have been visited.
  bool read_up(const VariableNode& x) {
    if (!x.deferred || !x.creator || !x.creator->call || !x.requires_grad) return false;
    if (x.deferred->persistent || kept_.contains(&x) || given_ahead(*x.deferred->store)) return false;
    if (x.deferred->users.any([&](FunctionNode& f) { return f.call->need_grad && !order_.over(&f); })) return false;
    return !x.creator->saves(wanted_of(*x.creator)).output(x.output_index);
  }
  // One further pass continues in the graph that runs at once. Where variables of that graph come from this graph, it
  // continues here again.
  void cross() {
    if (collected_.crossing.empty()) return;
    Vars ends, gradients;
    for (auto& [x, g] : collected_.crossing) {
      ends.emplace_back(x, x->data);
      gradients.emplace_back(std::move(g));
    }
    backward(ends, gradients, PassOptions());
  }

  VariableNode& y_;
  FunctionNode& start_;
  const DeferredOptions& options_;
  // Keeps the nodes that the pass has reached alive, so that no other node gets the same address.
  PointerMap<VariableNode, Ref<VariableNode>> seen_;
  PointerSet<VariableNode> kept_;
  Order order_;
  Recomputation recomputation_;
  Collected collected_;
};

}  // namespace

void add_to_leaf(Array& grad, at::Tensor g) {
  if (grad.zeroing || !grad.touched || grad.cleared) g = owned(std::move(g));
  accumulate(grad, std::move(g), false);
}

void backward_function(FunctionNode& f, c10::ArrayRef<bool> wanted, c10::ArrayRef<bool> accum, const LastUse* last) {
  backward_of(f, wanted, accum, last, nullptr);
}

void backward_pass(VariableNode& y, Ref<Array> grad, const DeferredOptions& options) {
  require_parent(y);
  const EngineScope engine;
  ModeScope plain(Mode::deferred, false);
  const Ref<FunctionNode> start = y.creator;
  // Saves the gradients of the outputs of the function that the pass starts from, and restores them afterwards.
  struct Restore {
    Call& call;
    c10::SmallVector<Ref<Array>, 2> old;
    ~Restore() {
      for (size_t j = 0; j < old.size(); ++j) call.outputs[j]->grad = std::move(old[j]);
    }
  } restore{*start->call, {}};
  for (auto& store : start->call->outputs) {
    restore.old.push_back(store->grad);
    if (store == y.deferred->store) {
      if (grad) store->grad = grad;
    } else {
      store->grad = Ref<Array>(new Array(store->data->sizes));
      store->grad->fill(0);
    }
  }
  DeferredPass(y, options).run();
}

}  // namespace cg
