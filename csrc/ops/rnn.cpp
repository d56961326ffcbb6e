// The LSTM, with samples of different lengths.
#include "kernels/lstm_parts.h"
#include "ops/few_copy.h"
#include "ops/gates.h"

namespace cg {
namespace {

using cell::Lstm;

// The cells of the samples that continue.
template <class T>
T running(const T& c, int64_t batch) {
  return !value(c).defined() || c.size(0) == batch ? c : get_item(c, along(0, {}, batch));
}
// `head` for the samples that continue, followed by the rows of `all` for those that ended; zeros if `all` is
// undefined.
template <class T>
T with_ended(const T& head, const T& all, int64_t samples) {
  if (head.size(0) == samples) return head;
  Ints rest = ints(head.sizes());
  rest[0] = samples - head.size(0);
  const T both[] = {head, value(all).defined() ? get_item(all, along(0, head.size(0), {}))
                                               : T(at::zeros(rest, value(head).options()))};
  return concat(c10::ArrayRef<T>(both), 0);
}

struct LSTMGrad {
  std::string order;
  static constexpr auto params() { return std::make_tuple(param("order", &LSTMGrad::order)); }
  static constexpr Mask optional = in_bit(2) | in_bit(3);
  static constexpr Mask saves = in_bit(0) | in_bit(1) | in_bit(2) | in_bit(3);

  std::tuple<Tensor, Tensor> forward(const Tensor& c, const Tensor& x, const Tensor& gc_next, const Tensor& gh) {
    const int64_t batch = x.size(0);
    const Tensor xs[] = {running(c, batch), x}, gys[] = {running(gc_next, batch), gh};
    const auto g = cell::backward(Lstm{}, Lstm::layout(xs[0].sizes(), order), xs, gys);
    return {with_ended(g[0], gc_next, c.size(0)), g[1]};
  }
  template <class T>
  void backward(Ctx<T>& ctx) {
    const int64_t samples = ctx.in_sizes(0)[0], batch = ctx.in_sizes(1)[0];
    const T xs[] = {running(ctx.in(0), batch), ctx.in(1)}, gys[] = {running(ctx.in(2), batch), ctx.in(3)};
    const T ws[] = {running(ctx.gy(0), batch), ctx.gy(1)};
    const auto g = cell::second<Lstm, T>(Lstm{}, Lstm::layout(xs[0].sizes(), order), xs, gys, ws);
    ctx.grad(0, [&] { return with_ended(g[0], T(), samples); });
    ctx.grad(1, [&] { return g[1]; });
    ctx.grad(2, [&] { return with_ended(g[2], ctx.gy(0), samples); });
    ctx.grad(3, [&] { return g[3]; });
  }
};
CG_OP("lstm_grad", LSTMGrad, "Gradients of c and x of lstm, from c, x and the gradients of c' and h.")

struct LSTM {
  std::string order;
  static constexpr auto params() { return std::make_tuple(param("order", &LSTM::order)); }
  static constexpr Mask saves = in_bit(0) | in_bit(1);

  std::tuple<Tensor, Tensor> forward(const Tensor& c, const Tensor& x) {
    TORCH_CHECK_VALUE(c.dim() >= 2 && x.dim() == c.dim() && x.size(0) <= c.size(0) && x.size(1) == 4 * c.size(1) &&
                          x.sizes().slice(2) == c.sizes().slice(2),
                      "lstm: x of shape ", x.sizes(), " does not fit c of shape ", c.sizes());
    const Tensor xs[] = {running(c, x.size(0)), x};
    const auto y = cell::forward(Lstm{}, Lstm::layout(xs[0].sizes(), order), xs);
    return {with_ended(y[0], c, c.size(0)), y[1]};
  }
  void backward(Ctx<Tensor>& c) {
    auto [gc, gx] = LSTMGrad{order}.forward(c.in(0), c.in(1), c.gy(0), c.gy(1));
    c.grad(0, [&] { return gc; });
    c.grad(1, [&] { return gx; });
  }
  void backward(Ctx<Var>& c) { cell::give<Var>(c, run_all(LSTMGrad{order}, c.in(0), c.in(1), c.gy(0), c.gy(1))); }
};
CG_OP("lstm", LSTM,
      "One step of an LSTM: c' = tanh(a) s(i) + c s(f) and h = s(o) tanh(c'), with a, i, f, o interleaved along the "
      "second axis of x, or with `order`, such as ifao, in four blocks in this order. If c has more samples than x, "
      "the sequences of the others have ended, and their c is copied.")

// The gates of nnabla's PF.lstm_cell, which a graph shows as nine functions (python/joined.h). tanh(c') is saved, as
// the functions save it. If it were computed again from c, a program that writes into c before backward would change
// the gradients.
struct LSTMParts {
  static constexpr Mask saves = in_bit(0) | in_bit(1) | out_bit(2);
  static constexpr const char* kOrder = "iofa";

