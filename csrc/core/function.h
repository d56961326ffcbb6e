// Function nodes: one application of an operation.
//
// Edges: function -> input nodes strong, -> output nodes weak; variable node -> creator strong.
#pragma once
#include <c10/util/ArrayRef.h>

#include <stdexcept>
#include <type_traits>

#include "core/mask.h"
#include "core/variable.h"

namespace cg {

using Tensors = c10::SmallVector<at::Tensor, 2>;
using Vars = c10::SmallVector<Var, 2>;
using VarsRef = c10::ArrayRef<Var>;
using Nodes = c10::SmallVector<Ref<VariableNode>, 2>;
using NodesRef = c10::ArrayRef<Ref<VariableNode>>;
struct OpInfo;
struct Call;
struct Store;

// What a function that runs at once has saved, for a backward without the interpreter lock: other threads may replace
// arrays, cut the function off or free its graph meanwhile.
struct Snapshot {
  Tensors in, out;
  c10::SmallVector<c10::DimVector, 2> in_sizes, out_sizes;
  c10::SmallVector<at::ScalarType, 2> in_dtypes;
  explicit Snapshot(const FunctionNode& f);
};

// What a backward sees: gradients of the outputs, saved inputs and outputs, and which input gradients are wanted.
// T = at::Tensor: the pass is plain. T = Var: the pass is itself recorded.
template <class T>
class Ctx {
 public:
  Ctx(FunctionNode& fn, c10::ArrayRef<T> gys, c10::SmallVectorImpl<T>& gxs, c10::ArrayRef<bool> wanted,
      const Snapshot* kept = nullptr)
      : fn_(fn), gys_(gys), gxs_(gxs), wanted_(wanted), kept_(kept) {}

  const T& gy(size_t j = 0) const { return gys_[j]; }  // undefined where an output has no gradient
  size_t outputs() const { return gys_.size(); }
  size_t inputs() const { return wanted_.size(); }
  bool needs(size_t i) const { return i < wanted_.size() && wanted_[i]; }
  // Input i, or output j, which `saves` names. `last`: nothing reads it here again, and may_overwrite() holds for it
  // where nobody else does.
  inline T in(size_t i, bool last = false) const;
  inline T out(size_t j, bool last = false) const;
  inline T saved(const at::Tensor& member) const;  // what forward stored in the op's struct
  // Gradient of input i; `f` runs only where it is wanted.
  template <class F>
  void grad(size_t i, F&& f) {
    if (needs(i)) gxs_[i] = f();
  }
  inline at::IntArrayRef in_sizes(size_t i) const;  // known also when the input is not saved
  inline at::IntArrayRef out_sizes(size_t j) const;
  inline at::ScalarType in_dtype(size_t i) const;
  FunctionNode& node() const { return fn_; }

 private:
  FunctionNode& fn_;
  c10::ArrayRef<T> gys_;
  c10::SmallVectorImpl<T>& gxs_;
  c10::ArrayRef<bool> wanted_;
  const Snapshot* kept_;
};

struct OutputSlot {
  VariableNode* node = nullptr;  // weak
  c10::DimVector sizes;
  at::Tensor saved;  // what backward reads, where the node may be gone: it died, or was cut off
};

struct FunctionNode : Pinned {
  uint32_t refs = 0;
  int32_t rank = 0;
  bool recorded = false;
  bool released = false;  // a pass that was to keep no graph went through it
  bool python = false;    // defined in Python: `handle` owns this node and counts its references
  bool lazy_grad_sum = false;
  bool saved_constants = false;  // inputs that require no gradient were saved as if they did
  bool owns_handle = false;      // a native node keeps the view that a program made: it has attributes of its own
  void* handle = nullptr;        // the Python object: weak view of a native node, owner of a Python-defined one
  void* frontend = nullptr;      // who recorded the function: a frontend of the binding; null: the native one
  void* hooks = nullptr;         // owned by the binding: hooks of this function alone
  void* stack = nullptr;         // owned by the binding: where the function was called, in debug mode
  std::unique_ptr<Call> call;    // of deferred functions (core/deferred.h)
  Nodes inputs;                  // null where an optional input was left out
  c10::SmallVector<OutputSlot, 1> outputs;

  FunctionNode();
  virtual ~FunctionNode();

  virtual const OpInfo* info() const { return nullptr; }
  virtual void* params() { return nullptr; }  // the op's struct, for reading and writing its fields
  virtual Tensors forward(VarsRef in) = 0;
  // Whether there is a forward_into, which writes the result into y, of its shape and dtype; y may be an input.
  virtual bool has_forward_into() const { return false; }
  virtual Tensors forward_into(const at::Tensor& /*y*/, VarsRef) { return {}; }
  // Tensors of the shapes and dtypes that forward would give, from inputs that may lack data.
  virtual Tensors infer(VarsRef in);
  virtual void describe_inputs(Call& call) const;  // which inputs are integers, which keep their dtype
  // For functions that work on the arrays themselves: true when that was done.
  virtual bool forward_on(c10::ArrayRef<Ref<Store>>, c10::ArrayRef<Ref<Store>>) { return false; }
  virtual bool backward_on(c10::ArrayRef<Ref<Store>>, c10::ArrayRef<Ref<Store>>, c10::ArrayRef<bool> /*wanted*/,
                           c10::ArrayRef<bool> /*accumulate*/) {
    return false;
  }
  virtual Mask saves(c10::ArrayRef<bool> needs) const = 0;  // what backward reads
  virtual Mask reuses() const { return 0; }                 // what backward reads by last_in and last_out
  virtual void backward(Ctx<at::Tensor>& c) = 0;
  virtual void backward(Ctx<Var>& c) = 0;

