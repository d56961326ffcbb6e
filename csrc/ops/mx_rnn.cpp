// One layer of a recurrent network in one direction, over all time steps.
//
// Only what waits for the last state is done step by step; the gradients of the weights are one product each.
#include <ATen/ops/linear.h>
#include <ATen/ops/stack.h>

#include "ops/index.h"
#include "ops/named.h"

namespace cg {
namespace {

struct RnnLayer {
  std::string mode = "lstm", order;
  bool reverse = false;
  static constexpr auto params() {
    return std::make_tuple(param("mode", &RnnLayer::mode), param("order", &RnnLayer::order),
                           param("reverse", &RnnLayer::reverse));
  }
  static constexpr unsigned optional = in_bit(2) | in_bit(4);
  unsigned saves_for(c10::ArrayRef<bool>) const {
    return in_bit(0) | in_bit(1) | in_bit(2) | in_bit(3) | in_bit(4) | out_bit(0) | (lstm() ? out_bit(1) : 0);
  }
  bool lstm() const { return mode == "lstm"; }
  int64_t place(int64_t step, int64_t time) const { return reverse ? time - 1 - step : step; }

  std::vector<Tensor> forward(const Tensor& x, const Tensor& h0, const Tensor& c0, const Tensor& w, const Tensor& b) {
    TORCH_CHECK_VALUE(mode == "lstm" || mode == "gru" || mode == "rnn_tanh" || mode == "rnn_relu",
                      "rnn_layer: mode must be lstm, gru, rnn_tanh or rnn_relu, not ", mode);
    TORCH_CHECK_VALUE(x.dim() == 3 && h0.dim() == 2 && w.dim() == 2 && x.size(0) > 0 && x.size(1) == h0.size(0) &&
                          x.size(2) == w.size(0) && w.size(1) == h0.size(1) && c0.defined() == lstm(),
                      "rnn_layer: x of shape ", x.sizes(), ", h of shape ", h0.sizes(), " and w of shape ", w.sizes(),
                      " do not fit together");
    const int64_t time = x.size(0);
    std::vector<Tensor> hs(time), cs(lstm() ? time : 0);
    Tensor h = h0, c = c0;
    for (int64_t k = 0; k < time; ++k) {
      const int64_t t = place(k, time);
      const Tensor s = at::linear(h, w, b.defined() ? std::optional<Tensor>(b) : std::nullopt), gates = x.select(0, t);
      if (lstm()) {
        Tensors r = Named(CG_NAMED("lstm")).with("order", order).all(c, s + gates);
        cs[t] = c = r[0];
        h = r[1];
      } else {
        h = mode == "gru"        ? Named(CG_NAMED("gru"))(h, gates, s)
            : mode == "rnn_tanh" ? at::tanh(s + gates)
                                 : (s + gates).clamp_min(0);
      }
      hs[t] = h;
    }
    std::vector<Tensor> r{at::stack(hs)};
    if (lstm()) r.push_back(at::stack(cs));
    return r;
  }

  template <class T>
  static T at_step(const T& x, int64_t t) {
    return get_item(x, Index{IndexItem::integer(t)});
  }
  template <class T>
  static T sum_of(const T& a, const T& b) {
    return !value(a).defined() ? b : !value(b).defined() ? a : a + b;
  }
  // What each step began with: the first state, then those that it led to.
  template <class T>
  T before(const T& first, const T& all, int64_t time) const {
    const T start = reshape(first, {1, first.size(0), first.size(1)});
    if (time == 1) return start;
    const T forth[] = {start, get_item(all, along(0, 0, time - 1))}, back[] = {get_item(all, along(0, 1, time)), start};
    return concat(reverse ? c10::ArrayRef<T>(back) : c10::ArrayRef<T>(forth), 0);
  }
  template <class T>
  static T joined(const std::vector<T>& steps) {
    std::vector<T> rows;
    for (const T& s : steps) rows.push_back(reshape(s, {1, s.size(0), s.size(1)}));
    return concat(c10::ArrayRef<T>(rows), 0);
  }

  template <class T>
  void backward(Ctx<T>& c) {
    const T x = c.in(0), w = c.in(3), y = c.out(0);
    const int64_t time = c.in_sizes(0)[0], batch = c.in_sizes(0)[1], gates = c.in_sizes(0)[2], units = c.in_sizes(3)[1];
    const T prev = before(c.in(1), y, time), flat = reshape(prev, {time * batch, units});
    T s, cells_before;
    if (lstm() || mode == "gru") {
      s = matmul(flat, transpose(w, 0, 1));
      if (value(c.in(4)).defined()) s = s + c.in(4);
      s = reshape(s, {time, batch, gates});
      if (lstm()) {
        s = s + x;
        cells_before = before(c.in(2), c.out(1), time);
      }
    }
    std::vector<T> gx(time), gs(mode == "gru" ? time : 0);
    T gh, gc;
    for (int64_t k = time - 1; k >= 0; --k) {
      const int64_t t = place(k, time);
      if (value(c.gy(0)).defined()) gh = sum_of(gh, at_step(c.gy(0), t));
      if (lstm()) {
        if (value(c.gy(1)).defined()) gc = sum_of(gc, at_step(c.gy(1), t));
        auto g = Named(CG_NAMED("lstm_grad")).with("order", order).all(at_step(cells_before, t), at_step(s, t), gc, gh);
        gc = g[0];
        gx[t] = g[1];
        gh = matmul(gx[t], w);
      } else if (mode == "gru") {
        auto g = Named(CG_NAMED("gru_grad")).all(at_step(prev, t), at_step(x, t), at_step(s, t), gh);
        gx[t] = g[1];
        gs[t] = g[2];
        gh = g[0] + matmul(g[2], w);
      } else {
        const T h = at_step(y, t);
        gx[t] = mode == "rnn_tanh" ? tanh_backward(gh, h)
                                   : gh * frozen([](const Tensor& v) { return v.gt(0).to(v.scalar_type()); }, h);
        gh = matmul(gx[t], w);
      }
    }
    const T all = joined(gx), of_state = reshape(gs.empty() ? all : joined(gs), {time * batch, gates});
    c.grad(0, [&] { return all; });
    c.grad(1, [&] { return gh; });
    c.grad(2, [&] { return gc; });
    c.grad(3, [&] { return matmul(transpose(of_state, 0, 1), flat); });
    c.grad(4, [&] { return sum(of_state, {0}); });
  }
};
CG_OP(
    "rnn_layer", RnnLayer,
    "States h (time, batch, units) of a recurrent layer, and of an LSTM its cells, from the input's part of the gates "
    "x (time, batch, gates), the first h, the first cells (LSTM) and the state's weight (gates, units) and bias. "
    "mode: lstm (`order` as in the op lstm), gru, rnn_tanh, rnn_relu. reverse: from the last step to the first.")

}  // namespace
}  // namespace cg
