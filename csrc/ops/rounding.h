// Rounding that ATen lacks.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/sign.h>
#include <ATen/ops/trunc.h>

#include "ops/one_loop.h"
#include "ops/operators.h"

namespace cg {

// Rounds to the nearest integer, halves away from zero. x - trunc(x) is exact; x + 0.5 would not be.
inline at::Tensor round_away(const at::Tensor& x) {
  return fused([](auto x) CG_EACH { return std::round(x); },
               [](const at::Tensor& x) {
                 const at::Tensor whole = at::trunc(x);
                 return whole + at::sign(x) * (at::abs(x - whole) >= 0.5);
               },
               x);
}

}  // namespace cg
