// Deferred execution: functions are recorded first and run later, any number of times, on the same arrays. This is
// nnabla's graph; with Mode::auto_forward each function also runs when it is recorded.
//
// A deferred variable's values live in a Store, a pair of arrays for data and gradient. Both may be shared with other
// variables and with a user's handles, and forward passes replace what they hold.
#pragma once
#include <c10/core/Scalar.h>
#include <c10/util/FunctionRef.h>

#include <functional>
#include <memory>
#include <vector>

#include "core/function.h"
#include "core/settle.h"
#include "core/users.h"

namespace cg {

// What an array holds: a tensor, or the number that it will be filled with when it is first read.
struct ArrayContent {
  at::Tensor tensor;
  double fill_value = 0;
  bool zeroing = false;  // zero() was called and nothing was written since
  bool touched = false;  // a value was written into it
  bool cleared = false;
  bool computed = false;  // the tensor is a function's result: it may be a view of another array's
};
// Arrays may share memory; a change of one of them is then seen in all.
struct Array : ArrayContent, Pinned, Pooled {
  uint32_t refs = 0;
  c10::DimVector sizes;
  at::ScalarType dtype = at::kFloat;  // of the tensor that will be made
  at::Device device = at::kCPU;
  bool typed = false;  // a tensor was made before
  uint64_t modified = 0;

  explicit Array(at::IntArrayRef s);
  ~Array();
  void retain() { ++refs; }
  void release() {
    if (--refs == 0) delete this;
  }
  const at::Tensor& read() { return cg::read(unread()); }
  // Perhaps an array whose values come later (core/unread.h).
  const at::Tensor& unread() { return tensor.defined() ? tensor : make(); }
  const at::Tensor& write();  // for reading and writing
  const at::Tensor& own();    // for a user to write into: contiguous, and not shared with a function's input
  void put(at::Tensor t);     // the array holds t from now on
  void assign(at::Tensor t);  // a user's tensor: arrays of another shape on this memory follow it
  void fill(double value, bool counts = true);  // counts: filling with 0 sets `zeroing`
  void clear();                                 // frees the memory, unless it is a part of another array's
  void move(at::Device d);  // moves the array and all that share its memory; does not count as a write
  void set_dtype(at::ScalarType t);
  void reshape(at::IntArrayRef s);  // with another number of elements the content is dropped
  // Takes the shape of its variable; with another number of elements the tensor is dropped.
  void follow(at::IntArrayRef s);
  int64_t numel() const { return c10::multiply_integers(sizes); }
  // An array that shares the memory of the elements from `offset` on. With `part` it is one of possibly several parts,
  // which must not overlap; otherwise it is this array in another shape.
  Ref<Array> share(at::IntArrayRef s, int64_t offset, bool part);
  bool is_part() const;
  bool shares() const { return family != nullptr; }  // whether it shares its memory with other arrays

