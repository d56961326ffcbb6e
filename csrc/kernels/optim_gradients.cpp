// Gradient clipping and the search for values that are not finite: one reduction over the list, then one kernel.
#include <ATen/ops/cat.h>
#include <ATen/ops/dot.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/isinf.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/reciprocal.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <cmath>

#include "kernels/optim_tensors.h"

namespace cg::optim {
namespace {

const kernels::Kernel sum_of_squares("sum_of_squares"), count_not_finite("count_not_finite"), by_number("scale_by");

// Gradients of one dtype on one device that a kernel processes together, or gradients that kernels do not support.
struct Group {
  bool taken;
  std::vector<at::Tensor> all;
  std::vector<size_t> places;  // indices in the list
};
std::vector<Group> groups_of(at::TensorList gradients) {
  std::vector<Group> groups;
  for (size_t i = 0; i < gradients.size(); ++i) {
    const at::Tensor& g = gradients[i];
    const bool taken = kernels::takes(g) && g.is_non_overlapping_and_dense();
    const auto alike = [&](const Group& group) {
      const at::Tensor& first = group.all[0];
      return group.taken == taken && first.device() == g.device() && first.scalar_type() == g.scalar_type();
    };
    auto group = std::find_if(groups.begin(), groups.end(), alike);
    if (group == groups.end()) group = groups.insert(group, Group{taken, {}, {}});
    group->all.push_back(g);
    group->places.push_back(i);
  }
  return groups;
}

// The sum of squares of each gradient, in float64, on the gradients' device.
at::Tensor squares_of(const Group& group) {
  if (group.taken) return sum_of_squares.reduce({at::TensorList(group.all)});
  std::vector<at::Tensor> sums;
  for (const at::Tensor& g : group.all) {
    const at::Tensor flat = g.reshape(-1);
    sums.push_back(at::dot(flat, flat).to(at::kDouble));
  }
  return at::stack(sums);
}

void scale(const at::Tensor* begin, size_t n, double rate) {
  static const Rule& rule = *find_rule("scale");
  c10::SmallVector<Step, 16> steps;
  for (size_t i = 0; i < n; ++i) steps.push_back({begin[i], begin[i], {}, {}});
  apply(rule, steps, &rate);
}

// Scales by a number on a device, without waiting for it.
void scale_group(const Group& group, const at::Tensor& factor) {
  const at::Tensor here = factor.to(group.all[0].device());
  if (group.taken)
    by_number.on_list({at::TensorList(group.all)}, {}, {reinterpret_cast<int64_t>(here.const_data_ptr())});
  else
    for (const at::Tensor& t : group.all) t.mul_(here);
}

// Whether two of the tensors are the same memory.
bool any_shared(at::TensorList tensors) {
  std::vector<const void*> memory;
  for (const at::Tensor& t : tensors)
    if (kernels::plain(t) && t.numel()) memory.push_back(t.const_data_ptr());
  std::sort(memory.begin(), memory.end());
  return std::adjacent_find(memory.begin(), memory.end()) != memory.end();
}

double sum(const at::Tensor& numbers) {
  double total = 0;
  for (int64_t i = 0; i < numbers.numel(); ++i) total += numbers.const_data_ptr<double>()[i];
  return total;
}

}  // namespace

double clip_rate(double sum_of_squares, double threshold) { return threshold / std::sqrt(sum_of_squares); }
at::Tensor clip_rate(const at::Tensor& sum_of_squares, double threshold) {
  return sum_of_squares.sqrt().reciprocal().mul(threshold).clamp_max(1);
}

at::Tensor reduce_each(at::TensorList tensors, bool not_finite) {
  const at::Device device = tensors[0].device();
  const std::vector<Group> groups = groups_of(tensors);
  std::vector<at::Tensor> found;
  std::vector<int64_t> order(tensors.size());
  int64_t next = 0;
  for (const Group& group : groups) {
    at::Tensor numbers;
    if (!not_finite) {
      numbers = squares_of(group);
    } else if (group.taken) {
      numbers = count_not_finite.reduce({at::TensorList(group.all)});
    } else {
      std::vector<at::Tensor> counts;
      for (const at::Tensor& t : group.all) counts.push_back(t.isfinite().logical_not().sum().to(at::kDouble));
      numbers = at::stack(counts);
    }
    found.push_back(numbers.to(device));
    for (const size_t place : group.places) order[place] = next++;
  }
  if (found.size() == 1) return found[0];
  return at::cat(found).index_select(0, at::tensor(order, at::kLong).to(device));
}

void clip_norm(at::TensorList gradients, double threshold) {
  if (gradients.empty()) return;
  const std::vector<Group> groups = groups_of(gradients);
  bool cpu = true;
  for (const at::Tensor& g : gradients) cpu = cpu && g.is_cpu() && !kernels::traced(g);
  if (cpu) {
    double total = 0;
    for (const Group& group : groups) total += sum(squares_of(group));
    const double rate = clip_rate(total, threshold);
    if (!(rate >= 1)) scale(gradients.data(), gradients.size(), rate);
    return;
  }
  // Computed without waiting for the device, and without a branch on a value, which a trace could not contain.
  at::Tensor total;
  for (const Group& group : groups) {
    const at::Tensor found = squares_of(group).sum().to(gradients[0].device());
    total = total.defined() ? total.add(found) : found;
  }
  const at::Tensor rate = clip_rate(total, threshold);
  for (const Group& group : groups) scale_group(group, rate);
}

void scale_by(at::TensorList tensors, const at::Tensor& factor) {
  for (const Group& group : groups_of(tensors)) scale_group(group, factor);
}

void clip_norms(at::TensorList gradients, double threshold) {
  // a gradient that occurs several times is clipped once for each occurrence, by the norm that it then has
  if (gradients.size() > 1 && any_shared(gradients)) {
    for (const at::Tensor& g : gradients) clip_norms(g, threshold);
    return;
  }
  for (const Group& group : groups_of(gradients)) {
    const at::Tensor squares = squares_of(group);
    if (group.taken && squares.is_cpu()) {
      for (size_t i = 0; i < group.all.size(); ++i) {
        const double square = squares.const_data_ptr<double>()[i];
        if (square > threshold * threshold) scale(&group.all[i], 1, threshold / std::sqrt(square));
      }
    } else {  // without waiting for the device
      const at::Tensor norms = squares.sqrt();
      const at::Tensor rates = at::where(norms.gt(threshold), norms.reciprocal().mul(threshold), at::ones_like(norms));
      for (size_t i = 0; i < group.all.size(); ++i) group.all[i].mul_(rates[i]);
    }
  }
}

std::vector<size_t> special(at::TensorList gradients, bool inf, bool nan) {
  for (const at::Tensor& g : gradients) kernels::reads_values("the check of gradients for infinite values or NaN", g);
  std::vector<size_t> found;
  for (const Group& group : groups_of(gradients)) {
    at::Tensor counts;
    if (group.taken)
      counts = count_not_finite.reduce({at::TensorList(group.all)}).cpu();  // waits once for all gradients
    for (size_t i = 0; i < group.all.size(); ++i)
      if (group.taken ? counts.const_data_ptr<double>()[i] != 0 : !group.all[i].isfinite().all().item<bool>())
        found.push_back(group.places[i]);
  }
  std::sort(found.begin(), found.end());
  if (!inf || !nan)
    std::erase_if(found,
                  [&](size_t i) { return !(inf ? gradients[i].isinf() : gradients[i].isnan()).any().item<bool>(); });
  return found;
}

}  // namespace cg::optim
