// Function nodes: one application of an operation.
//
// References: a function owns its input nodes and points weakly to its output nodes; a variable node owns its creator.
#pragma once
#include <c10/util/ArrayRef.h>

#include <stdexcept>
#include <type_traits>

#include "core/mask.h"
#include "core/settle.h"
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

// A copy of what a function that runs at once has saved, for a backward without the interpreter lock: meanwhile other
// threads may replace arrays, cut the function off or free its graph.
struct Snapshot {
  Tensors in, out;
  c10::SmallVector<c10::DimVector, 2> in_sizes, out_sizes;
  c10::SmallVector<at::ScalarType, 2> in_dtypes;
  explicit Snapshot(const FunctionNode& f);
};

// A gradient that is a sum over the rows of two matrices, such as aᵀb. The sum of several such gradients is the same
// function of all their rows; to compute it once takes less time than to compute and add the gradients.
struct RowSumInfo {
  at::Tensor (*of)(const at::Tensor& a, const at::Tensor& b, at::IntArrayRef sizes);
  // Null, or: `write` puts the sum into a contiguous `to`, `add` adds it there; they return false if they cannot.
  bool (*write)(const at::Tensor& to, const at::Tensor& a, const at::Tensor& b);
  bool (*add)(const at::Tensor& to, const at::Tensor& a, const at::Tensor& b);
  bool adds_at_once;  // whether `add` takes no more time than to keep the rows
};
template <class Sum>
constexpr RowSumInfo describe_row_sum() {
  RowSumInfo s{&Sum::template of<at::Tensor>, nullptr, nullptr, false};
  if constexpr (requires { &Sum::write; }) s.write = &Sum::write;
  if constexpr (requires { &Sum::add; }) s.add = &Sum::add;
  if constexpr (requires { Sum::adds_at_once; }) s.adds_at_once = Sum::adds_at_once;
  return s;
}
template <class Sum>
inline constexpr RowSumInfo row_sum = describe_row_sum<Sum>();
using RowSum = const RowSumInfo*;
// A gradient that is zero outside of the elements begin to begin + g.size(axis) - 1 of one axis.
struct Part {
  int64_t axis, begin;
  at::Tensor g;
  c10::DimVector strides;  // in which the whole gradient lies best; empty: in C order
};
// Where a formula leaves gradients that it does not compute now, or not in new memory.
struct GradientSink {
  // Whether the gradient of input i, a sum over rows, will be computed later.
  virtual bool keep_rows(size_t i, RowSum sum, const at::Tensor& a, const at::Tensor& b) = 0;
  // The sum, written into existing memory for the gradient of input i; undefined if there is no such memory.
  virtual at::Tensor write_rows(size_t /*i*/, RowSum, const at::Tensor& /*a*/, const at::Tensor& /*b*/) { return {}; }
  // Whether the gradient of input i, which is this part, is added to others later.
  virtual bool keep_part(size_t /*i*/, Part&&) { return false; }
};

// What a backward formula gets: gradients of the outputs, saved inputs and outputs, and which input gradients are
// wanted. T = at::Tensor in a plain pass, T = Var in a pass that is itself recorded.
template <class T>
class Ctx {
 public:
  Ctx(FunctionNode& fn, c10::ArrayRef<T> gys, c10::SmallVectorImpl<T>& gxs, c10::ArrayRef<bool> wanted,
      const Snapshot* kept = nullptr, GradientSink* sink = nullptr)
      : fn_(fn), gys_(gys), gxs_(gxs), wanted_(wanted), kept_(kept), sink_(sink) {}