 private:
  struct Family;
  std::unique_ptr<Family> family;
  Array &base(), &root();
  const at::Tensor& make();
  bool put_shared(const at::Tensor& t, bool user);
  bool has_parts();
  void remove(Array* child);
  void leave();
  void rebind();
  void mark(bool zero);
  void mark_below(bool zero);
};

struct Store : Pooled {
  uint32_t refs = 0;
  Ref<Array> data, grad;
  explicit Store(at::IntArrayRef sizes) : data(new Array(sizes)), grad(new Array(sizes)) {}
  Store(Ref<Array> d, Ref<Array> g) : data(std::move(d)), grad(std::move(g)) {}
  void retain() { ++refs; }
  void release() {
    if (--refs == 0) delete this;
  }
};

struct Plan;
struct Deferred : Pooled {
  Ref<Store> store;
  int8_t need_grad = -1;  // what a user set; -1: not set
  bool persistent = false, recompute = false;
  uint32_t uses = 0;  // how many inputs of functions are this variable
  Users users;
  std::shared_ptr<Plan> plan;  // the functions that compute this variable
  explicit Deferred(Ref<Store> s) : store(std::move(s)) {}
};

// What a pass frees after it has run a function.
struct LastUse {
  c10::SmallVector<bool, 2> data, grads;  // for each output, in a backward pass
  c10::function_ref<bool(size_t)> input;  // whether the pass frees the data of input i
};

// What a deferred function has in addition to its node.
struct Call : Pooled {
  c10::SmallVector<Ref<Store>, 1> outputs;  // these outlive the output nodes
  at::ScalarType real = at::kFloat;         // the type that floating inputs are cast to
  Mask integers;
  bool any_dtype = false, need_grad = false, floors = false;
  bool again = false;            // runs again for a gradient, with the random numbers of the last run
  bool keeps_inputs = false;     // passes that free memory do not free its inputs
  at::Tensor rng_before;         // the random state before the last forward, if that may have to run again
  Mask last_reads;               // while backward runs: which of the data in `saves` are freed after the read
  void* info = nullptr;          // the binding's: the frontend's name and arguments of the function
  at::Device device = at::kCPU;  // where it runs; its arrays are moved there first
};

// The type that floating inputs of functions recorded by this thread are cast to.
extern thread_local at::ScalarType real_dtype;
// The device of functions recorded by this thread.
extern thread_local at::Device real_device;
// Increased whenever a graph changes, which makes plans invalid.
extern uint64_t graph_epoch;
// Whether the data of new variables is computed again in backward instead of being kept.
extern bool global_recompute;

// A tensor with a shape but without data.
at::Tensor hollow(at::IntArrayRef sizes, at::ScalarType dtype, at::Device device);
inline at::Tensor hollow(const at::Tensor& like) { return hollow(like.sizes(), like.scalar_type(), like.device()); }
inline at::Tensor hollow(at::IntArrayRef sizes, const at::Tensor& like) {
  return hollow(sizes, like.scalar_type(), like.device());
}
Ref<VariableNode> make_deferred(Ref<Store> store, int need_grad);
Ref<VariableNode> output_node(FunctionNode& f, size_t j);  // a new node if the old one was deleted
// The variable as an input of functions: its data if functions run at once, otherwise a hollow tensor. If `f` is given,
// the tensor has the dtype in which f reads its input i. unread: the values may come later (core/unread.h).
Var deferred_var(const Ref<VariableNode>& node, const FunctionNode* f, size_t i, bool unread = false);
Vars apply_deferred(FunctionNode& f, VarsRef in);
void forget_uses(FunctionNode& f);
// Raises the ranks of all functions behind `x`, after the rank of `x`, which they already use, has grown.
void raise_ranks(VariableNode& x);
// Called when a user drops the variable: in auto-forward mode data that no gradient reads is freed.
void release_unread(VariableNode& x);
// Casts t to the type in which a function reads its input i. A cast needs the values, so t is read (core/unread.h).
at::Tensor cast_input(const Call& call, size_t i, at::Tensor t);
at::Tensor cast_real(const Call& call, at::Tensor t);  // casts a gradient, or an input that is not of an integer type
// Runs `f` on arrays. `last`: the result may use the memory of inputs that will be freed. late: values of results may
// come later (core/unread.h), because no gradient reads them.
void run_on(FunctionNode& f, c10::ArrayRef<Ref<Store>> in, c10::ArrayRef<Ref<Store>> out, const LastUse* last = nullptr,
            bool late = false);
c10::SmallVector<Ref<Store>, 4> input_stores(FunctionNode& f);
// Runs `f` on its own arrays; with `again` it uses the random numbers of the last run, and updates no running
// statistics.
void run_on_own(FunctionNode& f, bool again);
void accumulate(Array& grad, at::Tensor g, bool overwrite);
// Computes need_grad again for each function between the leaves and y.
void refresh_need_grad(VariableNode& y);

// ---- plan.cpp -------------------------------------------------------------------------------------------------------
using FunctionHook = std::function<void(FunctionNode&)>;
struct DeferredOptions {
  bool clear_buffer = false, clear_no_need_grad = false, clear_initial_grad = false;
  FunctionHook before, after;
  FunctionHook finished;  // called after a function has run and its memory was freed
};
// All functions that `y` depends on, inputs first. The caller must hold the result: a hook may rewire the graph, and y
// may get another plan.
std::shared_ptr<const std::vector<Ref<FunctionNode>>> forward_order(VariableNode& y);
void forward_pass(c10::ArrayRef<VariableNode*> ys, const DeferredOptions& options);
// `grad`: the gradient that the pass starts from; null: the one in y's own array.
void backward_pass(VariableNode& y, Ref<Array> grad, const DeferredOptions& options);
// `last`: what is freed as soon as the function no longer needs it; gradients may use its memory.
void backward_function(FunctionNode& f, c10::ArrayRef<bool> wanted, c10::ArrayRef<bool> accumulate,
                       const LastUse* last = nullptr);

}  // namespace cg
