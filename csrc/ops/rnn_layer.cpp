// One layer of a recurrent network in one direction, over all time steps.
//
// Only operations that depend on the previous state run step by step; the gradient of each weight is one product. The
// gates of each step are an output, too: backward reads them, in plain and in recorded passes, and computes no product
// again.
#include <ATen/ops/add.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/stack.h>

#include "core/deferred.h"
#include "core/named.h"
#include "ops/dense_product.h"
#include "ops/gates.h"

namespace cg {
namespace {

// Collects the rows of the steps, in either order of time.
template <class T>
class Rows {
 public:
  Rows() = default;
  // `like`: if defined, the rows are parts of one tensor of its dtype and device, into which they may be written.
  Rows(int64_t time, at::IntArrayRef row, const Tensor& like) : rows_(time) {
    if constexpr (std::is_same_v<T, Tensor>)
      if (like.defined()) {
        Ints shape{time};
        shape.append(row.begin(), row.end());
        all_ = at::empty(shape, like.options());
        for (int64_t t = 0; t < time; ++t) rows_[t] = all_.select(0, t);
      }
  }
  Tensor memory(int64_t t) const {
    if constexpr (std::is_same_v<T, Tensor>) return all_.defined() ? rows_[t] : Tensor();
    return {};
  }
  void put(int64_t t, const T& y) {
    if constexpr (std::is_same_v<T, Tensor>)
      if (all_.defined()) {
        if (!y.is_same(rows_[t])) rows_[t].copy_(y);
        return;
      }
    rows_[t] = y;
  }
  T all() const {
    if constexpr (std::is_same_v<T, Tensor>) return all_.defined() ? all_ : at::stack(rows_);
    std::vector<T> parts;
    for (const T& r : rows_) parts.push_back(reshape(r, {1, r.size(0), r.size(1)}));
    return concat(c10::ArrayRef<T>(parts), 0);
  }

 private:
  std::vector<T> rows_;
  Tensor all_;
};

// a b, plus `more` if it is defined; written into `memory` if that is defined.
Tensor product(const Tensor& more, const Tensor& a, const Tensor& b, Tensor memory = {}) {
  if (!memory.defined()) return more.defined() ? at::addmm(more, a, b) : at::mm(a, b);
  return more.defined() ? at::addmm_out(memory, more, a, b) : at::mm_out(memory, a, b);
}
Var product(const Var& more, const Var& a, const Var& b) { return more.defined() ? more + matmul(a, b) : matmul(a, b); }
template <class T>
T sum_of(const T& a, const T& b) {
  return !value(a).defined() ? b : !value(b).defined() ? a : a + b;
}
template <class T>
T at_step(const T& x, int64_t t) {
  if constexpr (std::is_same_v<T, Tensor>) return x.select(0, t);
  return get_item(x, Index{IndexItem::integer(t)});
}
// Contiguous, because each step multiplies by it.
Tensor dense(const Tensor& weight) { return weight.contiguous(); }
Var dense(const Var& weight) { return weight; }
// The weight's transpose, by which each step multiplies. MKL rearranges a matrix in each product unless its rows are
// contiguous: 32 rows of 256 numbers by 1,024 others take 133 instead of 94 us. To transpose it takes as long as six
// steps save.
Tensor transposed(const Tensor& weight, int64_t time) {
  constexpr int64_t kSteps = 8;
  const bool once = time >= kSteps && weight.device().is_cpu() && !mkl_is_slow();
  return once ? weight.t().contiguous() : dense(weight).t();
}
template <class T>
T flat(const T& x) {
  return reshape(x, {x.size(0) * x.size(1), x.size(2)});
}

struct RnnLayer {
  static constexpr bool real = true;
  std::string mode = "lstm", order;
  bool reverse = false;
  static constexpr auto params() {
    return std::make_tuple(param("mode", &RnnLayer::mode), param("order", &RnnLayer::order),
                           param("reverse", &RnnLayer::reverse));
  }
  static constexpr Mask optional = in_bit(2) | in_bit(4);
  Mask saves_for(c10::ArrayRef<bool>) const {
    constexpr Mask always = in_bit(1) | in_bit(3) | out_bit(0);
    return lstm() ? always | in_bit(2) | out_bit(1) | out_bit(2) : gru() ? always | in_bit(0) | out_bit(1) : always;
  }
  bool lstm() const { return mode == "lstm"; }
  bool gru() const { return mode == "gru"; }
  int64_t place(int64_t step, int64_t time) const { return reverse ? time - 1 - step : step; }
  static cell::Layout of_gru(const Tensor& h) { return cell::Layout(h.sizes(), 1, {1, 3, 3}); }

