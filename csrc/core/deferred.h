// Deferred execution: functions are recorded first and run later, any number of times, on arrays that stay where they
// are. This is nnabla's graph; with Mode::auto_forward each function also runs when it is recorded.
//
// A deferred variable's values live in a Store, a pair of arrays for data and gradient. Both may be shared with other
// variables and with a user's handles, and forward passes replace what they hold.
#pragma once
#include <c10/core/Scalar.h>
#include <c10/util/FunctionRef.h>

#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/function.h"

namespace cg {

// What an array holds: a tensor, or the number it is to be filled with once somebody looks.
struct ArrayContent {
  at::Tensor tensor;
  double fill_value = 0;
  bool zeroing = false;  // zero() was called and nobody wrote since
  bool touched = false;  // holds a value that somebody gave it
  bool cleared = false;
  bool computed = false;  // the tensor is a function's result: it may be a view of another array's
};
// Arrays may share one memory; what is done to one of them is then seen in all.
struct Array : ArrayContent, Pinned {
  uint32_t refs = 0;
  c10::DimVector sizes;
  at::ScalarType dtype = at::kFloat;  // of the tensor that is to be made
  at::Device device = at::kCPU;
  bool typed = false;  // a tensor was made at some time
  uint64_t modified = 0;

  explicit Array(at::IntArrayRef s);
  ~Array();
  void retain() { ++refs; }
  void release() {
    if (--refs == 0) delete this;
  }
  const at::Tensor& read() { return tensor.defined() ? tensor : make(); }
  const at::Tensor& write();                    // for reading and writing
  const at::Tensor& own();                      // the same for a user: contiguous, and no other array's
  void put(at::Tensor t);                       // the array holds t from now on
  void assign(at::Tensor t);                    // the same from a user
  void fill(double value, bool counts = true);  // counts: with 0 it is `zeroing`
  void clear();                                 // frees the memory, unless it is a part of another array's
  void move(at::Device d);                      // to another device, with all that share its memory; nobody wrote
  void set_dtype(at::ScalarType t);
  void reshape(at::IntArrayRef s);  // with another number of elements the array is a fresh one
  void follow(at::IntArrayRef s);   // the shape of its variable: with another number of elements the tensor goes
  int64_t numel() const { return c10::multiply_integers(sizes); }
  // An array on the elements from `offset` on. part: it may be one of several parts, which must not overlap; else it is
  // this array in another shape.
  Ref<Array> share(at::IntArrayRef s, int64_t offset, bool part);
  bool is_part() const;
  bool shares() const { return family != nullptr; }  // its memory with other arrays

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

struct Store {
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
struct Deferred {
  Ref<Store> store;
  int8_t need_grad = -1;  // what a user said; -1: nothing
  bool persistent = false, recompute = false;
  uint32_t uses = 0;  // inputs of functions that this variable is
  uint64_t next_user = 0;
  std::unordered_map<FunctionNode*, uint64_t> users;  // with the order they came in
  std::shared_ptr<Plan> plan;                         // how to compute this variable
  explicit Deferred(Ref<Store> s) : store(std::move(s)) {}
};

// What a pass frees once a function ran.
struct LastUse {
  c10::SmallVector<bool, 2> data, grads;  // of each output, in a backward pass
  c10::function_ref<bool(size_t)> input;  // whether it frees the data of input i
};

// What a deferred function has beside its node.
struct Call {
  c10::SmallVector<Ref<Store>, 1> outputs;  // outlive the output nodes
  at::ScalarType real = at::kFloat;         // what floating inputs are cast to
  Mask integers;
  bool any_dtype = false, need_grad = false;
  bool again = false;            // runs once more for the sake of a gradient: random numbers are those of the last time
  bool keeps_inputs = false;     // passes that free memory leave its inputs alone
  at::Tensor rng_before;         // the random state before the last forward, where it may have to be run again
  Mask last_reads;               // while backward runs: of what it `saves`, the data that is freed when it is read
  void* info = nullptr;          // owned by the binding: the frontend's name and arguments of the function
  at::Device device = at::kCPU;  // where it runs; arrays that are elsewhere move there first
};

// What floating inputs are cast to from now on, on this thread.
extern thread_local at::ScalarType real_dtype;
// Where functions that are recorded from now on run, on this thread.
extern thread_local at::Device real_device;
// Grows whenever something changes that plans were derived from.
extern uint64_t graph_epoch;
// Variables made from now on are computed again in backward instead of kept.
extern bool global_recompute;

at::Tensor hollow(at::IntArrayRef sizes, at::ScalarType dtype, at::Device device);  // a shape without data
Ref<VariableNode> make_deferred(Ref<Store> store, int need_grad);
Ref<VariableNode> output_node(FunctionNode& f, size_t j);  // made again where it died
// The variable as an input of functions: its data where functions run at once, else its shape. With `f`: as input i of
// f, which may read it in another dtype.
Var deferred_var(const Ref<VariableNode>& node, const FunctionNode* f, size_t i);
Vars apply_deferred(FunctionNode& f, VarsRef in);
void forget_uses(FunctionNode& f);
// The rank of `x`, which was computed from all the time, has grown: so do those of what follows.
void raise_ranks(VariableNode& x);
// A user let go of the variable: in auto-forward mode what no gradient reads is freed.
void release_unread(VariableNode& x);
at::Tensor cast_input(const Call& call, size_t i, at::Tensor t);
at::Tensor cast_real(const Call& call, at::Tensor t);  // a gradient, or an input that is no integer
// Runs `f` on arrays. `last`: the result may take the memory of inputs that are freed.
void run_on(FunctionNode& f, c10::ArrayRef<Ref<Store>> in, c10::ArrayRef<Ref<Store>> out,
            const LastUse* last = nullptr);
c10::SmallVector<Ref<Store>, 4> input_stores(FunctionNode& f);
// Runs `f` on its own arrays. again: random numbers are those of the last time, running statistics stay.
void run_on_own(FunctionNode& f, bool again);
void accumulate(Array& grad, at::Tensor g, bool overwrite);
// Gives each function between the leaves and y its need_grad again.
void refresh_need_grad(VariableNode& y);

// ---- plan.cpp -------------------------------------------------------------------------------------------------------
using FunctionHook = std::function<void(FunctionNode&)>;
struct DeferredOptions {
  bool clear_buffer = false, clear_no_need_grad = false, clear_initial_grad = false;
  FunctionHook before, after;
  FunctionHook finished;  // a function's step is over, clearing included
};
// All functions that `y` depends on, inputs first.
// Valid while somebody holds the result: a hook may rewire the graph, and y may get another plan.
std::shared_ptr<const std::vector<Ref<FunctionNode>>> forward_order(VariableNode& y);
void forward_pass(c10::ArrayRef<VariableNode*> ys, const DeferredOptions& options);
// `grad`: the gradient to start from; null: what y's own array holds.
void backward_pass(VariableNode& y, Ref<Array> grad, const DeferredOptions& options);
// `last`: what is freed as soon as the function has no use for it; gradients may take its memory.
void backward_function(FunctionNode& f, c10::ArrayRef<bool> wanted, c10::ArrayRef<bool> accumulate,
                       const LastUse* last = nullptr);

}  // namespace cg
