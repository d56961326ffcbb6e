// Forward and backward passes over deferred functions.
#include <ATen/core/LegacyTypeDispatch.h>

#include <algorithm>
#include <unordered_set>

#include "core/backprop.h"
#include "core/deferred.h"
#include "core/mode.h"
#include <ATen/ops/clone.h>

#include "ops/functions.h"

namespace cg {

struct Plan {
  uint64_t epoch = 0;
  FunctionNode* last = nullptr;
  std::vector<FunctionNode*> order;  // alive as long as the variable that owns the plan
};

namespace {
// A parameter of an op by its name, or null.
template <class V>
V* param_of(FunctionNode& f, std::string_view name) {
  const OpInfo* info = f.info();
  if (!info) return nullptr;
  for (const ParamInfo& p : info->params)
    if (p.kind == KindOf<V>::kind && p.name == name) return static_cast<V*>(p.address(f.params()));
  return nullptr;
}
at::Tensor* random_state(FunctionNode& f) { return param_of<at::Tensor>(f, "rng"); }

// Depth first, inputs in their order, each function after what it needs: the order of the original's recursion.
void collect(FunctionNode* root, std::unordered_set<FunctionNode*>& done, std::vector<FunctionNode*>& order) {
  std::vector<std::pair<FunctionNode*, size_t>> stack;
  if (done.insert(root).second) stack.push_back({root, 0});
  while (!stack.empty()) {
    auto& [f, next] = stack.back();
    if (next == f->inputs.size()) {
      order.push_back(f);
      stack.pop_back();
      continue;
    }
    const auto& x = f->inputs[next++];
    if (x && x->creator && x->creator->call && done.insert(x->creator.get()).second)
      stack.push_back({x->creator.get(), 0});
  }
}

void require_parent(const VariableNode& y) {
  if (!y.creator || !y.creator->call) throw std::runtime_error("The variable has no parent.");
}

bool needs_grad(const VariableNode& x) { return x.requires_grad; }

void refresh(FunctionNode& f) {
  bool any = false;
  for (auto& x : f.inputs) {
    if (!x) continue;
    if (Deferred* d = x->deferred.get()) {
      if (d->need_grad >= 0)
        x->requires_grad = d->need_grad;
      else
        x->requires_grad = x->creator && x->creator->call && x->creator->call->need_grad;
    }
    any |= x->requires_grad;
  }
  f.call->need_grad = any;
}

bool reads_input(unsigned mask, size_t i) { return (mask & kAllInputs) || (i < 15 && (mask >> i & 1)); }

c10::SmallVector<bool, 4> wanted_of(const FunctionNode& f) {
  c10::SmallVector<bool, 4> wanted;
  for (auto& x : f.inputs) wanted.push_back(x && needs_grad(*x));
  return wanted;
}

// Frees what nobody reads any more after `f` ran. `clear_unread`: also what no gradient reads; `again`: `f` ran for the
// sake of a gradient, so what is to be computed again stays.
struct Uses {
  uint32_t seen = 0;  // uses so far
  bool kept = false;  // some gradient reads the data
};
void clear_inputs(FunctionNode& f, bool clear_all, bool clear_unread, bool again,
                  std::unordered_map<const Deferred*, Uses>& uses) {
  unsigned mask = 0;
  if (f.call->need_grad) mask = f.saves(wanted_of(f));
  for (size_t j = 0; j < f.outputs.size() && j < 16; ++j)
    if (f.outputs[j].node && f.outputs[j].node->deferred && (mask >> (16 + j) & 1))
      uses[f.outputs[j].node->deferred.get()].kept = true;
  for (size_t i = 0; i < f.inputs.size(); ++i) {
    VariableNode* x = f.inputs[i].get();
    if (!x || !x->deferred) continue;
    Deferred& d = *x->deferred;
    Uses& u = uses[&d];
    if (reads_input(mask, i)) u.kept = true;
    if (++u.seen < d.uses || !x->creator || d.persistent || f.call->keeps_inputs) continue;
    if (clear_all || (!again && d.recompute) || (clear_unread && !u.kept)) d.store->data->clear();
  }
}
}  // namespace

const std::vector<FunctionNode*>& forward_order(VariableNode& y) {
  require_parent(y);
  auto& plan = y.deferred->plan;
  if (!plan || plan->epoch != graph_epoch || plan->last != y.creator.get()) {
    auto fresh = std::make_shared<Plan>();
    std::unordered_set<FunctionNode*> done;
    collect(y.creator.get(), done, fresh->order);
    fresh->epoch = graph_epoch;
    fresh->last = y.creator.get();
    plan = std::move(fresh);
  }
  return plan->order;
}

void refresh_need_grad(VariableNode& y) {
  for (FunctionNode* f : forward_order(y)) refresh(*f);
  if (y.deferred->need_grad < 0) y.requires_grad = y.creator->call->need_grad;
}

c10::SmallVector<Ref<Store>, 4> input_stores(FunctionNode& f) {
  c10::SmallVector<Ref<Store>, 4> stores;
  for (auto& x : f.inputs) {
    if (!x) {
      stores.emplace_back();
    } else if (x->deferred) {
      stores.push_back(x->deferred->store);
    } else {
      stores.emplace_back(new Store(x->data.sizes()));
      stores.back()->data->put(x->data);
    }
  }
  return stores;
}

void run_on(FunctionNode& f, c10::ArrayRef<Ref<Store>> in, c10::ArrayRef<Ref<Store>> out) {
  if (f.forward_on(in, out)) return;
  Vars values;
  bool large = false;
  for (size_t i = 0; i < in.size(); ++i) {
    values.emplace_back(in[i] ? cast_input(*f.call, i, in[i]->data->read()) : at::Tensor());
    large |= in[i] && values[i].data.numel() >= kLarge;
  }
  Tensors ys;
  try {
    Unlocked unlocked(large && f.info());  // without info it may run Python
    ys = f.forward(values);
  } catch (const c10::Error& e) {
    throw std::runtime_error(binding.label(f) + ": " + e.what_without_backtrace());
  }
  for (size_t j = 0; j < ys.size() && j < out.size(); ++j) {
    out[j]->data->put(std::move(ys[j]));
    VariableNode* y = j < f.outputs.size() ? f.outputs[j].node : nullptr;
    if (y && y->deferred && y->deferred->store == out[j] && at::IntArrayRef(y->sizes) != out[j]->data->tensor.sizes()) {
      y->sizes = out[j]->data->sizes;
      f.outputs[j].sizes = y->sizes;
      out[j]->grad->tensor.reset();
      out[j]->grad->sizes = y->sizes;
    }
  }
}

void remember_random_state(FunctionNode& f) {
  if (at::Tensor* state = random_state(f)) f.call->rng_before = state->clone();
}

void run_on_again(FunctionNode& f) {
  at::Tensor* state = f.call->rng_before.defined() ? random_state(f) : nullptr;
  const at::Tensor now = state ? state->clone() : at::Tensor();
  bool* update = param_of<bool>(f, "update");
  struct Restore {
    Call& call;
    bool* update;
    const bool old;
    ~Restore() {
      call.again = false;
      if (update) *update = old;
    }
  } restore{*f.call, update, update && *update};
  if (state) state->copy_(f.call->rng_before);
  if (update) *update = false;
  f.call->again = true;
  run_on(f, input_stores(f), f.call->outputs);
  if (state) state->copy_(now);
}

void forward_pass(c10::ArrayRef<VariableNode*> ys, const DeferredOptions& options) {
  at::AutoDispatchBelowADInplaceOrView guard;
  ModeScope plain(Mode::deferred, false);
  std::vector<FunctionNode*> several;
  const std::vector<FunctionNode*>* order = &several;
  if (ys.size() == 1) {
    order = &forward_order(*ys[0]);
  } else {
    std::unordered_set<FunctionNode*> done;
    for (VariableNode* y : ys) {
      if (!y->creator || !y->creator->call) continue;
      collect(y->creator.get(), done, several);
    }
  }
  // A hook may drop what holds the plan.
  const std::shared_ptr<Plan> alive = ys.size() == 1 ? ys[0]->deferred->plan : nullptr;
  bool recomputed = false;
  for (FunctionNode* f : *order)
    for (auto& x : f->inputs) recomputed |= x && x->deferred && x->deferred->recompute;
  std::unordered_map<const Deferred*, Uses> uses;
  const bool clearing = options.clear_buffer || options.clear_no_need_grad || recomputed;
  for (FunctionNode* f : *order) {
    refresh(*f);
    for (auto& y : f->outputs)
      if (y.node && y.node->deferred && y.node->deferred->need_grad < 0) y.node->requires_grad = f->call->need_grad;
    if (options.before) options.before(*f);
    if (recomputed) remember_random_state(*f);
    run_on(*f, input_stores(*f), f->call->outputs);
    if (options.after) options.after(*f);
    if (clearing) clear_inputs(*f, options.clear_buffer, options.clear_no_need_grad, false, uses);
    if (options.finished) options.finished(*f);
  }
}

void accumulate(Array& grad, at::Tensor g, bool overwrite) {
  if (overwrite || grad.zeroing || !grad.touched || grad.cleared)
    grad.put(std::move(g));
  else if (grad.tensor.defined() && may_overwrite(grad.tensor))
    grad.write().add_(g);
  else
    grad.put(at::add(grad.read(), g));
}

void backward_function(FunctionNode& f, c10::ArrayRef<bool> wanted, c10::ArrayRef<bool> accum) {
  const auto in = input_stores(f);
  if (f.backward_on(in, f.call->outputs, wanted, accum)) return;
  Tensors gys, gxs(wanted.size());
  bool large = false;
  for (auto& y : f.call->outputs) {
    Array& g = *y->grad;
    const bool none = f.call->outputs.size() > 1 && g.zeroing && !g.tensor.defined();
    gys.push_back(none ? at::Tensor() : cast_input(*f.call, 32, g.read()));
    large |= !none && gys.back().numel() >= kLarge;
  }
  try {
    Unlocked unlocked(large && f.info());  // without info it may run Python
    Ctx<at::Tensor> c(f, gys, gxs, wanted);
    f.backward(c);
    for (size_t i = 0; i < wanted.size(); ++i)
      if (wanted[i] && gxs[i].defined()) gxs[i] = fit(std::move(gxs[i]), *f.inputs[i]);
  } catch (const c10::Error& e) {
    throw std::runtime_error(binding.label(f) + ", backward: " + e.what_without_backtrace());
  }
  gys.clear();
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i]) continue;
    Array& grad = *in[i]->grad;
    if (!gxs[i].defined()) {
      if (!accum[i]) grad.fill(0);
      continue;
    }
    // What a leaf keeps is its own: a solver and its user write into it.
    if (!f.inputs[i]->creator && !accum[i] && !(gxs[i].is_contiguous() && may_overwrite(gxs[i])))
      gxs[i] = gxs[i].clone(at::MemoryFormat::Contiguous);
    accumulate(grad, std::move(gxs[i]), !accum[i]);
  }
}

