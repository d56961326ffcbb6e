// Where the engine's graph and torch's meet. Each sees a piece of the other as one node.
#pragma once
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

#include "python/deferred.h"

namespace cg::py {

namespace ta = torch::autograd;
using TorchNodePtr = decltype(ta::Edge::function);  // torch 2.12 changed its kind

// torch's own autograd as it is outside the engine, which runs below it. `lock`: keep the interpreter lock.
class TorchScope {
 public:
  TorchScope(bool record, bool lock);
  ~TorchScope();

 private:
  c10::impl::ForceDispatchKeyGuard keys_;
  bool grad_mode_;
  PyThreadState* unlocked_;
};

// Runs torch's engine from `roots`, whose gradients are `gys`, to `ends`. Undefined where an end is not reached.
ta::variable_list torch_gradients(const ta::edge_list& roots, const ta::variable_list& gys, const ta::edge_list& ends,
                                  bool create_graph);

// A leaf on the memory of a torch leaf; passes add to that one's `.grad`.
Var torch_leaf_var(const at::Tensor& parameter);
// The engine's Variables that torch's record of `ys` comes to, and torch's leaves as such; `ends` are the places in
// that record where their gradients come out. `known` gives a Variable for a tensor, or an undefined one.
void find_ends(c10::ArrayRef<at::Tensor> ys, c10::function_ref<std::optional<Var>(const at::Tensor&)> known, Vars& xs,
               ta::edge_list& ends);
// If `f` is the function behind a tensor that entered, that tensor.
const at::Tensor* entered(const FunctionNode& f);

// `ys` as tensors of torch's graph, functions of the leaves of the engine's and of what entered it. `places`: where
// variables have places in torch's graph already; an invalid edge: their gradients are of no interest. `grad`: null, or
// the frontend's own in Python, grad(ys, xs, gradients as tensors, create_graph) -> (gradients, the latter as
// Variables).
using Places = std::unordered_map<const void*, ta::Edge>;
// What a place is known by: several deferred variables on the same arrays are one.
inline const void* place_key(const VariableNode& x) {
  return x.deferred ? static_cast<const void*>(x.deferred->store.get()) : &x;
}
Tensors leave(Vars ys, Frontend* f, const Places& places, PyObject* grad);
// A Variable's place and value, computed by now if functions run later.
Var with_value(PyObject* variable);
// The engine's variable behind output k of what `leave` made; undefined where torch is to go on through `n` itself.
Var left(const ta::Node& n, uint32_t k);
// A pass of torch's that ends at such functions: what lies behind them is the engine's to do, and would be counted
// twice. It starts at `roots()` instead of those given. Other passes through the same functions go on.
class EndedPass : Pinned {
 public:
  EndedPass(const ta::edge_list& roots, const ta::variable_list& gys, const ta::edge_list& ends);
  ~EndedPass();
  const ta::edge_list& roots() const { return roots_; }

 private:
  ta::edge_list roots_;
  std::shared_ptr<std::unordered_set<const ta::Node*>> ends_;
};

// What torch recorded once is differentiated in torch; the gradient, in a recorded pass, is a function of its own on
// the same record. So nothing is computed twice, random numbers are drawn once, and running statistics move once.
struct TorchNode : FunctionNode {
  Tensors ys;          // as torch recorded them
  ta::edge_list ends;  // where in the record the gradient of each input comes out
  Obj info;            // of deferred functions
  Frontend* frontend = nullptr;

  virtual void run(VarsRef in) = 0;  // sets `ys` and `ends`
  virtual std::string name() const { return "torch"; }

  Tensors forward(VarsRef in) final;
  Mask saves(c10::ArrayRef<bool>) const override { return kAllInputs; }
  void drop_own() override {
    ys.clear();
    ends.clear();
  }

  void backward(Ctx<at::Tensor>& c) override;
  void backward(Ctx<Var>& c) override;
};
}  // namespace cg::py