  const T& gy(size_t j = 0) const { return gys_[j]; }  // undefined if the output has no gradient
  size_t outputs() const { return gys_.size(); }
  size_t inputs() const { return wanted_.size(); }
  bool needs(size_t i) const { return i < wanted_.size() && wanted_[i]; }
  // Input i, or output j, which must be in `saves`. `last`: this formula does not read the tensor again, so that
  // may_overwrite() allows the formula to overwrite it if nobody else refers to it.
  inline T in(size_t i, bool last = false) const;
  inline T out(size_t j, bool last = false) const;
  inline T saved(const at::Tensor& member) const;  // a tensor that forward stored in the op's struct
  // Sets the gradient of input i to f(), which is called only if the gradient is wanted.
  template <class F>
  void grad(size_t i, F&& f) {
    if (needs(i)) gxs_[i] = f();
  }
  // Sets the gradient of input i, a sum over the rows of a and b, to Sum::of(a, b, in_sizes(i)), now or later.
  template <class Sum>
  void grad_of_rows(size_t i, const T& a, const T& b) {
    if (!needs(i)) return;
    if constexpr (std::is_same_v<T, at::Tensor>) {
      if (sink_ && sink_->keep_rows(i, &row_sum<Sum>, a, b)) return;
      if (sink_) gxs_[i] = sink_->write_rows(i, &row_sum<Sum>, a, b);
      if (gxs_[i].defined()) return;
    }
    gxs_[i] = Sum::of(a, b, in_sizes(i));
  }
  bool part(size_t i, Part p) { return sink_ && sink_->keep_part(i, std::move(p)); }
  inline at::IntArrayRef in_sizes(size_t i) const;  // known even if the input is not saved
  inline at::IntArrayRef out_sizes(size_t j) const;
  inline at::ScalarType in_dtype(size_t i) const;
  FunctionNode& node() const { return fn_; }

 private:
  FunctionNode& fn_;
  c10::ArrayRef<T> gys_;
  c10::SmallVectorImpl<T>& gxs_;
  c10::ArrayRef<bool> wanted_;
  const Snapshot* kept_;
  GradientSink* sink_;
};

struct OutputSlot {
  VariableNode* node = nullptr;  // weak
  c10::DimVector sizes;
  at::Tensor saved;  // data that backward reads, kept because the node may be deleted or cut off
};

struct FunctionNode : Pinned, Pooled {
  uint32_t refs = 0;
  int32_t rank = 0;
  bool recorded = false;
  bool released = false;  // a pass that frees the graph has visited this function
  bool python = false;    // defined in Python: `handle` owns this node and counts its references
  bool lazy_grad_sum = false;
  bool saved_constants = false;  // inputs that require no gradient were saved as well
  bool owns_handle = false;      // a native node owns its Python object, because a program has set attributes on it
  // The Python object: a native node points to it weakly; a node that is defined in Python is owned by it.
  void* handle = nullptr;
  void* frontend = nullptr;    // the frontend that recorded the function; null: the native one
  void* hooks = nullptr;       // owned by the binding: hooks of this function only
  void* stack = nullptr;       // owned by the binding: where the function was called, in debug mode
  std::unique_ptr<Call> call;  // of deferred functions (core/deferred.h)
  Nodes inputs;                // null for an optional input that was left out
  c10::SmallVector<OutputSlot, 1> outputs;

  FunctionNode();
  virtual ~FunctionNode();

