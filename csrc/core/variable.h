// Variables and their nodes in the graph.
//
// A Variable is the user's object: data, gradient, and a place in the graph, its VariableNode. Functions hold nodes,
// not Variables; so data that no backward reads is freed together with the Variable.
#pragma once
#include <ATen/core/Tensor.h>
#include <c10/util/DimVector.h>
#include <c10/util/SmallVector.h>

#include <memory>
#include <optional>
#include <string>

#include "core/pool.h"
#include "core/ref.h"
#include "core/scope.h"

namespace cg {

struct Variable;
struct Deferred;

// A tensor in the graph, as the engine's functions take and return it. Without a node it is a constant.
struct Var {
  Ref<VariableNode> node;
  at::Tensor data;

  Var() = default;
  explicit Var(at::Tensor t) : data(std::move(t)) {}
  Var(Ref<VariableNode> n, at::Tensor t) : node(std::move(n)), data(std::move(t)) {}
  bool defined() const { return data.defined(); }
  inline bool requires_grad() const;
  inline int rank() const;
  // Shape queries with ATen's names, so that a formula can be written once for tensors and Vars.
  at::IntArrayRef sizes() const { return data.sizes(); }
  int64_t size(int64_t i) const { return data.size(i); }
  int64_t dim() const { return data.dim(); }
  int64_t numel() const { return data.numel(); }
  at::ScalarType scalar_type() const { return data.scalar_type(); }
  at::TensorOptions options() const { return data.options(); }
};

// A program's memory into which the gradient of a marked node is written.
struct GradientBuffer {
  at::Tensor data;
  bool add = false;    // add to the old content instead of replacing it
  bool fresh = false;  // written since the program last cleared the flag
  void write(at::Tensor g);
  // Whether the memory is that of this tensor alone: it has no view, and there is no Python object, from which another
  // library may have got the address.
  bool is_own() const;
};

// The engine's kernels do not increase torch's version counters. This does, so that torch notices if a tensor that it
// has saved was overwritten.
inline void bump_version(const at::Tensor& t) {
  if (!t.is_inference()) t.unsafeGetTensorImpl()->bump_version();
}

struct VariableNode : Pinned, Pooled {
  uint32_t refs = 0;
  int32_t rank = 0;
  uint32_t output_index = 0;
  bool requires_grad = true;
  bool retained = false;
  bool has_shape = false;
  at::ScalarType dtype = at::ScalarType::Undefined;
  at::Device device = at::kCPU;
  c10::DimVector sizes;
  Ref<FunctionNode> creator;
  Variable* variable = nullptr;  // weak
  at::Tensor data;               // defined only if retained
  void* handle = nullptr;        // weak: the Python object of this node
  std::unique_ptr<std::string> name, old_style_generator;
  std::unique_ptr<GradientBuffer> buffer;  // null: the gradient goes to `variable`, if that exists
  std::unique_ptr<Deferred> deferred;      // of variables whose values come later (core/deferred.h)
  std::shared_ptr<VariableNode*> cell;  // made for the first weak reference; contains null after the node was deleted

  VariableNode();
  ~VariableNode();

  void retain() { ++refs; }
  void release() {
    if (--refs == 0) destroy(this);
  }
  void detach();                       // at reference count 0: nothing leads here any more
  void describe(const at::Tensor& t);  // copies shape, dtype and device of `t`
  void retain_data(const at::Tensor& t);
  void set_creator(Ref<FunctionNode> f, uint32_t index);
  void become_output(Ref<FunctionNode> f, uint32_t index);  // also makes this node the function's output
  void unchain();

 private:
  void leave();  // removes this node from the creator's outputs
};

struct Variable : Pinned {
  at::Tensor data;
  Ref<VariableNode> node;
  Var grad;
  std::optional<double> loss_scale;

  ~Variable() {
    if (node && node->variable == this) node->variable = nullptr;
  }
};

inline bool Var::requires_grad() const { return node && node->requires_grad; }
inline int Var::rank() const { return node ? node->rank : 0; }

Ref<VariableNode> make_node(const at::Tensor& t, bool requires_grad);

}  // namespace cg