  void check(const Tensor& x, const Tensor& h0, const Tensor& c0, const Tensor& w) const {
    TORCH_CHECK_VALUE(lstm() || gru() || mode == "rnn_tanh" || mode == "rnn_relu",
                      "rnn_layer: mode must be lstm, gru, rnn_tanh or rnn_relu, not ", mode);
    TORCH_CHECK_VALUE(x.dim() == 3 && h0.dim() == 2 && w.dim() == 2 && x.size(0) > 0 && x.size(1) == h0.size(0) &&
                          x.size(2) == w.size(0) && w.size(1) == h0.size(1) && c0.defined() == lstm() &&
                          x.size(2) == (lstm()  ? 4
                                        : gru() ? 3
                                                : 1) *
                                           h0.size(1) &&
                          (!lstm() || c0.sizes() == h0.sizes()),
                      "rnn_layer: x of shape ", x.sizes(), ", h of shape ", h0.sizes(), " and w of shape ", w.sizes(),
                      " do not fit together");
  }
  std::vector<Tensor> infer(const Tensor& x, const Tensor& h0, const Tensor& c0, const Tensor& w, const Tensor&) const {
    check(x, h0, c0, w);
    const auto rows = [&](int64_t width) { return hollow({x.size(0), x.size(1), width}, x.scalar_type(), x.device()); };
    std::vector<Tensor> r{rows(h0.size(1))};
    if (lstm()) r.push_back(rows(h0.size(1)));
    if (lstm() || gru()) r.push_back(rows(x.size(2)));
    return r;
  }
  std::vector<Tensor> forward(const Tensor& x, const Tensor& h0, const Tensor& c0, const Tensor& w, const Tensor& b) {
    check(x, h0, c0, w);
    const int64_t time = x.size(0);
    const Tensor like = kernels::takes(x) ? x : Tensor(), from_state = transposed(w, time);
    Rows<Tensor> hs(time, h0.sizes(), like), cs, gates;
    if (lstm()) cs = {time, h0.sizes(), like};
    if (lstm() || gru()) gates = {time, x.sizes().slice(1), like};
    // An LSTM's sums begin where its gates are returned; a bias of another shape could resize that memory.
    const bool usual = !b.defined() || (b.scalar_type() == x.scalar_type() && b.sizes() == x.sizes().slice(2));
    const bool in_place = lstm() && like.defined() && usual;
    Tensor inputs = x;
    if (in_place) {
      inputs = gates.all();
      b.defined() ? at::add_out(inputs, x, b) : inputs.copy_(x);
    } else if (b.defined() && !gru()) {
      inputs = x + b;
    }
    Tensor h = h0, c = c0;
    for (int64_t k = 0; k < time; ++k) {
      const int64_t t = place(k, time);
      const Tensor input = in_place ? gates.memory(t) : inputs.select(0, t);
      if (lstm()) {
        const Tensor s = product(input, h, from_state, gates.memory(t));
        const Tensor xs[] = {c, s}, memory[] = {cs.memory(t), hs.memory(t)};
        const auto y = cell::forward(cell::Lstm(), cell::Lstm::layout(c.sizes(), order), xs, 2, memory);
        gates.put(t, s);
        cs.put(t, c = y[0]);
        h = y[1];
      } else if (gru()) {
        const Tensor s = product(b, h, from_state, gates.memory(t));
        const Tensor xs[] = {h, input, s}, memory[] = {hs.memory(t)};
        gates.put(t, s);
        h = cell::forward(cell::Gru(), of_gru(h), xs, 1, memory)[0];
      } else {
        const Tensor s = product(input, h, from_state);
        h = mode == "rnn_tanh" ? at::tanh(s) : s.clamp_min(0);
      }
      hs.put(t, h);
    }
    std::vector<Tensor> r{hs.all()};
    if (lstm()) r.push_back(cs.all());
    if (lstm() || gru()) r.push_back(gates.all());
    return r;
  }

