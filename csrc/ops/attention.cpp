// Attention as one op, whose backward computes the scores again.
#include "kernels/attention.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/triu.h>

#include <algorithm>
#include <limits>

#include "core/deferred.h"
#include "core/named.h"
#include "kernels/raw.h"

namespace cg {
namespace {

constexpr int64_t kLast[1] = {-1};

template <class T>
T product(const T& a, const T& b, bool transa = false, bool transb = false) {
  return Named(CG_NAMED("matmul")).with("transa", transa).with("transb", transb)(a, b);
}

struct Settings {
  double scale = 1;
  bool causal = false;
};

// The weights softmax(scale q kᵀ + mask), as a program would write them.
template <class T>
T weights(const Settings& s, const T& q, const T& k, const T& mask) {
  T scores = product(q, k, false, true) * s.scale;
  if (mask.defined()) scores = scores + mask;
  if (s.causal)
    scores =
        scores +
        constant<T>(at::full({q.size(-2), k.size(-2)}, -std::numeric_limits<double>::infinity(), q.options()).triu(1));
  return softmax(scores, scores.dim() - 1);
}
// The gradient of the scores from that of the weights p.
template <class T>
T through_softmax(const T& p, const T& gp) {
  return p * (gp - sum(p * gp, kLast, true));
}

void check(const char* name, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) {
  const int64_t axes = q.dim();
  const auto heads = [](const Tensor& t) { return t.sizes().slice(0, t.dim() - 2); };
  TORCH_CHECK_VALUE(axes >= 2 && k.dim() == axes && v.dim() == axes && heads(q) == heads(k) && heads(q) == heads(v) &&
                        q.size(-1) == k.size(-1) && k.size(-2) == v.size(-2),
                    name, ": q of shape ", q.sizes(), ", k of shape ", k.sizes(), " and v of shape ", v.sizes(),
                    " do not fit; expected (..., n, d), (..., m, d) and (..., m, e)");
  if (!mask.defined()) return;
  bool fits = mask.dim() <= axes;
  for (int64_t i = 1; fits && i <= mask.dim(); ++i) {
    const int64_t wanted = i == 1 ? k.size(-2) : q.size(-i);
    fits = mask.size(-i) == 1 || mask.size(-i) == wanted;
  }
  TORCH_CHECK_VALUE(fits, name, ": a mask of shape ", mask.sizes(), " does not fit scores of q of shape ", q.sizes(),
                    " and k of shape ", k.sizes());
}

Ints result(const Tensor& q, const Tensor& v) {
  Ints shape = ints(q.sizes());
  shape.back() = v.size(-1);
  return shape;
}

// Whether the kernels compute arrays like these.
bool by_kernel(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) {
  return kernels::attention_fits() && kernels::raw(q, k) && kernels::raw(q, v) &&
         (!mask.defined() || kernels::raw(q, mask)) && q.numel() > 0 && k.numel() > 0 && v.numel() > 0;
}
// An array whose rows are contiguous.
Tensor by_rows(const Tensor& x) {
  const int64_t across = x.stride(-2), along = x.stride(-1);
  return (along == 1 || x.size(-1) == 1) && across >= x.size(-1) ? x : x.contiguous();
}
// Calls f(head, elements from the beginning of x to that of the head).
template <class F>
void each_head(const Tensor& x, F&& f) {
  const int64_t axes = x.dim() - 2;
  int64_t count = 1;
  for (int64_t a = 0; a < axes; ++a) count *= x.size(a);
  for (int64_t h = 0; h < count; ++h) {
    int64_t left = h, at = 0;
    for (int64_t a = axes; a-- > 0;) {
      at += left % x.size(a) * x.stride(a);
      left /= x.size(a);
    }
    f(h, at);
  }
}

// How many numbers lie between the beginnings of two rows. A single row can have any stride, but BLAS refuses a stride
// that is less than the length of a row.
int64_t row(const Tensor& x) { return std::max(x.stride(-2), x.size(-1)); }

// The arguments of the kernels, and the tensors that they point to.
template <class T>
struct Arguments {
  Tensor q, k, v, mask;
  kernels::Attention<T> s;
  Arguments(const Settings& settings, const Tensor& q0, const Tensor& k0, const Tensor& v0, const Tensor& mask0)
      : q(by_rows(q0)), k(by_rows(k0)), v(by_rows(v0)), mask(mask0) {
    s.n = q.size(-2), s.m = k.size(-2), s.d = q.size(-1), s.e = v.size(-1);
    s.q_row = row(q), s.k_row = row(k), s.v_row = row(v);
    s.scale = static_cast<T>(settings.scale);
    s.causal = settings.causal;
    s.heads.resize(q.numel() / (s.n * s.d));
    each_head(q, [&](int64_t h, int64_t at) { s.heads[h].q = q.const_data_ptr<T>() + at; });
    each_head(k, [&](int64_t h, int64_t at) { s.heads[h].k = k.const_data_ptr<T>() + at; });
    each_head(v, [&](int64_t h, int64_t at) { s.heads[h].v = v.const_data_ptr<T>() + at; });
    if (!mask.defined()) return;
    auto shape = ints(q.sizes());
    shape.back() = s.m;
    const Tensor seen = mask.expand(shape);
    if (seen.stride(-1) > 1) mask = mask.contiguous();
    const Tensor wide = mask.expand(shape);
    s.mask_row = wide.stride(-2), s.mask_column = s.m == 1 ? 0 : wide.stride(-1);
    each_head(wide, [&](int64_t h, int64_t at) { s.heads[h].mask = mask.const_data_ptr<T>() + at; });
  }
};

struct AttentionGrad {
  double scale = 1;
  bool causal = false;
  static constexpr auto params() {
    return std::make_tuple(param("scale", &AttentionGrad::scale), param("causal", &AttentionGrad::causal));
  }
  static constexpr Mask optional = in_bit(4);
  static constexpr Mask saves = in_bit(0) | in_bit(1) | in_bit(2) | in_bit(3) | in_bit(4);
  Settings settings() const { return {scale, causal}; }

