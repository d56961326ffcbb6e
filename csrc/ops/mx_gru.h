// One step of a GRU from h, the gates x of the input and s of h; see mx_gru.cpp.
#pragma once
#include "ops/functions.h"

namespace cg {

Tensor gru(const Tensor& h, const Tensor& x, const Tensor& s);
// Gradients of h, x and s from that of the result.
std::array<Tensor, 3> gru_grads(const Tensor& h, const Tensor& x, const Tensor& s, const Tensor& gy);
std::array<Var, 3> gru_grads(const Var& h, const Var& x, const Var& s, const Var& gy);

}  // namespace cg