  void retain() {
    if (python)
      python_retain();
    else
      ++refs;
  }
  void release() {
    if (python)
      python_release();
    else if (--refs == 0)
      destroy(this);
    else if (owns_handle && refs == 1)
      release_handle();
  }
  // Runs forward and records the function as the current mode says. `record_constants`: also when no input needs a
  // gradient.
  Vars apply(VarsRef in, bool record_constants = false);
  // Makes this function the creator of `ys` with inputs `in`.
  void link(VarsRef in, c10::ArrayRef<Ref<VariableNode>> ys);
  void unchain();
  void detach();                         // at reference count 0: nothing leads here any more
  void release_graph();                  // drops inputs and saved data; the outputs are constants from now on
  virtual void drop_own() {}             // with them what a function holds that is no op
  Tensors forward_unlocked(VarsRef in);  // forward; of large tensors without the interpreter lock
  Var input(size_t i) const;
  at::Tensor input_data(size_t i, bool last = false) const {
    return call ? deferred_input(i, last) : inputs[i] ? inputs[i]->data : at::Tensor();
  }
  at::Tensor output_data(size_t j, bool last = false) const {
    return call ? deferred_output(j, last) : outputs[j].node ? outputs[j].node->data : outputs[j].saved;
  }
  Var output(size_t j);  // revives the node of an output that was released

 private:
  at::Tensor deferred_input(size_t i, bool last) const;
  at::Tensor deferred_output(size_t j, bool last) const;
  void python_retain();
  void python_release();
  void refuse_complex(const Tensors& ys) const;
  void release_handle();  // the view is the last to hold this node: neither is reachable if nothing else holds the view
};

template <class T>
T Ctx<T>::in(size_t i, bool last) const {
  if constexpr (std::is_same_v<T, Var>)
    return fn_.input(i);
  else
    return kept_ ? kept_->in[i] : fn_.input_data(i, last);
}
template <class T>
T Ctx<T>::out(size_t j, bool last) const {
  if constexpr (std::is_same_v<T, Var>)
    return fn_.output(j);
  else
    return kept_ ? kept_->out[j] : fn_.output_data(j, last);
}
Var read_member(FunctionNode& f, const at::Tensor& member);
template <class T>
T Ctx<T>::saved(const at::Tensor& member) const {
  if constexpr (std::is_same_v<T, Var>)
    return read_member(fn_, member);
  else
    return member;
}
template <class T>
at::IntArrayRef Ctx<T>::in_sizes(size_t i) const {
  return kept_ ? kept_->in_sizes[i] : fn_.inputs[i]->sizes;
}
template <class T>
at::IntArrayRef Ctx<T>::out_sizes(size_t j) const {
  return kept_ ? kept_->out_sizes[j] : fn_.outputs[j].sizes;
}
template <class T>
at::ScalarType Ctx<T>::in_dtype(size_t i) const {
  return kept_ ? kept_->in_dtypes[i] : fn_.inputs[i]->dtype;
}

// What the language binding supplies. Set once, when the module is loaded.
struct Binding {
  void (*incref)(void*) = nullptr;
  void (*decref)(void*) = nullptr;
  bool (*shared)(void*) = nullptr;  // held more than once
  // Forward hooks and debug checks around a native forward; called only when `observing()`, or where the function has
  // hooks of its own.
  bool (*observing)() = nullptr;
  void (*before_forward)(FunctionNode&, VarsRef in) = nullptr;
  void (*after_forward)(FunctionNode&, VarsRef in, const Tensors& out) = nullptr;
  // Backward hooks.
  void (*before_backward)(FunctionNode&, VarsRef gys) = nullptr;
  void (*after_backward)(FunctionNode&, VarsRef gys) = nullptr;
  // A user's replacement for a native backward.
  void (*overridden_backward)(FunctionNode&, VarsRef gys, Vars& gxs, c10::ArrayRef<bool> wanted) = nullptr;
  // The same for deferred functions, by their frontend's names; false where nothing is registered.
  bool (*registered_backward)(FunctionNode&, NodesRef inputs, VarsRef gys, Vars& gxs,
                              c10::ArrayRef<bool> wanted) = nullptr;
  // The backward of a Python-defined function. `pending(pass, x)` takes what is accumulated for x out of the pass.
  using Pending = Var (*)(void* pass, VariableNode& x);
  void (*python_backward)(FunctionNode&, NodesRef inputs, VarsRef gys, Vars& gxs, c10::ArrayRef<bool> wanted,
                          void* pass, Pending) = nullptr;
  // Checks gradients that a Python-defined function returned.
  void (*check_gradient)(FunctionNode&, const VariableNode& x, size_t input, const at::Tensor& g) = nullptr;
  std::string (*label)(const FunctionNode&) = nullptr;
  void (*check_signals)() = nullptr;  // throws where Ctrl-C was pressed
  void* (*unlock)() = nullptr;        // releases the interpreter lock
  void (*relock)(void*) = nullptr;
};
extern Binding binding;

// A native function was reached although none of its outputs has a gradient.
struct MissingGradient : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A graph was differentiated again that an earlier pass has released.
struct ReleasedGraph : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Kernels on large tensors run without the interpreter lock.
class Unlocked : Pinned {
 public:
  explicit Unlocked(bool large) : state_(large && binding.unlock ? binding.unlock() : nullptr) {}
  ~Unlocked() {
    if (state_) binding.relock(state_);
  }

 private:
  void* state_;
};
constexpr int64_t kLarge = 1 << 15;  // elements

}  // namespace cg
