// The ordered backprop loop.
//
// Functions are visited once each, the largest rank first, and among equal ranks the one that was pushed first. The
// pass stores gradients by the node they belong to, and sums them when the node's function is visited. A pass stores
// nothing in the graph: several may overlap (a pass inside a hook, two threads), and a pass that an exception ends
// leaves nothing behind.
#pragma once
#include <unordered_set>

#include "core/watch.h"

namespace cg {

// Whether a tensor has a torch.Tensor in Python, through which a program may write.
bool has_python_object(const at::Tensor& t);
// Adds a gradient to a leaf of torch's graph as torch does. Set by csrc/python.
extern void (*add_to_torch)(const at::Tensor& leaf, Var g);

struct PassOptions {
  bool retain_grad = false;  // store the gradients of intermediates on their Variables
  std::optional<double> loss_scale;
  bool create_graph = false;    // record the pass itself
  bool release = false;         // free each function after its visit
  bool zeros = false;           // an input for which a function gives no gradient gets zeros
  bool show_functions = false;  // let hooks also see the functions that a backward consists of
  // Functions at which the pass ends because torch's engine continues from there.
  const std::unordered_set<const FunctionNode*>* stops = nullptr;
  LeafWatch* watch = nullptr;  // is told which gradients of leaves are final
};

// Runs a pass from `outputs` with gradients `gys` down to all leaves, which accumulate their gradients.
void backward(VarsRef outputs, VarsRef gys, const PassOptions& options);

// Returns the gradients of `inputs`, undefined for an input that no path reaches. The pass visits only functions
// between outputs and inputs. `initial`: gradients that are added to those of the inputs; may be empty or have
// undefined entries.
Vars grad(VarsRef outputs, VarsRef inputs, VarsRef gys, VarsRef initial, const PassOptions& options);

// Runs one function's backward on Vars, outside a pass; returns one gradient (or an undefined Var) per input.
Vars function_backward(FunctionNode& f, VarsRef gys, c10::ArrayRef<bool> wanted);

}  // namespace cg
