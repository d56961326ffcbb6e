#include "kernels/optim_tensors.h"

#include <ATen/core/TensorAccessor.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/add.h>
#include <ATen/ops/clamp_max.h>
#include <ATen/ops/clamp_min.h>
#include <ATen/ops/dot.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gt.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/isinf.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/nan_to_num.h>
#include <ATen/ops/norm.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/reciprocal.h>
#include <ATen/ops/rsub.h>
#include <ATen/ops/sgn.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/where.h>

#include "kernels/optim_rules.h"

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

// A tensor inside a formula: arithmetic makes new ones, assignment writes into this one.
struct Value {
  at::Tensor t;
  explicit Value(at::Tensor tensor) : t(std::move(tensor)) {}
  Value(const Value&) = default;
  Value& operator=(const Value& o) {
    t.copy_(o.t);
    return *this;
  }
  void operator+=(const Value& o) { t.add_(o.t); }
  void operator-=(const Value& o) { t.sub_(o.t); }
  void operator*=(double o) { t.mul_(o); }
};
Value operator+(const Value& a, const Value& b) { return Value(a.t.add(b.t)); }
Value operator-(const Value& a, const Value& b) { return Value(a.t.sub(b.t)); }
Value operator*(const Value& a, const Value& b) { return Value(a.t.mul(b.t)); }
Value operator/(const Value& a, const Value& b) { return Value(a.t.div(b.t)); }
Value operator+(const Value& a, double b) { return Value(a.t.add(b)); }
Value operator*(const Value& a, double b) { return Value(a.t.mul(b)); }
Value operator/(const Value& a, double b) { return Value(a.t.div(b)); }
Value operator-(double a, const Value& b) { return Value(at::rsub(b.t, a)); }
Value operator/(double a, const Value& b) { return Value(at::full({}, a, b.t.options()).div(b.t)); }
Value root(const Value& a) { return Value(a.t.sqrt()); }
Value larger(const Value& a, const Value& b) { return Value(at::maximum(a.t, b.t)); }
Value at_most(const Value& a, double high) { return Value(at::clamp_max(a.t, high)); }
Value at_least(const Value& a, double low) { return Value(at::clamp_min(a.t, low)); }
Value magnitude(const Value& a) { return Value(a.t.abs()); }
Value nan_to_zero(const Value& a) { return Value(at::nan_to_num(a.t, 0.0)); }
Value sign_of(const Value& a) { return Value(at::where(a.t.isnan(), a.t, at::sgn(a.t))); }

bool is_narrow(const at::Tensor& t) { return t.scalar_type() == at::kHalf || t.scalar_type() == at::kBFloat16; }
Value widened(const Value& a) { return is_narrow(a.t) ? Value(a.t.to(at::kFloat)) : a; }

template <class R>
void run_on_tensors(const at::Tensor& x, const at::Tensor& y, at::TensorList states, const double* hypers) {
  double h[max_hypers];
  std::copy_n(hypers, R::hypers, h);
  // NumPy rounds a Python number to the dtype of the array before it computes.
  if (is_narrow(x) && !requires { R::widens; })
    for (int k = 0; k < R::hypers; ++k)
      h[k] = x.scalar_type() == at::kHalf ? double(c10::Half(float(h[k]))) : double(c10::BFloat16(float(h[k])));
  Value value(x), s[] = {Value(R::states > 0 ? states[0] : x), Value(R::states > 1 ? states[1] : x),
                         Value(R::states > 2 ? states[2] : x)};
  R::step(value, Value(y), s, h);
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
  return t.is_cpu() && t.scalar_type() == at::kFloat && t.is_non_overlapping_and_dense();
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

void apply(const Rule& rule, const at::Tensor& x, const at::Tensor& y, at::TensorList states, const double* hypers) {
  bool plain = x.is_cpu() && y.is_cpu() && x.is_non_overlapping_and_dense() && y.scalar_type() == x.scalar_type();
  for (const at::Tensor& s : states) plain = plain && runs_along(s, x);
  const bool single = x.scalar_type() == at::kFloat;
  if (!plain || !(single || x.scalar_type() == at::kDouble)) return rule.on_tensors(x, y, states, hypers);
  // A gradient in another layout is brought into the parameter's.
  const at::Tensor along = y.strides() == x.strides() ? y : at::empty_like(x).copy_(y);
  if (single)
    run_loop(rule.loops.f32, x, along, states, hypers);
  else
    run_loop(rule.loops.f64, x, along, states, hypers);
}

void clip_norm(at::TensorList gradients, double threshold) {
  if (gradients.empty()) return;
  bool floats = true, cpu = true;
  for (const at::Tensor& g : gradients) {
    cpu = cpu && g.is_cpu();
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
    const Rule& scale = *find_rule("scale");
    for (const at::Tensor& g : gradients) apply(scale, g, g, {}, &rate);
  } else {
    // Without waiting for the device.
    const at::Tensor rate = total.sqrt().reciprocal().mul(threshold).clamp_max(1);
    for (const at::Tensor& g : gradients) g.mul_(rate.to(g.device()));
  }
}

void clip_norms(at::TensorList gradients, double threshold) {
  const Rule& scale = *find_rule("scale");
  for (const at::Tensor& g : gradients) {
    if (is_plain_float(g)) {
      const float sum = sum_of_squares(g.numel(), g.const_data_ptr<float>());
      if (!(sum > threshold * threshold)) continue;
      const double rate = threshold / std::sqrt(sum);
      apply(scale, g, g, {}, &rate);
    } else {
      const at::Tensor norm = g.norm();  // without waiting for the device
      g.mul_(at::where(norm.gt(threshold), norm.reciprocal().mul(threshold), at::ones_like(norm)));
    }
  }
}

bool any_special(at::TensorList gradients, bool inf, bool nan) {
  for (const at::Tensor& g : gradients) {
    if (is_plain_float(g)) {
      if (has_special(g.numel(), g.const_data_ptr<float>(), inf, nan)) return true;
    } else {
      const at::Tensor found = inf && nan ? g.isfinite().logical_not() : inf ? g.isinf() : g.isnan();
      if (found.any().item<bool>()) return true;
    }
  }
  return false;
}

}  // namespace cg::optim
