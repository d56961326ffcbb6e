// Deferred variables, and the recording of functions on them.
#include "core/deferred.h"

#include <ATen/ExpandUtils.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/floor.h>

#include "core/arithmetic.h"
#include "core/mode.h"
#include "core/op.h"
#include "core/plan.h"
#include "core/pointer_map.h"
#include "core/tally.h"
#include "core/unread.h"

namespace cg {

thread_local at::ScalarType real_dtype = at::kFloat;
thread_local at::Device real_device = at::kCPU;
uint64_t graph_epoch = 1;
bool global_recompute = false;

namespace {
Ref<VariableNode> node_with(Ref<Store> store, at::IntArrayRef sizes, bool requires_grad) {
  auto* n = new VariableNode;
  Ref<VariableNode> r(n);
  n->deferred = std::make_unique<Deferred>(std::move(store));
  n->deferred->recompute = global_recompute;
  n->has_shape = true;
  n->dtype = real_dtype;
  n->sizes.assign(sizes.begin(), sizes.end());
  n->requires_grad = requires_grad;
  return r;
}

const at::Tensor& read_kept(Array& a, const FunctionNode& f, const char* what, size_t index) {
  a.move(f.call->device);
  if (a.cleared)
    throw std::runtime_error("the data of " + std::string(what) + " " + std::to_string(index) + " of " +
                             binding.label(f) +
                             " was cleared: run forward(), or forward(clear_no_need_grad=True), before backward()");
  return a.read();
}

Tensors infer_pointwise(VarsRef in) {
  at::DimVector sizes(in[0].sizes().begin(), in[0].sizes().end());
  for (const Var& x : in.slice(1))
    if (x.defined() && x.sizes() != at::IntArrayRef(sizes)) sizes = at::infer_size_dimvector(sizes, x.sizes());
  return {hollow(sizes, in[0].data.scalar_type(), in[0].data.device())};
}
}  // namespace

// ---- variables ------------------------------------------------------------------------------------------------------
at::Tensor hollow(at::IntArrayRef sizes, at::ScalarType dtype, at::Device device) {
  // Code that reads the data gets an error instead of arbitrary numbers.
  static const c10::Storage storage = [] {
    c10::Storage s(c10::Storage::use_byte_size_t{}, 0, c10::DataPtr(nullptr, at::kCPU), nullptr, false);
    s.unsafeGetStorageImpl()->set_throw_on_mutable_data_ptr();
    s.unsafeGetStorageImpl()->release_data_and_set_meta_custom_data_ptr_error_msg_(
        "this computation reads values while a graph is recorded, before they exist");
    return s;
  }();
  const auto key = device.is_cuda() ? c10::DispatchKey::CUDA : c10::DispatchKey::CPU;
  auto t = at::detail::make_tensor<c10::TensorImpl>(c10::Storage(storage), c10::DispatchKeySet(key),
                                                    c10::scalarTypeToTypeMeta(dtype));
  t.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  return t;
}

Ref<VariableNode> make_deferred(Ref<Store> store, int need_grad) {
  const c10::DimVector sizes = store->data->sizes;
  auto node = node_with(std::move(store), sizes, need_grad == 1);
  node->deferred->need_grad = need_grad;
  return node;
}

Ref<VariableNode> output_node(FunctionNode& f, size_t j) {
  OutputSlot& slot = f.outputs[j];
  if (slot.node) return Ref<VariableNode>(slot.node);
  auto node = node_with(f.call->outputs[j], f.call->outputs[j]->data->sizes, f.call->need_grad);
  node->become_output(Ref<FunctionNode>(&f), j);
  return node;
}

at::Tensor cast_input(const Call& call, size_t i, at::Tensor t) {
  if (!call.integers.input(i)) return cast_real(call, std::move(t));
  // Few kernels support the unsigned types of more than 8 bits.
  const at::ScalarType dtype = t.scalar_type();
  const bool kept = at::isIntegralType(dtype, false) && (dtype == at::kByte || at::isSignedType(dtype));
  if (kept) return t;
  return (call.floors && at::isFloatingType(dtype) ? at::floor(read(t)) : read(t)).to(at::kLong);
}
at::Tensor cast_real(const Call& call, at::Tensor t) {
  const at::ScalarType dtype = t.scalar_type();
  if (dtype == call.real) return t;
  if (call.any_dtype && !call.integers && !at::isFloatingType(dtype)) return t;
  return read(t).to(call.real);
}

at::Tensor FunctionNode::deferred_input(size_t i, bool last) const {
  if (!inputs[i]) return {};
  Deferred* d = inputs[i]->deferred.get();
  if (!d) return inputs[i]->data;
  at::Tensor t = cast_input(*call, i, read_kept(*d->store->data, *this, "input", i));
  if (last && call->last_reads.input(i)) d->store->data->clear();
  return t;
}
at::Tensor FunctionNode::deferred_output(size_t j, bool last) const {
  at::Tensor t = read_kept(*call->outputs[j]->data, *this, "output", j);
  if (last && call->last_reads.output(j)) call->outputs[j]->data->clear();
  return t;
}

Var deferred_var(const Ref<VariableNode>& node, const FunctionNode* f, size_t i, bool unread) {
  if (!node) return {};
  if (!node->deferred) return {node, node->data};
  if (mode(Mode::auto_forward) || mode(Mode::plain)) {
    if (f) return {node, f->input_data(i)};
    Array& a = *node->deferred->store->data;
    if (!mode(Mode::plain)) a.move(real_device);
    return {node, unread ? a.unread() : a.read()};
  }
  at::ScalarType dtype = node->dtype;
  if (f && f->call->integers.input(i)) dtype = at::kLong;
  return {node, hollow(node->sizes, dtype, node->device)};
}

// ---- recording ------------------------------------------------------------------------------------------------------
Tensors FunctionNode::infer(VarsRef in) {
  if (const OpInfo* i = info(); i && i->pointwise) return infer_pointwise(in);
  at::Device device = at::kCPU;
  Vars metas;
  for (const Var& x : in) {
    if (x.defined()) device = x.data.device();
    metas.emplace_back(x.defined() ? at::empty(x.sizes(), x.data.options().device(at::kMeta)) : at::Tensor());
  }
  Tensors ys = forward(metas);
  for (auto& y : ys) y = hollow(y.sizes(), y.scalar_type(), device);
  return ys;
}

void FunctionNode::describe_inputs(Call& call) const {
  const OpInfo* i = info();
  call.integers = i ? i->integers : Mask();
  call.floors = i && i->floors;
  // Integers that an op of real numbers gets beside floats are no indices, but data that a program did not convert.
  call.any_dtype = !i || (i->any_dtype && !i->real);
}

Vars apply_deferred(FunctionNode& f, VarsRef given) {
  Ref<FunctionNode> self(&f);
  const bool now = mode(Mode::auto_forward);
  f.call = std::make_unique<Call>();
  Call& call = *f.call;
  call.real = real_dtype;
  call.device = real_device;
  f.describe_inputs(call);
  Vars in, values;
  for (size_t i = 0; i < given.size(); ++i) {
    const Var& x = given[i];
    if (x.node || !x.defined()) {
      in.push_back(x);
    } else {  // a constant that a formula made
      Ref<Store> store(new Store(x.sizes()));
      store->data->put(x.data);
      auto node = make_deferred(std::move(store), 0);
      node->deferred->persistent = true;
      in.emplace_back(std::move(node), x.data);
    }
    if (!x.defined())
      values.emplace_back();
    else if (now || !in[i].node->deferred)
      values.emplace_back(cast_input(call, i, x.data));
    else
      values.emplace_back(hollow(x.sizes(), call.integers.input(i) ? at::kLong : call.real, x.data.device()));
    call.need_grad |= in[i].requires_grad();
  }
  const bool linked = !now || mode(Mode::enable_backprop);
  call.need_grad &= linked;
  Tensors ys;
  if (now && !call.need_grad && !tally.ran)
    if (at::Tensor y = join_attention(f, values); y.defined()) ys.push_back(std::move(y));
  if (ys.empty()) {
    read_inputs(values);
    ys = now ? f.forward_unlocked(values) : f.infer(values);
  }
  Vars out;
  c10::SmallVector<Ref<VariableNode>, 2> nodes;
  for (auto& y : ys) {
    Ref<Store> store(new Store(y.sizes()));
    store->data->device = store->grad->device = call.device;
    if (now) store->data->put(y);
    call.outputs.push_back(store);
    nodes.push_back(node_with(std::move(store), y.sizes(), call.need_grad));
    nodes.back()->device = call.device;
    out.emplace_back(nodes.back(), std::move(y));
  }
  if (!linked) return out;
  f.link(in, nodes);
  for (size_t i = 0; i < in.size(); ++i) {
    VariableNode* x = f.inputs[i].get();
    if (!x) continue;
    if (x->deferred) {
      Deferred& d = *x->deferred;
      ++d.uses;
      d.users.add(f);
    } else if (f.saves(wanted_of(f)).input(i)) {
      x->retain_data(in[i].data);
    }
  }
  return out;
}

void release_unread(VariableNode& x) {
  Deferred& d = *x.deferred;
  if (!x.creator || !x.creator->call || d.persistent || !mode(Mode::auto_forward)) return;
  if (x.refs > d.uses + 1) return;  // a pass holds the variable
  if (d.store->refs > 2) return;    // the arrays are shared with an unlinked variable
  // As in the original, it makes no difference here whether the creator needs a gradient.
  const c10::SmallVector<bool, 8> all(x.creator->inputs.size(), true);
  if (x.creator->saves(all).output(x.output_index)) return;
  const auto reads = [&](FunctionNode& f) {
    if (!f.call->need_grad) return false;
    const Mask mask = f.saves(wanted_of(f));
    for (size_t i = 0; i < f.inputs.size(); ++i)
      if (f.inputs[i].get() == &x && mask.input(i)) return true;
    return false;
  };
  if (!d.users.any(reads)) d.store->data->clear();
}

void raise_ranks(VariableNode& x) {
  if (!x.deferred->users.any([&](FunctionNode& f) { return f.rank < x.rank; })) return;
  // All functions behind the variable, in the order in which a depth-first search leaves them: each comes after the
  // functions behind it. In a graph with a cycle, each occurs once.
  std::vector<FunctionNode*> found;
  PointerSet<FunctionNode> seen;
  struct Step {
    FunctionNode* f;  // null for the variable itself
    std::vector<FunctionNode*> next;
  };
  const auto followers = [](VariableNode& y, std::vector<FunctionNode*>& to) {
    if (y.deferred) y.deferred->users.each([&](FunctionNode& f, uint64_t) { to.push_back(&f); });
  };
  std::vector<Step> path(1);
  followers(x, path.back().next);
  while (!path.empty()) {
    Step& at = path.back();
    if (at.next.empty()) {
      if (at.f) found.push_back(at.f);
      path.pop_back();
      continue;
    }
    FunctionNode* f = at.next.back();
    at.next.pop_back();
    if (!seen.insert(f).second) continue;
    Step step{f, {}};
    for (OutputSlot& y : f->outputs)
      if (y.node) followers(*y.node, step.next);
    path.push_back(std::move(step));
  }
  for (auto f = found.rbegin(); f != found.rend(); ++f) {
    for (auto& in : (*f)->inputs)
      if (in) (*f)->rank = std::max((*f)->rank, in->rank);
    for (OutputSlot& y : (*f)->outputs)
      if (y.node) y.node->rank = std::max(y.node->rank, (*f)->rank + 1);
  }
}

void forget_uses(FunctionNode& f) {
  for (auto& x : f.inputs)
    if (x && x->deferred) {
      --x->deferred->uses;
      x->deferred->users.remove(f);
    }
}

}  // namespace cg