  static bool has_loop(const Tensor& c, const Tensor& x) {
    return c.scalar_type() == at::kFloat && kernels::raw(c, x) && c.is_contiguous() && x.is_contiguous();
  }
  static kernels::LstmParts parts(const Tensor& c, const Tensor& x) {
    return {c.size(0), c.size(1), x.const_data_ptr<float>(), c.const_data_ptr<float>()};
  }
  template <class T>
  static T joined(const T& x) {
    return shaped(x, {x.size(0), 4 * x.size(2)});
  }
  static void check(const Tensor& c, const Tensor& x) {
    TORCH_CHECK_VALUE(
        c.dim() == 2 && x.dim() == 3 && x.size(0) == c.size(0) && x.size(1) == 4 && x.size(2) == c.size(1),
        "lstm_parts: x of shape ", x.sizes(), " does not fit c of shape ", c.sizes());
  }
  // The gradient of c' from those of c' and tanh(c').
  template <class T>
  static T of_next(Ctx<T>& ctx) {
    const T g = ctx.gy(0), bent = ctx.gy(2);
    if (!value(bent).defined()) return g;
    const T y = ctx.out(2), slope = bent * (1 - y * y);
    return value(g).defined() ? g + slope : slope;
  }
  std::tuple<Tensor, Tensor, Tensor> forward(const Tensor& c, const Tensor& x) {
    check(c, x);
    if (!has_loop(c, x)) {
      auto [next, state] = LSTM{kOrder}.forward(c, joined(x));
      return {next, state, next.tanh()};
    }
    const Tensor next = few::empty(c.sizes(), c), state = few::empty(c.sizes(), c), bent = few::empty(c.sizes(), c);
    kernels::lstm_parts(parts(c, x), next.mutable_data_ptr<float>(), state.mutable_data_ptr<float>(),
                        bent.mutable_data_ptr<float>());
    return {next, state, bent};
  }
  void backward(Ctx<Tensor>& ctx) {
    const Tensor c = ctx.in(0), x = ctx.in(1), bent = ctx.out(2), of_cell = of_next(ctx);
    Tensor gc, gx;
    check(c, x);  // a program may have replaced the arrays since forward
    const auto fits = [&](const Tensor& g) {
      return !g.defined() || (g.scalar_type() == at::kFloat && kernels::raw(g) && g.sizes() == c.sizes());
    };
    if (has_loop(c, x) && fits(of_cell) && fits(ctx.gy(1)) && bent.defined() && fits(bent) &&
        (of_cell.defined() || ctx.gy(1).defined())) {
      const auto dense = [](const Tensor& g) { return g.defined() ? few::contiguous(g) : g; };
      const Tensor t = dense(bent), g_next = dense(of_cell), g_state = dense(ctx.gy(1));
      const auto numbers = [](const Tensor& g) { return g.defined() ? g.const_data_ptr<float>() : nullptr; };
      gc = few::empty(c.sizes(), c);
      gx = few::empty(x.sizes(), x);
      kernels::lstm_parts_slope(parts(c, x), numbers(t), numbers(g_next), numbers(g_state),
                                gc.mutable_data_ptr<float>(), gx.mutable_data_ptr<float>());
    } else {
      std::tie(gc, gx) = LSTMGrad{kOrder}.forward(c, joined(x), of_cell, ctx.gy(1));
      gx = shaped(gx, x.sizes());
    }
    ctx.grad(0, [&] { return gc; });
    ctx.grad(1, [&] { return gx; });
  }
  void backward(Ctx<Var>& ctx) {
    const Vars g = run_all(LSTMGrad{kOrder}, ctx.in(0), joined(ctx.in(1)), of_next(ctx), ctx.gy(1));
    ctx.grad(0, [&] { return g[0]; });
    ctx.grad(1, [&] { return shaped(g[1], ctx.in_sizes(1)); });
  }
};
CG_OP("lstm_parts", LSTMParts,
      "lstm for x (batch, 4, units) with the gates i, o, f, a along the second axis, by the arithmetic of single "
      "functions; a third output: tanh(c').")

}  // namespace
}  // namespace cg
