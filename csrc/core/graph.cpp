// The graph of variable nodes and function nodes: how functions are recorded and cut off, and how nodes are deleted.
#include "core/function.h"

#include <algorithm>
#include <vector>

#include "core/deferred.h"
#include "core/door.h"
#include "core/mode.h"
#include "core/op.h"
#include "core/postponed.h"
#include "core/tally.h"
#include "core/unread.h"
#include "kernels/one_thread.h"

namespace cg {

Binding binding;
Tally tally;
thread_local ModeTable thread_modes;
thread_local Whereabouts whereabouts = {};
thread_local void* caller = nullptr;
int8_t default_modes[static_cast<int>(Mode::count)] = {1, 0, 1, 0, 1, 0, 0, 0, 0, 0};

namespace {
// Nodes to be deleted, queued while a deletion runs on this thread. So a chain of a million functions is freed without
// recursion, and a finalizer that blocks stops only its own thread.
struct Dying {
  c10::SmallVector<VariableNode*, 8> variables;
  c10::SmallVector<FunctionNode*, 8> functions;
  template <class T>
  static bool delete_last(c10::SmallVectorImpl<T*>& dead) {
    if (dead.empty()) return false;
    delete dead.pop_back_val();
    return true;
  }
};
thread_local Dying* dying __attribute__((tls_model("initial-exec"))) = nullptr;

// Deleting runs user code (finalizers of arrays, hooks), which must not find the node: all pointers to it are cleared
// first.
template <class T, class Queue>
void destroy_in(T* node, Queue Dying::* queue) {
  node->detach();
  if (dying) {
    (dying->*queue).push_back(node);
    return;
  }
  Dying here;
  dying = &here;
  delete node;
  while (Dying::delete_last(here.functions) || Dying::delete_last(here.variables)) {
  }
  dying = nullptr;
}
}  // namespace

void destroy(VariableNode* node) { destroy_in(node, &Dying::variables); }
void destroy(FunctionNode* node) { destroy_in(node, &Dying::functions); }

FunctionNode::FunctionNode() = default;
FunctionNode::~FunctionNode() {
  if (call && call->info) binding.decref(call->info);
  if (hooks) binding.decref(hooks);
  if (stack) binding.decref(stack);
}

void FunctionNode::detach() {
  if (call) forget_uses(*this);
}

void FunctionNode::unchain() {
  recorded = false;
  if (call) {
    forget_uses(*this);
    ++graph_epoch;
  }
  const Nodes old = std::exchange(inputs, Nodes());  // released after the function has dropped everything
}

void FunctionNode::python_retain() { binding.incref(handle); }
void FunctionNode::python_release() { binding.decref(handle); }
void FunctionNode::release_handle() {
  if (binding.shared(handle)) return;
  owns_handle = false;
  binding.decref(handle);
}

void FunctionNode::link(VarsRef in, c10::ArrayRef<Ref<VariableNode>> ys) {
  unchain();
  rank = 0;
  for (const Var& x : in) {
    rank = std::max(rank, static_cast<int32_t>(x.rank()));
    // A constant gets a node, because hooks and graph views show every input. The output of a function that an earlier
    // pass released is a constant, too.
    const bool constant = !x.node || (!x.node->requires_grad && x.node->creator && x.node->creator->released);
    inputs.push_back(constant && x.defined() ? make_node(x.data, false) : x.node);
  }
  outputs.resize(ys.size());
  Ref<FunctionNode> self(this);
  for (size_t j = 0; j < ys.size(); ++j) {
    outputs[j].sizes = ys[j]->sizes;
    ys[j]->become_output(self, j);
  }
  recorded = true;
  frontend = caller;
  lazy_grad_sum = mode(Mode::lazy_grad_sum);
}

Var FunctionNode::input(size_t i) const {
  if (call) return deferred_var(inputs[i], this, i);
  return {inputs[i], inputs[i] ? read(inputs[i]->data) : at::Tensor()};
}

void FunctionNode::release_graph() {
  unchain();
  drop_own();
  released = true;
  Tensors freed;  // released at the end, so that finalizers of arrays see the function in its final state
  for (OutputSlot& y : outputs) {
    freed.push_back(std::move(y.saved));
    if (!y.node) continue;
    y.node->requires_grad = y.node->retained = false;
    freed.push_back(std::move(y.node->data));
  }
}

Snapshot::Snapshot(const FunctionNode& f) {
  for (size_t i = 0; i < f.inputs.size(); ++i) {
    const VariableNode* x = f.inputs[i].get();
    in.push_back(f.input_data(i));
    in_sizes.push_back(x ? x->sizes : c10::DimVector());
    in_dtypes.push_back(x ? x->dtype : at::ScalarType::Undefined);
  }
  for (size_t j = 0; j < f.outputs.size(); ++j) {
    out.push_back(f.output_data(j));
    out_sizes.push_back(f.outputs[j].sizes);
  }
}

// Complex inputs are refused if the result is real (no complex derivative exists), and for formulas that hold only for
// real numbers.
void FunctionNode::refuse_complex(const Tensors& ys) const {
  const bool refused = info()->real || std::any_of(ys.begin(), ys.end(), [](const at::Tensor& y) {
                         return y.defined() && at::isFloatingType(y.scalar_type());
                       });
  if (refused)
    throw std::runtime_error(std::string(info()->name) +
                             " is not differentiated by complex inputs; torch does so: "
                             "compatgrad.interop.call(torch_function, x)");
}

// A view shares the version counter of its base, so that a write through either is seen in both, as with torch's views.
static Tensors with_versions(Tensors ys, VarsRef in) {
  const auto counts = [](const at::Tensor& t) { return t.defined() && t.has_storage() && !t.is_inference(); };
  const at::Tensor x = in.empty() ? at::Tensor() : in[0].data;
  for (const at::Tensor& y : ys)
    if (counts(x) && counts(y) && !y.is_same(x) && y.is_alias_of(x))
      y.unsafeGetTensorImpl()->set_version_counter(x.unsafeGetTensorImpl()->version_counter());
  return ys;
}

Tensors FunctionNode::forward_unlocked(VarsRef in) {
  const bool large = std::any_of(in.begin(), in.end(), [](auto& x) { return x.defined() && x.data.numel() >= kLarge; });
  const Unlocked unlocked(large && info());  // without info it may run Python
  const kernels::OneThread one(info());
  return with_versions(forward(in), in);
}

Vars FunctionNode::apply(VarsRef in, bool record_constants) {
  Ref<FunctionNode> self(this);
  const int holders = std::exchange(may_postpone, 0);
  if (mode(Mode::deferred)) {
    settle();
    if (tally.ran) tally.ran(*this, in, mode(Mode::auto_forward));
    return apply_deferred(*this, in);
  }
  const bool observed = hooks || (binding.observing && binding.observing());
  Tensors ys;
  if (holders && !observed && !tally.ran) {
    at::Tensor y = join_attention(*this, in);
    if (!y.defined()) {
      read_inputs(in);
      y = postpone(*this, in, holders);
    }
    if (y.defined()) ys.push_back(std::move(y));
  } else {
    read_inputs(in);
  }
  if (ys.empty()) {
    settle();
    if (observed) user_code(binding.before_forward, *this, in);
    ys = forward_unlocked(in);
  }
  if (observed) user_code(binding.after_forward, *this, in, ys);
  if (tally.ran) tally.ran(*this, in, true);

  bool any = false, complex = false;
  c10::SmallVector<bool, 4> needs(in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    any |= needs[i] = in[i].requires_grad();
    complex |= needs[i] && in[i].data.is_complex();
  }
  if (complex && info()) refuse_complex(ys);
  // `grad` may ask for the gradient of a Variable that requires none, so its data is saved as well.
  saved_constants = any && record_constants;
  if (saved_constants)
    for (size_t i = 0; i < in.size(); ++i) needs[i] = in[i].node != nullptr;
  Vars out;
  if (!any && !record_constants) {
    // Results computed from arrays that a program has excluded from differentiation still belong to the graph.
    bool excluded = false;
    for (const Var& x : in) excluded |= x.node && x.node->buffer && !x.node->buffer->data.defined();
    for (auto& y : ys) {
      Ref<VariableNode> node = excluded ? make_node(y, false) : Ref<VariableNode>();
      if (excluded) node->buffer = std::make_unique<GradientBuffer>();
      out.emplace_back(std::move(node), std::move(y));
    }
    return out;
  }
  for (auto& y : ys) out.emplace_back(make_node(y, any), std::move(y));
  if (!mode(Mode::enable_backprop)) return out;
  c10::SmallVector<Ref<VariableNode>, 2> nodes;
  for (auto& y : out) nodes.push_back(y.node);
  link(in, nodes);
  if (!any) return out;
  const Mask mask = saves(needs);
  for (size_t i = 0; i < in.size(); ++i)
    if (inputs[i] && mask.input(i)) inputs[i]->retain_data(in[i].data);
  for (size_t j = 0; j < out.size(); ++j)
    if (mask.output(j)) {
      out[j].node->retain_data(out[j].data);
      if (out.size() > 1) outputs[j].saved = out[j].data;
    }
  return out;
}

Var FunctionNode::output(size_t j) {
  OutputSlot& slot = outputs[j];
  if (call) return deferred_var(output_node(*this, j), nullptr, 0);
  if (slot.node) return {Ref<VariableNode>(slot.node), read(slot.node->data)};
  if (!slot.saved.defined()) return {};
  auto node = make_node(read(slot.saved), true);
  node->retain_data(slot.saved);
  node->become_output(Ref<FunctionNode>(this), j);
  return {node, slot.saved};
}

}  // namespace cg
