// The connections between the engine's graph and torch's. A piece of one graph is one node in the other.
#pragma once
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

#include "python/deferred.h"

namespace cg::py {

namespace ta = torch::autograd;
using TorchNodePtr = decltype(ta::Edge::function);  // torch 2.12 changed this pointer type

// Restores torch's autograd, below which the engine runs, for a scope. `lock`: keep the interpreter lock.
class TorchScope {
 public:
  TorchScope(bool record, bool lock);
  ~TorchScope();

 private:
  c10::impl::ForceDispatchKeyGuard keys_;
  bool grad_mode_;
  PyThreadState* unlocked_;
};

// Runs torch's engine from `roots` with gradients `gys` to `ends`; undefined for an end that is not reached.
ta::variable_list torch_gradients(const ta::edge_list& roots, const ta::variable_list& gys, const ta::edge_list& ends,
                                  bool create_graph);

// A leaf that shares the memory of a torch leaf; passes add to the `.grad` of the torch leaf.
Var torch_leaf_var(const at::Tensor& parameter);
// Finds the engine's Variables that torch's graph of `ys` leads to, and Variables for torch's leaves; `ends` are the
// places in that graph where their gradients come out. `known` returns a Variable for a leaf tensor, or an undefined
// one.
void find_ends(c10::ArrayRef<at::Tensor> ys, c10::function_ref<std::optional<Var>(const at::Tensor&)> known, Vars& xs,
               ta::edge_list& ends);
// The tensor that entered by the function `f`; null for other functions.
const at::Tensor* entered(const FunctionNode& f);

// `ys` as tensors of torch's graph, which depend on the leaves of the engine's graph and on tensors that entered it.
// `places`: the places that variables already have in torch's graph; an invalid edge means that their gradients are not
// needed. `grad`: null, or the frontend's gradient function in Python: grad(ys, xs, gradients as tensors, create_graph)
// -> (gradients, the given gradients as Variables).
using Places = std::unordered_map<const void*, ta::Edge>;
// The key of a variable's place: deferred variables that share their arrays have the same place.
inline const void* place_key(const VariableNode& x) {
  return x.deferred ? static_cast<const void*>(x.deferred->store.get()) : &x;
}
Tensors leave(Vars ys, Frontend* f, const Places& places, PyObject* grad);
// A Variable's place and value; the value is computed first if functions run later.
Var with_value(PyObject* variable);
// The engine's variable of output k of a function that `leave` made; undefined if torch shall go through `n` itself.
Var left(const ta::Node& n, uint32_t k);
// Makes a pass of torch end at functions that `leave` made, because the engine differentiates the part behind them,
// which would be counted twice. The pass must start at `roots()` instead of the given roots. Other passes through the
// same functions do not end there.
class EndedPass : Pinned {
 public:
  EndedPass(const ta::edge_list& roots, const ta::variable_list& gys, const ta::edge_list& ends);
  ~EndedPass();
  const ta::edge_list& roots() const { return roots_; }

 private:
  ta::edge_list roots_;
  std::shared_ptr<std::unordered_set<const ta::Node*>> ends_;
};

// A computation that torch recorded once is differentiated by torch; in a recorded pass, the gradient is a further
// function with the same record. So nothing is computed twice, random numbers are drawn once, and running statistics
// are updated once.
struct TorchNode : FunctionNode {
  Tensors ys;          // the results that torch recorded
  ta::edge_list ends;  // the places in torch's graph where the gradients of the inputs come out
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