namespace {
// Runs again what is needed for data that a function's gradient reads and forward freed.
class Recomputation {
 public:
  explicit Recomputation(const DeferredOptions& options) : options_(options) {}
  void prepare(FunctionNode& f, c10::ArrayRef<bool> wanted) {
    const unsigned mask = f.saves(wanted);
    std::unordered_set<FunctionNode*> done;
    for (size_t j = 0; j < f.outputs.size() && j < 16; ++j)
      if ((mask >> (16 + j) & 1) && to_do(f.outputs[j].node)) run(f, done);
    for (size_t i = 0; i < f.inputs.size(); ++i)
      if (reads_input(mask, i) && to_do(f.inputs[i].get())) run(*f.inputs[i]->creator, done);
  }

 private:
  static bool freed(const VariableNode* x) {
    return x && x->deferred && x->creator && x->creator->call && x->deferred->store->data->cleared;
  }
  static bool to_do(const VariableNode* x) { return freed(x) && x->deferred->recompute; }
  void run(FunctionNode& last, std::unordered_set<FunctionNode*>& done) {
    std::vector<std::pair<FunctionNode*, size_t>> stack;
    if (done.insert(&last).second) stack.push_back({&last, 0});
    while (!stack.empty()) {
      auto& [f, next] = stack.back();
      if (next < f->inputs.size()) {
        const auto& x = f->inputs[next++];
        if (freed(x.get()) && done.insert(x->creator.get()).second) stack.push_back({x->creator.get(), 0});
        continue;
      }
      FunctionNode& g = *f;
      stack.pop_back();
      run_again(g);
    }
  }
  void run_again(FunctionNode& f) {
    run_on_again(f);
    clear_inputs(f, false, true, true, uses_);
    if (options_.finished) options_.finished(f);
  }
  const DeferredOptions& options_;
  std::unordered_map<const Deferred*, Uses> uses_;
};

struct Queued {
  int32_t rank;
  uint64_t order;
  FunctionNode* f;
  bool operator<(const Queued& o) const { return rank != o.rank ? rank < o.rank : order > o.order; }
};
}  // namespace