  static void check_all(const Tensor& gy, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) {
    check("attention_grad", q, k, v, mask);
    const Ints shape = result(q, v);
    TORCH_CHECK_VALUE(gy.sizes() == at::IntArrayRef(shape), "attention_grad: gy of shape ", gy.sizes(), ", not ",
                      shape);
  }
  std::tuple<Tensor, Tensor, Tensor> infer(const Tensor& gy, const Tensor& q, const Tensor& k, const Tensor& v,
                                           const Tensor& mask) const {
    check_all(gy, q, k, v, mask);
    return {hollow(q), hollow(k), hollow(v)};
  }
  std::tuple<Tensor, Tensor, Tensor> forward(const Tensor& gy, const Tensor& q, const Tensor& k, const Tensor& v,
                                             const Tensor& mask) {
    check_all(gy, q, k, v, mask);
    if (by_kernel(q, k, v, mask) && kernels::raw(q, gy)) {
      const Tensor g = gy.contiguous(), gq = at::empty(q.sizes(), q.options()), gk = at::empty(k.sizes(), k.options()),
                   gv = at::empty(v.sizes(), v.options());
      kernels::with_dtype(q, [&]<class T>(T) {
        const Arguments<T> a(settings(), q, k, v, mask);
        kernels::attention_grad(a.s, g.const_data_ptr<T>(), gq.mutable_data_ptr<T>(), gk.mutable_data_ptr<T>(),
                                gv.mutable_data_ptr<T>());
      });
      return {gq, gk, gv};
    }
    const Tensor p = weights(settings(), q, k, mask), gs = through_softmax(p, product(gy, v, false, true)) * scale;
    return {product(gs, k), product(gs, q, true), product(p, gy, true)};
  }
  // With a, b, c: the gradients of the three results, and u = scale (a kᵀ + q bᵀ), that of the scores' gradient gs.
  template <class T>
  void backward(Ctx<T>& c) {
    const T gy = c.in(0), q = c.in(1), k = c.in(2), v = c.in(3), mask = c.in(4);
    const T p = weights(settings(), q, k, mask), gp = product(gy, v, false, true), gs = through_softmax(p, gp);
    const auto sum_of = [](const T& x, const T& y) { return !x.defined() ? y : y.defined() ? x + y : x; };
    const T ga = c.gy(0), gb = c.gy(1), gc = c.gy(2);
    const T u =
        sum_of(ga.defined() ? product(ga, k, false, true) : T(), gb.defined() ? product(q, gb, false, true) : T());
    const T of_v = gc.defined() ? product(gy, gc, false, true) : T();  // the part of p's gradient that comes from gv
    T w, of_scores;
    if (u.defined()) {
      const T us = u * scale;
      w = through_softmax(p, us);
      of_scores = sum_of(gp * us - gp * sum(p * us, kLast, true) - us * sum(p * gp, kLast, true), of_v);
    } else {
      of_scores = of_v;
    }
    c.grad(0, [&] { return sum_of(w.defined() ? product(w, v) : T(), gc.defined() ? product(p, gc) : T()); });
    c.grad(3, [&] { return w.defined() ? product(w, gy, true) : T(); });
    if (!of_scores.defined()) return;
    const T g = through_softmax(p, of_scores);
    c.grad(4, [&] { return cg::sum_to(g, c.in_sizes(4)); });
    const auto scaled = [&](const T& x) { return x * scale; };
    c.grad(1, [&] { return scaled(sum_of(product(g, k), gb.defined() ? product(gs, gb) : T())); });
    c.grad(2, [&] { return scaled(sum_of(product(g, q, true), ga.defined() ? product(gs, ga, true) : T())); });
  }
};
CG_OP("attention_grad", AttentionGrad,
      "Gradients of q, k and v of attention from that of the result, q, k, v and the mask.")

struct Attention {
  double scale = 1;
  bool causal = false;
  static constexpr auto params() {
    return std::make_tuple(param("scale", &Attention::scale), param("causal", &Attention::causal));
  }
  static constexpr Mask optional = in_bit(3);
  static constexpr Mask saves = in_bit(0) | in_bit(1) | in_bit(2) | in_bit(3);
  Settings settings() const { return {scale, causal}; }