  // Gradients of the inputs of a cell.
  static cell::List<Tensor> of_lstm(const std::string& order, const Tensor& c, const Tensor& s, const Tensor& gc,
                                    const Tensor& gh, const Tensor& memory) {
    const Tensor xs[] = {c, s}, gys[] = {gc, gh}, into[] = {Tensor(), memory};
    return cell::backward(cell::Lstm(), cell::Lstm::layout(c.sizes(), order), xs, gys, into);
  }
  static Vars of_lstm(const std::string& order, const Var& c, const Var& s, const Var& gc, const Var& gh,
                      const Tensor&) {
    return Named(CG_NAMED("lstm_grad")).with("order", order).all(c, s, gc, gh);
  }
  static cell::List<Tensor> of_gru(const Tensor& h, const Tensor& x, const Tensor& s, const Tensor& gh,
                                   const Tensor& memory_x, const Tensor& memory_s) {
    const Tensor xs[] = {h, x, s}, gys[] = {gh}, into[] = {Tensor(), memory_x, memory_s};
    return cell::backward(cell::Gru(), of_gru(h), xs, gys, into);
  }
  static Vars of_gru(const Var& h, const Var& x, const Var& s, const Var& gh, const Tensor&, const Tensor&) {
    return Named(CG_NAMED("gru_grad")).all(h, x, s, gh);
  }

  template <class T>
  void backward(Ctx<T>& c) {
    const T w = dense(c.in(3)), y = c.out(0);
    const int64_t time = c.in_sizes(0)[0];
    const at::IntArrayRef row = c.in_sizes(0).slice(1);
    const size_t last = c.outputs() - 1;  // the output with the gates, if there is one
    const Tensor like = kernels::takes(value(y)) ? value(y) : Tensor();
    Rows<T> gx(time, row, like), gs;
    if (gru()) gs = {time, row, like};
    T gc, step, beside;  // gradients for the previous step: of c, of the state's part of the gates, and of h apart from
                         // the gates
    const auto of_state = [&](const T& more) {
      return value(step).defined() ? product(sum_of(more, beside), step, w) : more;
    };
    for (int64_t k = time - 1; k >= 0; --k) {
      const int64_t t = place(k, time), before = place(k - 1, time);
      T gh = of_state(value(c.gy(0)).defined() ? at_step(c.gy(0), t) : T());
      if (lstm()) {
        if (value(c.gy(1)).defined()) gc = sum_of(gc, at_step(c.gy(1), t));
        auto g = of_lstm(order, k ? at_step(c.out(1), before) : c.in(2), at_step(c.out(2), t), gc, gh, gx.memory(t));
        gc = g[0];
        step = g[1];
      } else if (gru()) {
        const T h = k ? at_step(y, before) : c.in(1);
        if (!value(gh).defined()) gh = zeros_as(h);
        auto g = of_gru(h, at_step(c.in(0), t), at_step(c.out(1), t), gh, gx.memory(t), gs.memory(t));
        beside = g[0];
        gx.put(t, g[1]);
        step = g[2];
      } else {
        const T h = at_step(y, t);
        step = mode == "rnn_tanh" ? tanh_backward(gh, h)
                                  : gh * frozen([](const Tensor& v) { return v.gt(0).to(v.scalar_type()); }, h);
      }
      if (last && value(c.gy(last)).defined()) step = step + at_step(c.gy(last), t);
      (gru() ? gs : gx).put(t, step);
    }
    const T all = gx.all(), by_state = gru() ? gs.all() : all;
    c.grad(0, [&] { return all; });
    c.grad(1, [&] { return of_state(T()); });
    c.grad(2, [&] { return gc; });
    c.grad(3, [&] {  // the states at the beginning of each step: the first state, then the results of the steps
      const T first = product(T(), transpose(at_step(by_state, place(0, time)), 0, 1), c.in(1));
      if (time == 1) return first;
      const auto earlier = along(0, reverse, time - !reverse), later = along(0, !reverse, time - reverse);
      return product(first, transpose(flat(get_item(by_state, later)), 0, 1), flat(get_item(y, earlier)));
    });
    c.grad(4, [&] { return sum(flat(by_state), {0}); });
  }
};
CG_OP("rnn_layer", RnnLayer,
      "States h (time, batch, units) of a recurrent layer; for an LSTM also its cells and the gates before activation; "
      "for a GRU also the state's part of the gates. Inputs: the input's part of the gates x (time, batch, gates), the "
      "first h, the first cells (LSTM), and the weight (gates, units) and bias of the state. mode: lstm (`order` as in "
      "the op lstm), gru, rnn_tanh, rnn_relu. reverse: from the last step to the first.")

struct AddApart {
  static constexpr Mask saves = 0;
  Tensor forward(const Tensor& a, const Tensor& b) { return at::add(a, b); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy(); });
    c.grad(1, [&] { return Named(CG_NAMED("copy"))(c.gy()); });
  }
};
CG_POINTWISE("add_apart", AddApart,
             "a + b, for example of the two biases of a gate; the gradients of a and b do not share memory.")

}  // namespace
}  // namespace cg
