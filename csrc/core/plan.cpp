// Plans, and forward passes over deferred functions.
#include "core/plan.h"

#include "core/arithmetic.h"

#include <ATen/ops/clone.h>

#include "core/mode.h"
#include "core/op.h"
#include "core/order.h"
#include "core/settle.h"
#include "core/tally.h"
#include "core/unread.h"
#include "kernels/one_thread.h"

namespace cg {

struct Plan {
  uint64_t epoch = 0;
  std::shared_ptr<const std::vector<Ref<FunctionNode>>> order;  // the last function is the variable's creator
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

// Collects functions in the order of the original's recursion.
void collect(FunctionNode* root, PointerSet<FunctionNode>& done, std::vector<Ref<FunctionNode>>& order) {
  if (!done.insert(root).second) return;
  inputs_first(
      root, [&](const VariableNode& x) { return x.creator && x.creator->call && done.insert(x.creator.get()).second; },
      [&](FunctionNode& f) { order.emplace_back(&f); });
}

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

Mask saves_of(const FunctionNode& f) { return f.call->need_grad ? f.saves(wanted_of(f)) : Mask(); }

// The memory of an input that will be freed, that nobody else refers to, and that fits the result of `f`; or none.
at::Tensor memory_for_result(c10::ArrayRef<Ref<Store>> in, const Vars& values, const LastUse& last) {
  const at::Tensor& first = values[0].data;
  if (!at::isFloatingType(first.scalar_type())) return {};
  for (const Var& v : values)
    if (!v.defined() || v.sizes() != first.sizes() || v.data.scalar_type() != first.scalar_type()) return {};
  for (size_t i = 0; i < in.size(); ++i) {
    if (!last.input(i)) continue;
    in[i]->data->clear();
    if (may_overwrite(values[i].data)) return values[i].data;
  }
  return {};
}

// States that a function writes into (such as running means) are converted to the type in which it computes. If a
// program had assigned them in another type, the function would get a copy and write into that.
void type_states(FunctionNode& f, c10::ArrayRef<Ref<Store>> in) {
  const at::ScalarType real = f.call->real;
  for (size_t i = 0; i < in.size(); ++i) {
    if (!in[i] || f.inputs[i]->creator || in[i]->data->read().scalar_type() == real) continue;
    const bool* update = param_of<bool>(f, "update");
    const bool assigned = i == 0 && f.info() && f.info()->name == std::string_view("assign");
    if (assigned || (i > 0 && update && *update)) in[i]->data->set_dtype(real);
  }
}

void remember_random_state(FunctionNode& f) {
  if (at::Tensor* state = random_state(f)) f.call->rng_before = state->clone();
}

void run_on_again(FunctionNode& f) {
  at::Tensor* state = f.call->rng_before.defined() ? random_state(f) : nullptr;
  const at::Tensor now = state ? state->clone() : at::Tensor();
  const Setting again(f.call->again, true);
  std::optional<Setting<bool>> unmoved;
  if (bool* update = param_of<bool>(f, "update")) unmoved.emplace(*update, false);
  if (state) state->copy_(f.call->rng_before);
  run_on(f, input_stores(f), f.call->outputs);
  if (state) state->copy_(now);
}

}  // namespace

c10::ArrayRef<Ref<FunctionNode>> functions_of(const Plan& plan) {
  if (plan.order.use_count() > 1) return {};
  return *plan.order;
}

void require_parent(const VariableNode& y) {
  if (!y.creator || !y.creator->call) throw std::runtime_error("The variable has no parent.");
}

c10::SmallVector<bool, 4> wanted_of(const FunctionNode& f) {
  c10::SmallVector<bool, 4> wanted;
  for (auto& x : f.inputs) wanted.push_back(x && x->requires_grad);
  return wanted;
}

bool Freeing::decide(const FunctionNode& f, const VariableNode& x, const Uses& u) const {
  const Deferred& d = *x.deferred;
  if (u.seen < d.uses || !x.creator || d.persistent || f.call->keeps_inputs) return false;
  return all_ || (!again_ && d.recompute) || (unread_ && !u.kept);
}

bool Freeing::frees(FunctionNode& f, size_t i) const {
  const VariableNode* x = f.inputs[i].get();
  if (!x || !x->deferred) return false;
  const Uses* found = uses_.find(x->deferred.get());
  Uses u = found ? *found : Uses();
  ++u.seen;
  u.kept |= saves_of(f).input(i);
  return decide(f, *x, u);
}

void Freeing::ran(FunctionNode& f) {
  const Mask mask = saves_of(f);
  for (size_t j = 0; j < f.outputs.size(); ++j)
    if (f.outputs[j].node && f.outputs[j].node->deferred && mask.output(j))
      uses_.insert(f.outputs[j].node->deferred.get()).first->kept = true;
  for (size_t i = 0; i < f.inputs.size(); ++i) {
    VariableNode* x = f.inputs[i].get();
    if (!x || !x->deferred) continue;
    Uses& u = *uses_.insert(x->deferred.get()).first;
    u.kept |= mask.input(i);
    ++u.seen;
    if (decide(f, *x, u)) x->deferred->store->data->clear();
  }
}

std::shared_ptr<const std::vector<Ref<FunctionNode>>> forward_order(VariableNode& y) {
  require_parent(y);
  auto& plan = y.deferred->plan;
  if (!plan || plan->epoch != graph_epoch || plan->order->back() != y.creator) {
    auto order = std::make_shared<std::vector<Ref<FunctionNode>>>();
    PointerSet<FunctionNode> done;
    collect(y.creator.get(), done, *order);
    auto fresh = std::make_shared<Plan>(Plan{graph_epoch, std::move(order)});
    std::swap(plan, fresh);  // the old plan is released last, so that finalizers see the new one
  }
  return plan->order;
}

void refresh_need_grad(VariableNode& y) {
  const auto order = forward_order(y);
  for (auto& f : *order) refresh(*f);
  if (y.deferred->need_grad < 0) y.requires_grad = y.creator->call->need_grad;
}

c10::SmallVector<Ref<Store>, 4> input_stores(FunctionNode& f) {
  c10::SmallVector<Ref<Store>, 4> stores;
  for (auto& x : f.inputs) {
    // The function does not read a variable of the graph that runs at once if its data is not retained.
    const bool absent = !x || (!x->deferred && !x->data.defined());
    if (absent || x->deferred) {
      stores.push_back(absent ? Ref<Store>() : x->deferred->store);
    } else {
      stores.emplace_back(new Store(x->data.sizes()));
      stores.back()->data->put(x->data);
    }
  }
  return stores;
}

void run_on(FunctionNode& f, c10::ArrayRef<Ref<Store>> in, c10::ArrayRef<Ref<Store>> out, const LastUse* last,
            bool late) {
  settle();
  for (auto& x : in)
    if (x) x->data->move(f.call->device);
  type_states(f, in);
  if (f.forward_on(in, out)) return;
  Vars values;
  bool large = false;
  for (size_t i = 0; i < in.size(); ++i) {
    values.emplace_back(in[i] ? cast_input(*f.call, i, in[i]->data->unread()) : at::Tensor());
    large |= in[i] && values[i].data.numel() >= kLarge;
  }
  Tensors ys;
  try {
    if (late && !tally.ran)
      if (at::Tensor y = join_attention(f, values); y.defined()) ys.push_back(std::move(y));
    if (ys.empty()) {
      read_inputs(values);
      const at::Tensor y = last && f.has_forward_into() ? memory_for_result(in, values, *last) : at::Tensor();
      Unlocked unlocked(large && f.info());  // without info it may run Python
      const kernels::OneThread one(f.info());
      ys = y.defined() ? f.forward_into(y, values) : f.forward(values);
    }
  } catch (const c10::Error& e) {
    throw std::runtime_error(binding.label(f) + ": " + e.what_without_backtrace());
  }
  if (tally.ran) tally.ran(f, values, true);
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

void run_on_own(FunctionNode& f, bool again) {
  if (again) return run_on_again(f);
  remember_random_state(f);
  run_on(f, input_stores(f), f.call->outputs);
}

void forward_pass(c10::ArrayRef<VariableNode*> ys, const DeferredOptions& options) {
  const EngineScope engine;
  ModeScope plain(Mode::deferred, false);
  std::shared_ptr<const std::vector<Ref<FunctionNode>>> order;
  if (ys.size() == 1) {
    order = forward_order(*ys[0]);
  } else {
    auto several = std::make_shared<std::vector<Ref<FunctionNode>>>();
    PointerSet<FunctionNode> done;
    for (VariableNode* y : ys)
      if (y->creator && y->creator->call) collect(y->creator.get(), done, *several);
    order = std::move(several);
  }
  bool recomputed = false;
  Freeing freeing(options.clear_buffer, options.clear_no_need_grad, false);
  for (auto& f : *order)
    for (auto& x : f->inputs) {
      if (!x || !x->deferred) continue;
      recomputed |= x->deferred->recompute;
      // The arrays have two owners, the node of x and its function, unless an unlinked variable shares them. Gradients
      // of functions of that variable may read the data, so it is not freed.
      if (options.clear_no_need_grad && x->creator && x->deferred->store->refs > 2) freeing.keep(*x->deferred);
    }
  const bool clearing = options.clear_buffer || options.clear_no_need_grad || recomputed;
  unsigned visits = 0;
  bool slow = true;
  const auto large = [](at::IntArrayRef sizes) { return c10::multiply_integers(sizes) >= kLarge; };
  for (auto& f : *order) {
    // check_signals() reads the clock: at each function of few numbers that would take a hundredth of their time
    if (slow || ++visits % 16 == 0) binding.check_signals();
    slow = !f->info();
    for (auto& x : f->inputs) slow |= x && large(x->sizes);
    for (auto& y : f->outputs) slow |= large(y.sizes);
    refresh(*f);
    for (auto& y : f->outputs)
      if (y.node && y.node->deferred && y.node->deferred->need_grad < 0) y.node->requires_grad = f->call->need_grad;
    if (options.before) user_code(options.before, *f);
    if (clearing) remember_random_state(*f);
    const auto freed = [&](size_t i) { return freeing.frees(*f, i); };
    const LastUse last{.input = freed};
    const bool late = !options.before && !options.after && (options.clear_buffer || !f->call->need_grad);
    run_on(*f, input_stores(*f), f->call->outputs, clearing && !options.after ? &last : nullptr, late);
    if (options.after) user_code(options.after, *f);
    if (clearing) freeing.ran(*f);
    if (options.finished) user_code(options.finished, *f);
  }
}

}  // namespace cg
