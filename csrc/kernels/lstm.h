// The LSTM cell on the CPU.
//
// Gates a, i, f, o lie interleaved along the second axis of x (batch, 4 * units, *rest):
//   c' = tanh(a) s(i) + c s(f),  h = s(o) tanh(c'),  s: the logistic function.
#pragma once
#include <ATen/core/Tensor.h>

namespace cg::kernels {

// Contiguous raw tensors. Samples of c beyond the batch of x have ended: theirs is copied to c_next. h has x's batch.
void lstm(const at::Tensor& c, const at::Tensor& x, const at::Tensor& c_next, const at::Tensor& h);
// Gradients of c and x from those of c' and h, either of which may be undefined (zero).
void lstm_grad(const at::Tensor& c, const at::Tensor& x, const at::Tensor& c_next, const at::Tensor& gc_next,
               const at::Tensor& gh, const at::Tensor& gc, const at::Tensor& gx);

}  // namespace cg::kernels
