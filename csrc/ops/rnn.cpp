// Recurrent cells.
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include <c10/util/accumulate.h>

#include "kernels/lstm.h"
#include "kernels/raw.h"
#include "ops/index.h"

namespace cg {
namespace {

// The formulas of the LSTM cell, per element: A = tanh(a), I, F, O = logistic(i, f, o), Y = tanh(c').
template <class T>
struct LSTMCell {
  T A, I, F, O, c;  // c: the cells of the samples that go on

  LSTMCell(const T& cells, const T& x)
      : A(tanh(gate(x, 0))),
        I(sigmoid(gate(x, 1))),
        F(sigmoid(gate(x, 2))),
        O(sigmoid(gate(x, 3))),
        c(running(cells, x.size(0))) {}

  // Elements behind the units; -1 would not do where there are no units.
  static int64_t tail(at::IntArrayRef shape) { return c10::multiply_integers(shape.slice(2)); }
  static T gate(const T& x, int64_t k) {
    const int64_t batch = x.size(0), units = x.size(1) / 4;
    Ints shape{batch, units};
    shape.append(x.sizes().begin() + 2, x.sizes().end());
    const Index index{IndexItem::slice({}, {}), IndexItem::slice({}, {}), IndexItem::integer(k)};
    return reshape(get_item(reshape(x, {batch, units, 4, tail(x.sizes())}), index), shape);
  }
  static T interleave(const T& a, const T& i, const T& f, const T& o, at::IntArrayRef shape) {
    const Ints one{shape[0], shape[1] / 4, 1, tail(shape)};
    const T gates[] = {reshape(a, one), reshape(i, one), reshape(f, one), reshape(o, one)};
    return reshape(concat(c10::ArrayRef<T>(gates), 2), shape);
  }
  static T running(const T& c, int64_t batch) { return c.size(0) == batch ? c : get_item(c, along(0, {}, batch)); }
  // `head` for the samples that go on, then what `all` has for those that ended.
  static T with_ended(const T& head, const T& all) {
    if (head.size(0) == all.size(0)) return head;
    const T both[] = {head, get_item(all, along(0, head.size(0), {}))};
    return concat(c10::ArrayRef<T>(both), 0);
  }
};

// 1 - y * y and y (1 - y): derivatives of tanh and the logistic function by their values.
template <class T>
T tanh_slope(const T& y) {
  return 1.0 - y * y;
}
template <class T>
T logistic_slope(const T& y) {
  return y * (1.0 - y);
}

struct LSTMGrad {
  static constexpr unsigned optional = in_bit(3) | in_bit(4);
  static constexpr unsigned saves = in_bit(0) | in_bit(1) | in_bit(2) | in_bit(3) | in_bit(4);

  std::tuple<Tensor, Tensor> forward(const Tensor& c, const Tensor& x, const Tensor& c_next, const Tensor& gc_next,
                                     const Tensor& gh) {
    if (kernels::raw(c, x)) {
      auto contiguous = [](const Tensor& t) { return t.defined() ? t.contiguous() : t; };
      Tensor gc = at::empty(c.sizes(), c.options()), gx = at::empty(x.sizes(), x.options());
      kernels::lstm_grad(c.contiguous(), x.contiguous(), c_next.contiguous(), contiguous(gc_next), contiguous(gh), gc,
                         gx);
      return {gc, gx};
    }
    const LSTMCell<Tensor> k(c, x);
    const int64_t batch = x.size(0);
    const Tensor Y = tanh(LSTMCell<Tensor>::running(c_next, batch));
    const Tensor all = gc_next.defined() ? gc_next : at::zeros_like(c_next);
    const Tensor g_h = gh.defined() ? gh : at::zeros_like(Y);
    const Tensor t = g_h * k.O * tanh_slope(Y) + LSTMCell<Tensor>::running(all, batch);
    const Tensor gx =
        LSTMCell<Tensor>::interleave(t * k.I * tanh_slope(k.A), t * k.A * logistic_slope(k.I),
                                     t * k.c * logistic_slope(k.F), g_h * Y * logistic_slope(k.O), x.sizes());
    return {LSTMCell<Tensor>::with_ended(t * k.F, all), gx};
  }