void backward_pass(VariableNode& y, Ref<Array> grad, const DeferredOptions& options) {
  require_parent(y);
  at::AutoDispatchBelowADInplaceOrView guard;
  ModeScope plain(Mode::deferred, false);
  FunctionNode& start = *y.creator;
  Ref<FunctionNode> alive(&start);
  // The gradients of the function we start from are put aside: afterwards they are what they were.
  struct Restore {
    Call& call;
    c10::SmallVector<Ref<Array>, 2> old;
    ~Restore() {
      for (size_t j = 0; j < old.size(); ++j) call.outputs[j]->grad = std::move(old[j]);
    }
  } restore{*start.call, {}};
  for (auto& store : start.call->outputs) {
    restore.old.push_back(store->grad);
    if (store == y.deferred->store) {
      if (grad) store->grad = grad;
    } else {
      store->grad = Ref<Array>(new Array(store->data->sizes));
      store->grad->fill(0);
    }
  }
  std::unordered_set<const VariableNode*> seen, kept;
  std::unordered_set<const FunctionNode*> queued{&start};
  Recomputation recomputation(options);
  // Data that a function outside this pass still reads stays: its own backward may follow.
  const auto read_elsewhere = [&](const VariableNode* o) {
    if (!o) return false;
    for (auto& [f, order] : o->deferred->users)
      if (f->call->need_grad && !queued.count(f)) return true;
    return false;
  };
  std::vector<Queued> heap{{start.rank, 0, &start}};
  uint64_t next = 1;
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    FunctionNode& f = *heap.back().f;
    heap.pop_back();
    if (!f.call->need_grad) continue;
    c10::SmallVector<bool, 4> wanted = wanted_of(f), accum(f.inputs.size(), false);
    for (size_t i = 0; i < f.inputs.size(); ++i) {
      if (!f.inputs[i]) continue;
      const VariableNode& x = *f.inputs[i];
      const bool first = seen.insert(&x).second;
      if (f.call->keeps_inputs) kept.insert(&x);
      if (!wanted[i]) continue;
      const Array* g = x.deferred ? x.deferred->store->grad.get() : nullptr;
      bool shared = false;
      for (size_t k = 0; k < f.inputs.size() && g; ++k)
        shared |= k != i && f.inputs[k] && f.inputs[k]->deferred && f.inputs[k]->deferred->store->grad.get() == g;
      accum[i] = !(g && g->zeroing && !shared) && !(x.creator && first);
    }
    for (size_t j = 0; j < f.outputs.size(); ++j)
      if (&f != &start && (!f.outputs[j].node || !seen.count(f.outputs[j].node))) f.call->outputs[j]->grad->fill(0);
    recomputation.prepare(f, wanted);
    if (options.before) options.before(f);
    backward_function(f, wanted, accum);
    if (options.after) options.after(f);
    if (options.clear_buffer) {
      for (size_t j = 0; j < f.outputs.size(); ++j) {
        VariableNode* o = f.outputs[j].node;
        if (o && (o->deferred->persistent || kept.count(o))) continue;
        if (&f != &start && !read_elsewhere(o)) f.call->outputs[j]->data->clear();
        if (&f != &start || options.clear_initial_grad) f.call->outputs[j]->grad->clear();
      }
    }
    if (options.finished) options.finished(f);
    for (size_t i = 0; i < f.inputs.size(); ++i) {
      if (!wanted[i]) continue;
      FunctionNode* p = f.inputs[i]->creator.get();
      if (!p || !p->call || !queued.insert(p).second) continue;
      heap.push_back({p->rank, next++, p});
      std::push_heap(heap.begin(), heap.end());
    }
  }
}

}  // namespace cg