  virtual const OpInfo* info() const { return nullptr; }
  virtual void* params() { return nullptr; }  // the op's struct, for reading and writing its fields
  virtual Tensors forward(VarsRef in) = 0;
  // Whether there is a forward_into, which writes the result into y (of the result's shape and dtype; y may be an
  // input).
  virtual bool has_forward_into() const { return false; }
  virtual Tensors forward_into(const at::Tensor& /*y*/, VarsRef) { return {}; }
  // Tensors with the shapes and dtypes of the results of forward, for inputs that may have no data.
  virtual Tensors infer(VarsRef in);
  virtual void describe_inputs(Call& call) const;  // which inputs are integers, which keep their dtype
  // For functions that work on the arrays themselves; returns true if the function did so.
  virtual bool forward_on(c10::ArrayRef<Ref<Store>>, c10::ArrayRef<Ref<Store>>) { return false; }
  virtual bool backward_on(c10::ArrayRef<Ref<Store>>, c10::ArrayRef<Ref<Store>>, c10::ArrayRef<bool> /*wanted*/,
                           c10::ArrayRef<bool> /*accumulate*/) {
    return false;
  }
  virtual Mask saves(c10::ArrayRef<bool> needs) const = 0;  // what backward reads
  virtual Mask reuses() const { return 0; }                 // what backward reads by in(i, true) and out(j, true)
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
  // Runs forward and records the function if the current mode says so. `record_constants`: record it even if no input
  // needs a gradient.
  Vars apply(VarsRef in, bool record_constants = false);
  // Makes this function the creator of `ys` with inputs `in`.
  void link(VarsRef in, c10::ArrayRef<Ref<VariableNode>> ys);
  void unchain();
  void detach();                         // at reference count 0: clears all pointers to this node
  void release_graph();                  // drops inputs and saved data; the outputs are then constants
  virtual void drop_own() {}             // called by release_graph: drops what else a subclass holds
  Tensors forward_unlocked(VarsRef in);  // forward; without the interpreter lock if tensors are large
  Var input(size_t i) const;
  at::Tensor input_data(size_t i, bool last = false) const {
    return call ? deferred_input(i, last) : inputs[i] ? read(inputs[i]->data) : at::Tensor();
  }
  at::Tensor output_data(size_t j, bool last = false) const {
    return call ? deferred_output(j, last) : read(outputs[j].node ? outputs[j].node->data : outputs[j].saved);
  }
  Var output(size_t j);  // makes the node of an output again if it was deleted

 private:
  at::Tensor deferred_input(size_t i, bool last) const;
  at::Tensor deferred_output(size_t j, bool last) const;
  void python_retain();
  void python_release();
  void refuse_complex(const Tensors& ys) const;
  void release_handle();  // called if only the Python object holds this node: then neither can be reached unless
                          // something else holds the object
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

// Functions that csrc/python supplies. Set once, when the module is loaded.
struct Binding {
  void (*incref)(void*) = nullptr;
  void (*decref)(void*) = nullptr;
  bool (*shared)(void*) = nullptr;  // whether the Python object has several owners
  // Forward hooks and debug checks around a native forward; called only if `observing()` or if the function has its own
  // hooks.
  bool (*observing)() = nullptr;
  void (*before_forward)(FunctionNode&, VarsRef in) = nullptr;
  void (*after_forward)(FunctionNode&, VarsRef in, const Tensors& out) = nullptr;
  // Backward hooks.
  void (*before_backward)(FunctionNode&, VarsRef gys) = nullptr;
  void (*after_backward)(FunctionNode&, VarsRef gys) = nullptr;
  // A user's replacement for a native backward.
  void (*overridden_backward)(FunctionNode&, VarsRef gys, Vars& gxs, c10::ArrayRef<bool> wanted) = nullptr;
  // A user's replacement for the backward of a deferred function, registered under the frontend's name of the function;
  // returns false if none is registered.
  bool (*registered_backward)(FunctionNode&, NodesRef inputs, VarsRef gys, Vars& gxs,
                              c10::ArrayRef<bool> wanted) = nullptr;
  // The backward of a Python-defined function. `pending(pass, x)` takes the gradient accumulated for x out of the pass.
  using Pending = Var (*)(void* pass, VariableNode& x);
  void (*python_backward)(FunctionNode&, NodesRef inputs, VarsRef gys, Vars& gxs, c10::ArrayRef<bool> wanted,
                          void* pass, Pending) = nullptr;
  // Checks gradients that a Python-defined function returned.
  void (*check_gradient)(FunctionNode&, const VariableNode& x, size_t input, const at::Tensor& g) = nullptr;
  std::string (*label)(const FunctionNode&) = nullptr;
  void (*check_signals)() = nullptr;  // throws if Ctrl-C was pressed
  void* (*unlock)() = nullptr;        // releases the interpreter lock
  void (*relock)(void*) = nullptr;
};
extern Binding binding;

// A pass reached a native function none of whose outputs has a gradient.
struct MissingGradient : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A pass reached a function that an earlier pass has released.
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
