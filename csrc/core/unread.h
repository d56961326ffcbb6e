// Arrays whose values are computed when something reads them: the scores of an attention that a program writes out,
// q kᵀ, and what it makes of them up to the weights. If the program multiplies the weights by v, and nothing has read
// them until then, the product is computed from q, k and v by blocks, and so are the gradients.
//
// Such an array has a storage that raises an error when it is read. Code that reads values of arrays that Python or the
// graph hands over calls read() first (core/settle.h).
#pragma once
#include "core/function.h"

namespace cg {

// The result of f if it is such an array or the product with v; otherwise undefined, and f has to run now.
at::Tensor join_attention(FunctionNode& f, VarsRef in);
// The same in a plain pass: sets the gradients of f's inputs that are wanted. False: f has to run now.
bool join_attention_backward(FunctionNode& f, const Tensors& gys, Tensors& gxs, c10::ArrayRef<bool> wanted);

// read() for all inputs of a function that runs now; without the interpreter lock, as the function itself.
void read_inputs(VarsRef in);
bool is_unread(const at::Tensor& t);

}  // namespace cg
