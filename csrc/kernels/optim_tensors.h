// Update rules on tensors: kernels where they apply, ATen's operations for what is traced, of several dtypes or
// strided.
#pragma once
#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <deque>
#include <string_view>
#include <vector>

#include "kernels/kernel.h"
#include "kernels/optim.h"
#include "kernels/raw.h"

namespace cg::optim {

// One parameter in an update: x changes with y and the states, in place. Shapes must agree.
struct Step {
  at::Tensor x, y;
  c10::SmallVector<at::Tensor, max_states> states;
};

struct Rule {
  // Operation by operation, on tensors of one dtype and device.
  using OnTensors = void (*)(c10::ArrayRef<const Step*> steps, const double* hypers);
  Rule(const char* name, int states, int hypers, OnTensors on_tensors)
      : name(name), states(states), hypers(hypers), kernel(name), on_tensors(on_tensors) {}

  const char* name;
  int states, hypers;
  kernels::Kernel kernel;
  OnTensors on_tensors;
};

const std::deque<Rule>& rules();
// A rule of optim_rules*.h, or null.
const Rule* find_rule(std::string_view name);

void apply(const Rule& rule, c10::ArrayRef<Step> steps, const double* hypers);

// Scales all gradients, in place, so that the norm of them together is at most `threshold`.
void clip_norm(at::TensorList gradients, double threshold);

// Scales each gradient, in place, so that its own norm is at most `threshold`; one with a NaN stays as it is.
void clip_norms(at::TensorList gradients, double threshold);

// Those that have an infinite value or a NaN, in order.
std::vector<size_t> not_finite(at::TensorList gradients);

// Whether some gradient has an infinite value (`inf`), a NaN (`nan`), or either.
bool any_special(at::TensorList gradients, bool inf, bool nan);

}  // namespace cg::optim
