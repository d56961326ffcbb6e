// Update rules on tensors: kernels where they apply, ATen's operations for what is traced, of several dtypes or
// strided.
#pragma once
#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <atomic>
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
  at::Tensor copy;  // of x in lower precision, which follows it; for `apply_rated`
};

struct Rule {
  // Operation by operation, on tensors of one dtype and device.
  using OnTensors = void (*)(c10::ArrayRef<const Step*> steps, const double* hypers);
  Rule(const char* name, int states, int hypers, bool rated, OnTensors on_tensors)
      : name(name), states(states), hypers(hypers), rated(rated), kernel(name), on_tensors(on_tensors) {}

  const char* name;
  int states, hypers;
  bool rated;  // the first two hypers are a rate and a decay, which each parameter may have for itself
  kernels::Kernel kernel;
  mutable std::atomic<kernels::Launch> loop{nullptr};  // the kernel for CPU tensors, once it was looked for
  OnTensors on_tensors;
};

const std::deque<Rule>& rules();
// A rule of optim_rules*.h, or null.
const Rule* find_rule(std::string_view name);

void apply(const Rule& rule, c10::ArrayRef<Step> steps, const double* hypers);

// Whether a kernel does this step, once the gradient is laid along the parameter; and whether it is.
bool kernel_takes(const Step& s);
bool lies_along(const at::Tensor& y, const at::Tensor& x);

// What is done to gradients before a rule: a rule that changes a gradient with its parameter, or without one a bound of
// the norm of all gradients together.
struct Hook {
  const Rule* rule;
  double h[2];
};

// The hooks in order, then the rule. The changed gradients stay. Where kernels take all of it, the gradients go through
// memory once, and once more for each norm.
void apply_hooked(const Rule& rule, c10::ArrayRef<Step> steps, const double* hypers, c10::ArrayRef<Hook> hooks);

// A rated rule: `own` has all rates, then all decays; or they are in two float tensors.
struct Rates {
  c10::ArrayRef<double> own;
  at::Tensor rates, decays;
};
void apply_rated(const Rule& rule, c10::ArrayRef<Step> steps, const double* hypers, const Rates& rates);

// Scales all gradients, in place, so that the norm of them together is at most `threshold`.
void clip_norm(at::TensorList gradients, double threshold);

// The factor for gradients with these sums of squares (float64) so that the norm of them together is at most
// `threshold`. On a CPU; and on the sums' device, without waiting for it: there it is at most 1.
double clip_rate(double sum_of_squares, double threshold);
at::Tensor clip_rate(const at::Tensor& sum_of_squares, double threshold);

// The sums of squares, or with `not_finite` the numbers of elements that are infinite or NaN, of each tensor; float64,
// on the device of the first. Nothing waits for it where all are on one device.
at::Tensor reduce_each(at::TensorList tensors, bool not_finite);

// Multiplies all, in place, by a float64 tensor with one element on their device.
void scale_by(at::TensorList tensors, const at::Tensor& factor);

// Scales each gradient, in place, so that its own norm is at most `threshold`; one with a NaN stays as it is.
void clip_norms(at::TensorList gradients, double threshold);

// Those that have an infinite value (`inf`), a NaN (`nan`), or either, in order.
std::vector<size_t> special(at::TensorList gradients, bool inf, bool nan);

}  // namespace cg::optim
