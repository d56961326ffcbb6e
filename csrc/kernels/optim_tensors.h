// Update rules on tensors: the CPU loops where they apply, ATen operations for every other dtype, layout and device.
#pragma once
#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <string_view>

#include "kernels/optim.h"

namespace cg::optim {

struct Rule {
  const char* name;
  int states, hypers;
  Loops loops;
  // `x` from `y`, in place, operation by operation.
  void (*on_tensors)(const at::Tensor& x, const at::Tensor& y, at::TensorList states, const double* hypers);
};

// A rule of optim_rules.h, or null.
const Rule* find_rule(std::string_view name);

// One step: `x` and `states` change in place. Shapes must agree.
void apply(const Rule& rule, const at::Tensor& x, const at::Tensor& y, at::TensorList states, const double* hypers);

// Scales all gradients, in place, so that the norm of them together is at most `threshold`.
void clip_norm(at::TensorList gradients, double threshold);

// Scales each gradient, in place, so that its own norm is at most `threshold`; one with a NaN stays as it is.
void clip_norms(at::TensorList gradients, double threshold);

// Whether some gradient has an infinite value (`inf`), a NaN (`nan`), or either.
bool any_special(at::TensorList gradients, bool inf, bool nan);

}  // namespace cg::optim
