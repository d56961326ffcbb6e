// Variable nodes: what they keep of their data, which function they are an output of, and where a program wants their
// gradients.
#include "core/variable.h"

#include "core/arithmetic.h"
#include "core/backprop.h"
#include "core/deferred.h"
#include "core/function.h"
#include "kernels/trace.h"

namespace cg {

VariableNode::VariableNode() = default;
VariableNode::~VariableNode() = default;

void VariableNode::leave() {
  if (!creator || output_index >= creator->outputs.size()) return;
  OutputSlot& slot = creator->outputs[output_index];
  if (slot.node != this) return;
  slot.node = nullptr;
  if (retained && !creator->call) slot.saved = data;  // the function's backward may still run
}

void VariableNode::detach() {
  if (cell) *cell = nullptr;
  leave();
}

void VariableNode::describe(const at::Tensor& t) {
  has_shape = t.defined();
  if (!has_shape) {
    sizes.clear();
    dtype = at::ScalarType::Undefined;
    return;
  }
  sizes.assign(t.sizes().begin(), t.sizes().end());
  dtype = t.scalar_type();
  device = t.device();
}

void VariableNode::retain_data(const at::Tensor& t) {
  data = t;
  retained = true;
}

// The old creator is released last, so that its finalizers see the node with the new creator.
void VariableNode::set_creator(Ref<FunctionNode> f, uint32_t index) {
  if (creator != f || output_index != index) leave();
  if (creator && deferred) ++graph_epoch;
  if (f) {
    output_index = index;
    rank = f->rank + 1;
    // A program may remove the creator and set it again. Then the function must point to the node again, because passes
    // refuse a creator that does not. But a node does not take the place of a deleted output whose data backward reads,
    // unless it has the same data.
    if (!f->call && index < f->outputs.size()) {
      OutputSlot& slot = f->outputs[index];
      if (!slot.node && (!slot.saved.defined() || slot.saved.is_same(data))) slot.node = this;
    }
  }
  std::swap(creator, f);
  if (deferred && !deferred->users.empty()) raise_ranks(*this);
}

void VariableNode::become_output(Ref<FunctionNode> f, uint32_t index) {
  FunctionNode& g = *f;
  leave();
  g.outputs[index].node = this;
  set_creator(std::move(f), index);
}

void VariableNode::unchain() { set_creator(nullptr, 0); }

Ref<VariableNode> make_node(const at::Tensor& t, bool requires_grad) {
  auto* n = new VariableNode;
  Ref<VariableNode> r(n);
  n->requires_grad = requires_grad;
  if (t.defined()) n->describe(t);
  return r;
}

bool GradientBuffer::is_own() const {
  return !kernels::traced() && data.is_contiguous() && data.storage_offset() == 0 && data.storage().use_count() == 1 &&
         !has_python_object(data);
}

void GradientBuffer::write(at::Tensor g) {
  fresh = true;
  bump_version(data);
  if (g.is_same(data)) return;  // its function computed it in this memory (GradientSlots::last_memory)
  if (add) {
    data.add_(g);
    return;
  }
  // The buffer takes over the gradient's memory, without a copy, if nobody can notice.
  at::TensorImpl* impl = data.unsafeGetTensorImpl();
  if (is_own() && may_overwrite(g) && g.is_contiguous() && g.storage_offset() == 0 &&
      g.scalar_type() == data.scalar_type() && g.device() == data.device() && g.sizes() == data.sizes()) {
    impl->set_storage_keep_dtype(g.storage());
    return;
  }
  data.copy_(g);
}

}  // namespace cg
