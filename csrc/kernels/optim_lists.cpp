// Steps of many parameters that do more than a rule: hooks that change the gradients first, rates for each parameter,
// copies in lower precision.
#include <ATen/ops/index_select.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "kernels/optim_blocks.h"
#include "kernels/optim_tensors.h"

namespace cg::optim {
namespace {

const kernels::Kernel squares("sum_of_squares"), squares_after("sum_of_squares_after");

using Tensors = std::vector<at::Tensor>;

kernels::DType dtype_of(const at::Tensor& t) {
  switch (t.scalar_type()) {
    case at::kHalf:
      return kernels::DType::f16;
    case at::kBFloat16:
      return kernels::DType::bf16;
    case at::kFloat:
      return kernels::DType::f32;
    default:
      return kernels::DType::f64;
  }
}

// The operands of a list of steps: for each operand the tensors of all steps.
struct Operands {
  std::vector<Tensors> lists;
  Operands(const Rule& rule, c10::ArrayRef<Step> steps, bool copies) : lists(2 + rule.states + copies) {
    for (const Step& s : steps) {
      lists[0].push_back(s.x);
      lists[1].push_back(s.y);
      for (int k = 0; k < rule.states; ++k) lists[2 + k].push_back(s.states[k]);
      if (copies) lists.back().push_back(s.copy);
    }
  }
  std::vector<at::TensorList> refs() const { return {lists.begin(), lists.end()}; }
};

kernels::Launch loop_of(const Rule& rule) {
  kernels::Launch loop = rule.loop.load(std::memory_order_relaxed);
  if (!loop) rule.loop.store(loop = cpu_kernel(rule.name), std::memory_order_relaxed);
  return loop;
}

// Builds the call of a CPU kernel and runs f(call).
template <class F>
void on_cpu(const Rule& rule, const Operands& operands, c10::ArrayRef<double> numbers, F&& f) {
  c10::SmallVector<void*, 64> data;
  c10::SmallVector<int64_t, 64> sizes;
  for (const Tensors& list : operands.lists)
    for (const at::Tensor& t : list) {
      data.push_back(t.defined() ? t.mutable_data_ptr() : nullptr);
      sizes.push_back(t.defined() ? t.numel() : 0);
    }
  kernels::Call call{};
  call.dtype = dtype_of(operands.lists[0][0]);
  call.operands = static_cast<int32_t>(operands.lists.size());
  call.sets = std::ssize(operands.lists[0]);
  call.sizes = sizes.data();
  call.data = data.data();
  call.numbers = numbers.data();
  call.n_numbers = static_cast<int32_t>(numbers.size());
  if (f(call)) throw std::invalid_argument(std::string(rule.name) + ": the kernel does not take these operands");
}

bool same_place(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.device() == b.device();
}

// Whether no two of the parameters and gradients share memory. Then it makes no difference whether hooks change all
// gradients before the first update, or each gradient before its own update.
bool apart(c10::ArrayRef<Step> steps) {
  c10::SmallVector<std::pair<const char*, const char*>, 32> spans;
  for (const Step& s : steps)
    for (const at::Tensor* t : {&s.x, &s.y}) {
      const char* begin = static_cast<const char*>(t->const_data_ptr());
      if (t->numel()) spans.emplace_back(begin, begin + t->nbytes());
    }
  std::sort(spans.begin(), spans.end());
  for (size_t i = 1; i < spans.size(); ++i)
    if (spans[i].first < spans[i - 1].second) return false;
  return true;
}

int kind_of(const Rule& rule) {
  static constexpr const char* names[] = {"scale", "unscale", "weight_decay", "lasso", "hard_clip"};
  for (int k = 0; k < Prologue::kinds; ++k)
    if (std::string_view(rule.name) == names[k]) return k;
  return -1;
}

bool fuses(c10::ArrayRef<Step> steps, c10::ArrayRef<Hook> hooks) {
  if (steps.empty() || hooks.empty() || hooks.size() > Prologue::capacity) return false;
  int norms = 0;
  for (const Hook& hook : hooks) {
    norms += !hook.rule;
    if (hook.rule && kind_of(*hook.rule) < 0) return false;
  }
  // On a GPU a second norm would need the factor of the first norm, which the reduction does not read.
  if (norms > 1 && !steps[0].x.is_cpu()) return false;
  for (const Step& s : steps)
    if (!kernel_takes(s) || !lies_along(s.y, s.x) || !same_place(s.x, steps[0].x)) return false;
  return apart(steps);
}

void apply_one_by_one(const Rule& rule, c10::ArrayRef<Step> steps, const double* hypers, c10::ArrayRef<Hook> hooks) {
  Tensors gradients;
  c10::SmallVector<Step, 16> changes;
  for (const Step& s : steps) {
    gradients.push_back(s.y);
    changes.push_back({s.y, s.x, {}, {}});
  }
  for (const Hook& hook : hooks)
    if (hook.rule)
      apply(*hook.rule, changes, hook.h);
    else
      clip_norm(gradients, hook.h[0]);
  apply(rule, steps, hypers);
}

}  // namespace

void apply_hooked(const Rule& rule, c10::ArrayRef<Step> steps, const double* hypers, c10::ArrayRef<Hook> hooks) {
  if (!fuses(steps, hooks)) return apply_one_by_one(rule, steps, hypers, hooks);
  const bool cpu = steps[0].x.is_cpu();
  const Operands operands(rule, steps, false);
  const at::TensorList xs = operands.lists[0], ys = operands.lists[1];
  std::vector<double> numbers;
  std::vector<int64_t> addresses;
  at::Tensor factor;  // on a GPU
  const auto change = [&](int kind, double a, double b, const double* at = nullptr) {
    numbers.insert(numbers.end(), {double(kind), a, b});
    addresses.push_back(reinterpret_cast<int64_t>(at));
  };
  c10::SmallVector<Step, 16> changes;
  for (const Step& s : steps) changes.push_back({s.y, s.x, {}, {}});
  size_t norms = 0, passed = 0;
  for (const Hook& hook : hooks) norms += !hook.rule;
  for (const Hook& hook : hooks) {
    if (hook.rule && cpu && passed < norms) {
      apply(*hook.rule, changes, hook.h);  // on a CPU, computing the changes twice takes longer than storing them
      continue;
    }
    if (hook.rule) {
      change(kind_of(*hook.rule), hook.h[0], hook.h[1]);
      continue;
    }
    ++passed;
    const at::Tensor sums = numbers.empty() ? squares.reduce({ys}) : squares_after.reduce({ys, xs}, numbers);
    if (cpu) {
      double total = 0;
      for (int64_t i = 0; i < sums.numel(); ++i) total += sums.const_data_ptr<double>()[i];
      const double rate = clip_rate(total, hook.h[0]);
      if (rate >= 1) continue;
      if (passed == norms)
        change(Prologue::scale, rate, 0);
      else
        apply(*find_rule("scale"), changes, &rate);
    } else {
      factor = clip_rate(sums.sum(), hook.h[0]);
      change(Prologue::scale, 0, 0, factor.const_data_ptr<double>());
    }
  }
  if (numbers.empty()) return apply(rule, steps, hypers);
  numbers.insert(numbers.begin(), hypers, hypers + rule.hypers);
  if (cpu)
    on_cpu(rule, operands, numbers,
           [&](const kernels::Call& call) { return update_in_blocks(loop_of(rule), rule.hypers, call); });
  else
    rule.kernel.on_list(operands.refs(), numbers, addresses);
}

namespace {

// Whether a kernel supports this step of a rated rule, whose gradient or copy may have 16 bits.
bool kernel_takes_mixed(const Step& s) {
  Step same = s;
  const bool narrow = s.y.scalar_type() == at::kHalf;
  if (s.x.scalar_type() == at::kFloat && narrow) same.y = s.x;
  if (!kernel_takes(same) || !lies_along(s.y, s.x) || s.y.device() != s.x.device()) return false;
  const at::Tensor& c = s.copy;
  return !c.defined() || (s.x.scalar_type() == at::kFloat && c.scalar_type() == at::kHalf &&
                          c.device() == s.x.device() && lies_along(c, s.x));
}
bool is_mixed(const Step& s) { return s.copy.defined() || s.y.scalar_type() != s.x.scalar_type(); }

// Whether two steps can be in one launch: they have one dtype and device, and both or neither have 16-bit gradients.
bool goes_with(const Step& a, const Step& b) {
  return same_place(a.x, b.x) && same_place(a.y, b.y) && is_mixed(a) == is_mixed(b);
}

void apply_by_tensors(const Rule& rule, const Step& s, const double* hypers) {
  Step same = s;
  if (!same_place(s.y, s.x)) same.y = s.y.to(s.x.options());
  same.copy = at::Tensor();
  apply(rule, same, hypers);
  if (s.copy.defined()) s.copy.copy_(s.x);
}

}  // namespace

void apply_rated(const Rule& rule, c10::ArrayRef<Step> steps, const double* hypers, const Rates& given) {
  TORCH_CHECK_VALUE(rule.rated, rule.name, ": this rule does not support rates for each parameter");
  const size_t n = steps.size();
  const bool there = given.rates.defined();
  c10::SmallVector<size_t, 16> taken, rest;
  for (size_t i = 0; i < n; ++i) (kernel_takes_mixed(steps[i]) ? taken : rest).push_back(i);
  const bool waits = there && (!rest.empty() || (n && steps[0].x.is_cpu()));
  std::vector<double> own(given.own.begin(), given.own.end());
  if (waits) {
    for (const at::Tensor* t : {&given.rates, &given.decays}) {
      const at::Tensor numbers = t->to(at::kCPU, at::kDouble).contiguous();
      own.insert(own.end(), numbers.const_data_ptr<double>(), numbers.const_data_ptr<double>() + n);
    }
  }
  const auto hypers_of = [&](size_t i) {
    std::array<double, max_hypers> h{};
    std::copy_n(hypers, rule.hypers, h.begin());
    h[0] = own[i];
    h[1] = own[n + i];
    return h;
  };
  for (const size_t i : rest) apply_by_tensors(rule, steps[i], hypers_of(i).data());
  while (!taken.empty()) {
    const Step& first = steps[taken[0]];
    c10::SmallVector<size_t, 16> group, others;
    for (const size_t i : taken) (goes_with(first, steps[i]) ? group : others).push_back(i);
    taken = std::move(others);
    const bool mixed = is_mixed(first), narrow = first.y.scalar_type() == at::kHalf && mixed;
    if (first.x.is_cpu()) {
      for (const size_t i : group) {
        const auto h = hypers_of(i);
        if (!mixed) {
          apply(rule, steps[i], h.data());
          continue;
        }
        const Operands operands(rule, steps[i], true);
        on_cpu(rule, operands, {h.data(), static_cast<size_t>(rule.hypers)},
               [&](const kernels::Call& call) { return update_mixed_in_blocks(loop_of(rule), call, narrow); });
      }
      continue;
    }
    std::vector<Step> together;
    std::vector<int64_t> places;
    for (const size_t i : group) {
      together.push_back(steps[i]);
      places.push_back(static_cast<int64_t>(i));
    }
    std::vector<double> numbers(hypers, hypers + rule.hypers);
    std::vector<int64_t> integers{0, 0, narrow};
    at::Tensor kept[2];
    if (there && !waits) {
      for (int k = 0; k < 2; ++k) {
        const at::Tensor& t = k ? given.decays : given.rates;
        kept[k] = t.to(first.x.device(), at::kFloat).contiguous();
        if (group.size() != n) kept[k] = kept[k].index_select(0, at::tensor(places, at::kLong).to(first.x.device()));
        integers[k] = reinterpret_cast<int64_t>(kept[k].const_data_ptr<float>());
      }
    } else {
      for (int k = 0; k < 2; ++k)
        for (const size_t i : group) numbers.push_back(own[k * n + i]);
    }
    rule.kernel.on_list(Operands(rule, together, mixed).refs(), numbers, integers);
  }
}

}  // namespace cg::optim
