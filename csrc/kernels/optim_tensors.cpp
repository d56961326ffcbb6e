#include "kernels/optim_tensors.h"

#include <ATen/core/TensorAccessor.h>
#include <ATen/ops/_foreach_abs.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_clamp_max.h>
#include <ATen/ops/_foreach_clamp_min.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/_foreach_div.h>
#include <ATen/ops/_foreach_maximum.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_foreach_sqrt.h>
#include <ATen/ops/_foreach_sub.h>
#include <ATen/ops/_foreach_zero.h>
#include <ATen/ops/dot.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gt.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/isinf.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/nan_to_num.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/reciprocal.h>
#include <ATen/ops/rsub.h>
#include <ATen/ops/sgn.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>

#include "kernels/optim_rules.h"
#include "kernels/trace.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace cg::optim {
namespace {

// Takes numbers below the normal range for zero. The averages of a unit that gets no gradient any more end there, and
// arithmetic on them is thirty times slower.
class FlushDenormals {
#if defined(__SSE__)
  static constexpr unsigned kFlush = 0x8040;  // results and operands
  const unsigned old_ = _mm_getcsr();

 public:
  FlushDenormals() { _mm_setcsr(old_ | kFlush); }
  ~FlushDenormals() { _mm_setcsr(old_); }
#else
 public:
  FlushDenormals() {}
#endif
};

// Tensors inside a formula, one per parameter: arithmetic makes new ones, assignment writes into these. On a GPU an
// operation on all of them is one launch.
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
Value operator/(double a, const Value& b) {  // a / b, which a * (1 / b) is not to the last bit
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

const c10::SmallVector<Rule, 24>& rules() {
  static const auto all = [] {
    c10::SmallVector<Rule, 24> r;
    for_each_rule([&]<class R>(const char* name) {
      r.push_back({name, R::states, R::hypers, find_loops(name), run_on_tensors<R>});
    });
    return r;
  }();
  return all;
}

// Whether a loop may walk the storage of `t` and `x` side by side.
bool runs_along(const at::Tensor& t, const at::Tensor& x) {
  return t.scalar_type() == x.scalar_type() && t.is_cpu() && t.strides() == x.strides();
}

bool is_plain_float(const at::Tensor& t) {
  return !kernels::traced(t) && t.is_cpu() && t.scalar_type() == at::kFloat && t.is_non_overlapping_and_dense();
}

template <class T>
void run_loop(Loop<T> loop, const at::Tensor& x, const at::Tensor& y, at::TensorList states, const double* hypers) {
  T* s[max_states] = {};
  for (size_t k = 0; k < states.size(); ++k) s[k] = states[k].mutable_data_ptr<T>();
  const FlushDenormals flush;
  loop(x.numel(), x.mutable_data_ptr<T>(), y.const_data_ptr<T>(), s, hypers);
}

}  // namespace

const Rule* find_rule(std::string_view name) {
  for (const Rule& r : rules())
    if (name == r.name) return &r;
  return nullptr;
}

namespace {
// Whether the CPU loops do it; then it is done.
bool run_plain(const Rule& rule, const Step& s, const double* hypers) {
  const at::Tensor &x = s.x, &y = s.y;
  bool plain = !kernels::traced(x) && x.is_cpu() && y.is_cpu() && x.is_non_overlapping_and_dense() &&
               y.scalar_type() == x.scalar_type();
  for (const at::Tensor& state : s.states) plain = plain && runs_along(state, x);
  const bool single = x.scalar_type() == at::kFloat;
  if (!plain || !(single || x.scalar_type() == at::kDouble)) return false;
  // A gradient in another layout is brought into the parameter's.
  const at::Tensor along = y.strides() == x.strides() ? y : at::empty_like(x).copy_(y);
  if (single)
    run_loop(rule.loops.f32, x, along, s.states, hypers);
  else
    run_loop(rule.loops.f64, x, along, s.states, hypers);
  return true;
}
}  // namespace

void apply(const Rule& rule, c10::ArrayRef<Step> steps, const double* hypers) {
  c10::SmallVector<const Step*, 16> rest;
  for (const Step& s : steps)
    if (!run_plain(rule, s, hypers)) rest.push_back(&s);
  // What is alike goes together, as long as the intermediate results stay small.
  constexpr int64_t at_most_elements = 1 << 26;
  while (!rest.empty()) {
    const at::Tensor& x = rest[0]->x;
    c10::SmallVector<const Step*, 16> group, others;
    int64_t elements = 0;
    for (const Step* s : rest) {
      const bool alike = s->x.device() == x.device() && s->x.scalar_type() == x.scalar_type();
      const bool fits = group.empty() || elements + s->x.numel() <= at_most_elements;
      (alike && fits ? group : others).push_back(s);
      if (group.back() == s) elements += s->x.numel();
    }
    rule.on_tensors(group, hypers);
    rest = std::move(others);
  }
}

void clip_norm(at::TensorList gradients, double threshold) {
  if (gradients.empty()) return;
  bool floats = true, cpu = true;
  for (const at::Tensor& g : gradients) {
    cpu = cpu && g.is_cpu() && !kernels::traced(g);
    floats = floats && is_plain_float(g);
  }
  at::Tensor total;
  if (floats) {
    float sum = 0;  // in the gradients' precision, as NumPy's dot and sum
    for (const at::Tensor& g : gradients) sum += sum_of_squares(g.numel(), g.const_data_ptr<float>());
    total = at::full({}, sum, gradients[0].options());
  } else {
    for (const at::Tensor& g : gradients) {
      const at::Tensor flat = g.reshape(-1), square = at::dot(flat, flat).to(gradients[0].device());
      total = total.defined() ? total.add(square) : square;
    }
  }
  if (cpu) {
    const double rate = threshold / total.sqrt().item<double>();
    if (rate >= 1) return;
    for (const at::Tensor& g : gradients) apply(*find_rule("scale"), Step{g, g, {}}, &rate);
  } else {
    // Without waiting for the device, and without a choice that a trace could not hold.
    const at::Tensor rate = total.sqrt().reciprocal().mul(threshold).clamp_max(1);
    for (const at::Tensor& g : gradients) g.mul_(rate.to(g.device()));
  }
}

void clip_norms(at::TensorList gradients, double threshold) {
  std::vector<at::Tensor> rest;
  for (const at::Tensor& g : gradients) {
    if (!is_plain_float(g)) {
      rest.push_back(g);
      continue;
    }
    const float sum = sum_of_squares(g.numel(), g.const_data_ptr<float>());
    if (!(sum > threshold * threshold)) continue;
    const double rate = threshold / std::sqrt(sum);
    apply(*find_rule("scale"), Step{g, g, {}}, &rate);
  }
  if (rest.empty()) return;
  // Without waiting for the device.
  const auto norms = at::_foreach_norm(rest);
  for (size_t i = 0; i < rest.size(); ++i)
    rest[i].mul_(at::where(norms[i].gt(threshold), norms[i].reciprocal().mul(threshold), at::ones_like(norms[i])));
}

bool any_special(at::TensorList gradients, bool inf, bool nan) {
  for (const at::Tensor& g : gradients) kernels::reads_values("the check of gradients for infinite values or NaN", g);
  std::vector<at::Tensor> rest;
  for (const at::Tensor& g : gradients) {
    if (!is_plain_float(g)) {
      rest.push_back(g);
    } else if (has_special(g.numel(), g.const_data_ptr<float>(), inf, nan)) {
      return true;
    }
  }
  if (rest.empty()) return false;
  // All norms are read at once: as a rule they are finite, and that is all.
  auto norms = at::_foreach_norm(rest);
  for (at::Tensor& norm : norms) norm = norm.to(norms[0].options());
  if (at::stack(norms).isfinite().all().item<bool>()) return false;
  for (const at::Tensor& g : rest) {
    const at::Tensor found = inf && nan ? g.isfinite().logical_not() : inf ? g.isinf() : g.isnan();
    if (found.any().item<bool>()) return true;
  }
  return false;
}

}  // namespace cg::optim
