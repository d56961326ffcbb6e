#include "kernels/optim_tensors.h"

#include <ATen/ops/_foreach_abs.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_clamp_max.h>
#include <ATen/ops/_foreach_clamp_min.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/_foreach_div.h>
#include <ATen/ops/_foreach_maximum.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_sqrt.h>
#include <ATen/ops/_foreach_sub.h>
#include <ATen/ops/_foreach_zero.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/nan_to_num.h>
#include <ATen/ops/rsub.h>
#include <ATen/ops/sgn.h>
#include <ATen/ops/where.h>

#include "kernels/optim_rules.h"
#include "kernels/optim_rules_mxnet.h"
#include "kernels/optim_rules_nnabla.h"

namespace cg::optim {
namespace {

// The tensors of one variable in a formula, one per parameter: arithmetic makes new tensors, assignment writes into
// these. On a GPU an operation on all of them is one launch.
struct Value {
  std::vector<at::Tensor> t;
  explicit Value(std::vector<at::Tensor> tensors) : t(std::move(tensors)) {}
  Value(const Value&) = default;
  Value& operator=(const Value& o) {
    at::_foreach_copy_(t, o.t);
    return *this;
  }
  void operator+=(const Value& o) { at::_foreach_add_(t, o.t); }
  void operator-=(const Value& o) { at::_foreach_sub_(t, o.t); }
  void operator*=(double o) { at::_foreach_mul_(t, o); }
};
Value operator+(const Value& a, const Value& b) { return Value(at::_foreach_add(a.t, b.t)); }
Value operator-(const Value& a, const Value& b) { return Value(at::_foreach_sub(a.t, b.t)); }
Value operator*(const Value& a, const Value& b) { return Value(at::_foreach_mul(a.t, b.t)); }
Value operator/(const Value& a, const Value& b) { return Value(at::_foreach_div(a.t, b.t)); }
Value operator+(const Value& a, double b) { return Value(at::_foreach_add(a.t, b)); }
Value operator*(const Value& a, double b) { return Value(at::_foreach_mul(a.t, b)); }
Value operator/(const Value& a, double b) { return Value(at::_foreach_div(a.t, b)); }
template <class F>
Value each(const Value& a, F&& f) {
  std::vector<at::Tensor> out;
  for (const at::Tensor& t : a.t) out.push_back(f(t));
  return Value(std::move(out));
}
Value operator-(double a, const Value& b) {
  return each(b, [a](const at::Tensor& t) { return at::rsub(t, a); });
}
Value operator/(double a, const Value& b) {  // a * (1 / b) would differ from a / b in the last bit
  Value result = each(b, [](const at::Tensor& t) { return at::empty_like(t); });
  at::_foreach_zero_(result.t);
  at::_foreach_add_(result.t, a);
  at::_foreach_div_(result.t, b.t);
  return result;
}
Value root(const Value& a) { return Value(at::_foreach_sqrt(a.t)); }
Value larger(const Value& a, const Value& b) { return Value(at::_foreach_maximum(a.t, b.t)); }
Value at_most(const Value& a, double high) { return Value(at::_foreach_clamp_max(a.t, high)); }
Value at_least(const Value& a, double low) { return Value(at::_foreach_clamp_min(a.t, low)); }
Value magnitude(const Value& a) { return Value(at::_foreach_abs(a.t)); }
Value nan_to_zero(const Value& a) {
  return each(a, [](const at::Tensor& t) { return at::nan_to_num(t, 0.0); });
}
Value sign_of(const Value& a) {
  return each(a, [](const at::Tensor& t) { return at::where(t.isnan(), t, at::sgn(t)); });
}
Value direction_of(const Value& a) {
  return each(a, [](const at::Tensor& t) { return at::sgn(t); });
}

bool is_narrow(const at::Tensor& t) { return t.scalar_type() == at::kHalf || t.scalar_type() == at::kBFloat16; }
Value widened(const Value& a) {
  return each(a, [](const at::Tensor& t) { return is_narrow(t) ? t.to(at::kFloat) : t; });
}

template <class R>
void run_on_tensors(c10::ArrayRef<const Step*> steps, const double* hypers) {
  double h[max_hypers];
  std::copy_n(hypers, R::hypers, h);
  // NumPy rounds a Python number to the dtype of the array before it computes.
  const at::ScalarType type = steps[0]->x.scalar_type();
  if (is_narrow(steps[0]->x) && !requires { R::widens; })
    for (int k = 0; k < R::hypers; ++k)
      h[k] = type == at::kHalf ? double(c10::Half(float(h[k]))) : double(c10::BFloat16(float(h[k])));
  const auto collect = [&](auto&& of) {
    std::vector<at::Tensor> all;
    for (const Step* step : steps) all.push_back(of(*step));
    return Value(std::move(all));
  };
  const auto state = [&](size_t k) {
    return collect([k](const Step& step) { return R::states > k ? step.states[k] : step.x; });
  };
  Value x = collect([](const Step& step) { return step.x; }), s[] = {state(0), state(1), state(2)};
  R::step(x, collect([](const Step& step) { return step.y; }), s, h);
}

bool same_kind(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.device() == b.device();
}

// Runs the rule's kernel on all steps with the device and dtype of the first one; the others are left in `steps`.
void run_kernel(const Rule& rule, c10::SmallVector<const Step*, 16>& steps, const double* hypers) {
  const at::Tensor first = steps[0]->x;
  c10::SmallVector<const Step*, 16> others;
  c10::SmallVector<at::Tensor, 16> gradients;
  size_t sets = 0;
  for (const Step* s : steps) {
    if (!same_kind(s->x, first)) {
      others.push_back(s);
      continue;
    }
    steps[sets++] = s;
    gradients.push_back(lies_along(s->y, s->x) ? s->y : at::empty_like(s->x).copy_(s->y));
  }
  c10::SmallVector<void*, 64> data;
  c10::SmallVector<int64_t, 64> sizes;
  const auto add = [&](size_t i, void* memory) {
    data.push_back(memory);
    sizes.push_back(steps[i]->x.numel());
  };
  for (size_t i = 0; i < sets; ++i) add(i, steps[i]->x.mutable_data_ptr());
  for (size_t i = 0; i < sets; ++i) add(i, const_cast<void*>(gradients[i].const_data_ptr()));
  for (int k = 0; k < rule.states; ++k)
    for (size_t i = 0; i < sets; ++i) add(i, steps[i]->states[k].mutable_data_ptr());
  rule.kernel.on_pointers(first, data, sizes, static_cast<int64_t>(sets), {hypers, static_cast<size_t>(rule.hypers)});
  steps = std::move(others);
}

}  // namespace

bool kernel_takes(const Step& s) {
  const at::Tensor& x = s.x;
  if (!kernels::takes(x) || !x.is_non_overlapping_and_dense() || !same_kind(s.y, x) || kernels::symbolic(s.y))
    return false;
  for (const at::Tensor& state : s.states)
    if (!same_kind(state, x) || state.strides() != x.strides() || !kernels::plain(state)) return false;
  return true;
}

bool lies_along(const at::Tensor& y, const at::Tensor& x) { return y.strides() == x.strides() && kernels::plain(y); }

const std::deque<Rule>& rules() {
  static const auto all = [] {
    std::deque<Rule> r;
    bool rated = false;
    const auto add = [&]<class R>(const char* name) {
      r.emplace_back(name, R::states, R::hypers, rated, run_on_tensors<R>);
    };
    for_each_rule(add);
    nn::for_each_rule(add);
    rated = true;
    mx::for_each_rule(add);
    return r;
  }();
  return all;
}

const Rule* find_rule(std::string_view name) {
  for (const Rule& r : rules())
    if (name == r.name) return &r;
  return nullptr;
}

void apply(const Rule& rule, c10::ArrayRef<Step> steps, const double* hypers) {
  c10::SmallVector<const Step*, 16> taken, rest;
  for (const Step& s : steps) (kernel_takes(s) ? taken : rest).push_back(&s);
  while (!taken.empty()) run_kernel(rule, taken, hypers);
  // Steps of one dtype and device are computed together, as long as the intermediate results stay small.
  constexpr int64_t at_most_elements = 1 << 26;
  while (!rest.empty()) {
    const at::Tensor& x = rest[0]->x;
    c10::SmallVector<const Step*, 16> group, others;
    int64_t elements = 0;
    for (const Step* s : rest) {
      const bool fits = group.empty() || elements + s->x.numel() <= at_most_elements;
      (same_kind(s->x, x) && fits ? group : others).push_back(s);
      if (!group.empty() && group.back() == s) elements += s->x.numel();
    }
    rule.on_tensors(group, hypers);
    rest = std::move(others);
  }
}

}  // namespace cg::optim