  Tensor infer(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) const {
    check("attention", q, k, v, mask);
    return hollow(result(q, v), q);
  }
  Tensor forward(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) {
    check("attention", q, k, v, mask);
    if (!by_kernel(q, k, v, mask)) return product(weights(settings(), q, k, mask), v);
    const Tensor y = at::empty(result(q, v), q.options());
    kernels::with_dtype(
        q, [&]<class T>(T) { kernels::attention(Arguments<T>(settings(), q, k, v, mask).s, y.mutable_data_ptr<T>()); });
    return y;
  }
  template <class T>
  void backward(Ctx<T>& c) {
    const T q = c.in(0), k = c.in(1), v = c.in(2), mask = c.in(3);
    if (c.needs(0) || c.needs(1) || c.needs(2)) {
      const auto g = run_all(AttentionGrad{scale, causal}, c.gy(), q, k, v, mask);
      for (size_t i = 0; i < 3; ++i) c.grad(i, [&] { return g[i]; });
    }
    c.grad(3, [&] {
      const T p = weights(settings(), q, k, mask);
      return cg::sum_to(through_softmax(p, product(c.gy(), v, false, true)), c.in_sizes(3));
    });
  }
};
CG_OP("attention", Attention,
      "softmax(scale q kᵀ + mask) v over the last two axes of q (..., n, d), k (..., m, d) and v (..., m, e), without "
      "an array of the scores: backward computes them again. The mask is added to the scores; with causal, row i of q "
      "sees rows 0 to i of k and v.")

}  // namespace
}  // namespace cg
