// Element-wise functions of large arrays that a program calls one after the other, such as those of a GELU that it
// writes out. Each would read and write main memory; so they wait, and are computed together, a part of the arrays at a
// time, which stays in the cache. Results that the program has dropped meanwhile are never written.
//
// Nobody sees that they wait: whatever enters the engine from Python or from torch calls settle() first, unless it only
// adds a function. What is computed is bit for bit what each function computes alone.
#pragma once
#include "core/function.h"
#include "core/settle.h"

namespace cg {

// The result of f, whose values come later; undefined if f has to run now. The caller hands the result to Python
// without reading it. holders: how many hold each tensor of `in` during the call, besides the graph.
at::Tensor postpone(FunctionNode& f, VarsRef in, int holders);
// Set by a caller for the next function that it applies; see `holders`.
extern int may_postpone;

// The same in a plain pass of backpropagation: sets the gradients of f's inputs that are wanted. False: f has to run
// now. The pass calls settle() before it reads a gradient or lets other code do so.
bool postpone_backward(FunctionNode& f, const Tensors& gys, Tensors& gxs, c10::ArrayRef<bool> wanted);
// The sum of gradients, from left to right, if one of them waits; otherwise undefined.
at::Tensor postpone_sum(c10::ArrayRef<at::Tensor> gs);

}  // namespace cg
