// Update rules on tensors: by kernels, or by ATen's operations for tensors that are traced, have several dtypes, or are
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

// One parameter in an update: x and the states are changed in place, from the gradient y. Shapes must agree.
struct Step {
  at::Tensor x, y;
  c10::SmallVector<at::Tensor, max_states> states;
  at::Tensor copy;  // a copy of x in lower precision, which is updated too; for `apply_rated`
};

struct Rule {
  // Evaluates a rule by ATen's operations, on tensors of one dtype and device.
  using OnTensors = void (*)(c10::ArrayRef<const Step*> steps, const double* hypers);
  Rule(const char* name, int states, int hypers, bool rated, OnTensors on_tensors)
      : name(name), states(states), hypers(hypers), rated(rated), kernel(name), on_tensors(on_tensors) {}

  const char* name;
  int states, hypers;
  bool rated;  // the first two hyperparameters are a rate and a decay, which may differ for each parameter
  kernels::Kernel kernel;
  mutable std::atomic<kernels::Launch> loop{nullptr};  // the kernel for CPU tensors, after the first lookup
  OnTensors on_tensors;
};

const std::deque<Rule>& rules();
// A rule of optim_rules*.h, or null.
const Rule* find_rule(std::string_view name);

void apply(const Rule& rule, c10::ArrayRef<Step> steps, const double* hypers);

// Whether a kernel supports this step once the gradient has the parameter's layout; and whether the gradient has it.
bool kernel_takes(const Step& s);
bool lies_along(const at::Tensor& y, const at::Tensor& x);

// A change of gradients before a rule: a rule that changes a gradient by its parameter, or, without a rule, a bound on
// the norm of all gradients together.
struct Hook {
  const Rule* rule;
  double h[2];
};

// Runs the hooks in order, then the rule. The changed gradients are stored. If kernels support all of it, this takes
// one pass over the gradients, and one more for each norm.
void apply_hooked(const Rule& rule, c10::ArrayRef<Step> steps, const double* hypers, c10::ArrayRef<Hook> hooks);

// For a rated rule: `own` has all rates, then all decays; or they are in two float tensors.
struct Rates {
  c10::ArrayRef<double> own;
  at::Tensor rates, decays;
};
void apply_rated(const Rule& rule, c10::ArrayRef<Step> steps, const double* hypers, const Rates& rates);

// Scales all gradients in place so that their common norm is at most `threshold`.
void clip_norm(at::TensorList gradients, double threshold);

// The factor that scales gradients with these sums of squares (float64) to a common norm of at most `threshold`:
// computed on the CPU; and computed on the sums' device, without waiting for it, where the factor is at most 1.
double clip_rate(double sum_of_squares, double threshold);
at::Tensor clip_rate(const at::Tensor& sum_of_squares, double threshold);

// The sum of squares of each tensor or, with `not_finite`, the number of its elements that are infinite or NaN; in
// float64, on the device of the first tensor. If all tensors are on one device, the host does not wait for it.
at::Tensor reduce_each(at::TensorList tensors, bool not_finite);

// Multiplies all tensors in place by a float64 tensor with one element on their device.
void scale_by(at::TensorList tensors, const at::Tensor& factor);

// Scales each gradient in place so that its own norm is at most `threshold`; a gradient with a NaN is not changed.
void clip_norms(at::TensorList gradients, double threshold);

// The indices of gradients that have an infinite value (with `inf`) or a NaN (with `nan`), in order.
std::vector<size_t> special(at::TensorList gradients, bool inf, bool nan);

}  // namespace cg::optim
