// Update rules on tensors: the CPU loops where they apply, ATen operations for every other dtype, layout and device.
#pragma once
#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <string_view>

#include "kernels/optim.h"

namespace cg::optim {

// One parameter in an update: x changes with y and the states, in place. Shapes must agree.
struct Step {
  at::Tensor x, y;
  c10::SmallVector<at::Tensor, max_states> states;
};

struct Rule {
  const char* name;
  int states, hypers;
  Loops loops;
  // Operation by operation, on tensors of one dtype and device.
  void (*on_tensors)(c10::ArrayRef<const Step*> steps, const double* hypers);
};

// A rule of optim_rules.h, or null.
const Rule* find_rule(std::string_view name);

void apply(const Rule& rule, c10::ArrayRef<Step> steps, const double* hypers);

// Scales all gradients, in place, so that the norm of them together is at most `threshold`.
void clip_norm(at::TensorList gradients, double threshold);

// Scales each gradient, in place, so that its own norm is at most `threshold`; one with a NaN stays as it is.
void clip_norms(at::TensorList gradients, double threshold);

// Whether some gradient has an infinite value (`inf`), a NaN (`nan`), or either.
bool any_special(at::TensorList gradients, bool inf, bool nan);

}  // namespace cg::optim