  // With t = gh O Y' + gc', v and w the gradients of gc and gx, and q = v F + wa I A' + wi A I' + wf c F', the pass
  // differentiates t q + wo gh Y O'.
  template <class T>
  void backward(Ctx<T>& ctx) {
    using Cell = LSTMCell<T>;
    const int64_t batch = ctx.in_sizes(1)[0];
    auto or_zero = [&](const T& g, at::IntArrayRef shape) {
      return value(g).defined() ? g : T(at::zeros(shape, value(ctx.in(1)).options()));
    };
    const Cell k(ctx.in(0), ctx.in(1));
    const T Y = tanh(Cell::running(ctx.in(2), batch));
    const T gc_all = or_zero(ctx.in(3), ctx.in_sizes(2)), gc = Cell::running(gc_all, batch);
    const T gh = or_zero(ctx.in(4), Y.sizes());
    const T v_all = or_zero(ctx.gy(0), ctx.in_sizes(0)), v = Cell::running(v_all, batch);
    const T w = or_zero(ctx.gy(1), ctx.in_sizes(1));
    const T wa = Cell::gate(w, 0), wi = Cell::gate(w, 1), wf = Cell::gate(w, 2), wo = Cell::gate(w, 3);

    const T dA = tanh_slope(k.A), dI = logistic_slope(k.I), dF = logistic_slope(k.F), dO = logistic_slope(k.O);
    const T dY = tanh_slope(Y);
    const T t = gh * k.O * dY + gc;
    const T q = v * k.F + wa * k.I * dA + wi * k.A * dI + wf * k.c * dF;
    auto to_all = [&](const T& head, at::IntArrayRef shape) {
      return head.sizes() == shape ? head : get_item_grad(head, along(0, {}, batch), shape);
    };
    ctx.grad(0, [&] { return to_all(t * wf * dF, ctx.in_sizes(0)); });
    ctx.grad(1, [&] {
      const T ga = t * dA * (wi * dI - 2.0 * (wa * k.I * k.A));
      const T gi = t * dI * (wa * dA + wi * k.A * (1.0 - 2.0 * k.I));
      const T gf = t * dF * (v + wf * k.c * (1.0 - 2.0 * k.F));
      const T go = gh * dO * (q * dY + wo * Y * (1.0 - 2.0 * k.O));
      return Cell::interleave(ga, gi, gf, go, ctx.in_sizes(1));
    });
    ctx.grad(2, [&] { return to_all(gh * dY * (wo * dO - 2.0 * (q * k.O * Y)), ctx.in_sizes(2)); });
    ctx.grad(3, [&] { return Cell::with_ended(q, v_all); });
    ctx.grad(4, [&] { return q * k.O * dY + wo * Y * dO; });
  }
};
CG_OP("lstm_grad", LSTMGrad, "Gradients of c and x of lstm, from c, x, c' and the gradients of c' and h.")

struct LSTM {
  static constexpr unsigned saves = in_bit(0) | in_bit(1) | out_bit(0);
  std::tuple<Tensor, Tensor> forward(const Tensor& c, const Tensor& x) {
    TORCH_CHECK_VALUE(c.dim() >= 2 && x.dim() == c.dim() && x.size(0) <= c.size(0) && x.size(1) == 4 * c.size(1) &&
                          x.sizes().slice(2) == c.sizes().slice(2),
                      "lstm: x of shape ", x.sizes(), " does not fit c of shape ", c.sizes());
    if (kernels::raw(c, x)) {
      Ints shape = ints(c.sizes());
      shape[0] = x.size(0);
      Tensor c_next = at::empty(c.sizes(), c.options()), h = at::empty(shape, c.options());
      kernels::lstm(c.contiguous(), x.contiguous(), c_next, h);
      return {c_next, h};
    }
    const LSTMCell<Tensor> k(c, x);
    const Tensor next = k.A * k.I + k.F * k.c;
    return {LSTMCell<Tensor>::with_ended(next, c), k.O * tanh(next)};
  }
  void backward(Ctx<Tensor>& c) {
    auto [gc, gx] = LSTMGrad{}.forward(c.in(0), c.in(1), c.out(0), c.gy(0), c.gy(1));
    c.grad(0, [&] { return gc; });
    c.grad(1, [&] { return gx; });
  }
  void backward(Ctx<Var>& c) {
    Vars g = run_all(LSTMGrad{}, c.in(0), c.in(1), c.out(0), c.gy(0), c.gy(1));
    c.grad(0, [&] { return g[0]; });
    c.grad(1, [&] { return g[1]; });
  }
};
CG_OP("lstm", LSTM,
      "One step of an LSTM: c' = tanh(a) s(i) + c s(f) and h = s(o) tanh(c'), with a, i, f, o interleaved along the "
      "second axis of x. Samples of c beyond those of x have ended; their c is passed on.")

}  // namespace
}  // namespace cg
