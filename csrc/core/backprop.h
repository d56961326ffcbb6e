// The ordered backprop loop.
//
// Functions are visited by largest rank, first pushed first among equals; each once. Gradients wait in the pass, by the
// node they belong to, and are summed when the node's function is visited. Nothing of a pass is in the graph: several
// may overlap (a pass inside a hook, two threads), and one that an exception ends leaves no trace.
#pragma once
#include <unordered_set>

#include "core/function.h"

namespace cg {

// Adds a gradient to a leaf of torch's graph, as torch does. Set by the language binding.
extern void (*add_to_torch)(const at::Tensor& leaf, Var g);

struct PassOptions {
  bool retain_grad = false;  // store the gradients of intermediates on their Variables
  std::optional<double> loss_scale;
  bool create_graph = false;    // record the pass itself
  bool release = false;         // free the graph as the pass goes through it
  bool zeros = false;           // where a function gives an input no gradient, the input gets zeros
  bool show_functions = false;  // let hooks see also the functions that a backward is made of
  // Where the pass ends although it could go on: somebody else goes on from there.
  const std::unordered_set<const FunctionNode*>* stops = nullptr;
};

// From `outputs` with gradients `gys` to all leaves, which accumulate.
void backward(VarsRef outputs, VarsRef gys, const PassOptions& options);

// Gradients of `inputs`, visiting only functions between outputs and inputs. Undefined where unreachable.
// `initial`: gradients to start the inputs from; may be empty or hold undefined entries.
Vars grad(VarsRef outputs, VarsRef inputs, VarsRef gys, VarsRef initial, const PassOptions& options);

// One function's backward on Vars, outside a pass: one gradient (or an undefined Var) per input.
Vars function_backward(FunctionNode& f, VarsRef gys, c10::ArrayRef<bool> wanted);

}  // namespace cg
