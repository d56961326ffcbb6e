#include "kernels/lstm.h"

#include "kernels/raw.h"
#include "kernels/simd.h"

namespace cg::kernels {
namespace {

using simd::sigmoid;
using simd::tanh;

// Calls f(element, index of gate a); gate k is `rest` * k further. Without further axes the gates of a unit are
// neighbours, which vector code reads in one go.
template <class F>
CG_INLINE void each(int64_t units, int64_t rest, F&& f) {
  if (rest == 1) {
    CG_IVDEP
    for (int64_t u = 0; u < units; ++u) f(u, 4 * u, int64_t(1));
  } else {
    for (int64_t u = 0; u < units; ++u) CG_IVDEP
    for (int64_t k = 0; k < rest; ++k) f(u * rest + k, u * 4 * rest + k, rest);
  }
}

template <class T>
CG_INLINE void forward(int64_t units, int64_t rest, const T* __restrict c, const T* __restrict x, T* __restrict c_next,
                       T* __restrict h) {
  each(units, rest, [=](int64_t e, int64_t at, int64_t gate) __attribute__((always_inline)) {
    const T a = tanh(x[at]), i = sigmoid(x[at + gate]), f = sigmoid(x[at + 2 * gate]), o = sigmoid(x[at + 3 * gate]);
    const T next = a * i + f * c[e];
    c_next[e] = next;
    h[e] = o * tanh(next);
  });
}

template <bool has_gc, bool has_gh, class T>
CG_INLINE void backward(int64_t units, int64_t rest, const T* __restrict c, const T* __restrict x,
                        const T* __restrict c_next, const T* __restrict gc_next, const T* __restrict gh,
                        T* __restrict gc, T* __restrict gx) {
  each(units, rest, [=](int64_t e, int64_t at, int64_t gate) __attribute__((always_inline)) {
    const T a = tanh(x[at]), i = sigmoid(x[at + gate]), f = sigmoid(x[at + 2 * gate]), o = sigmoid(x[at + 3 * gate]);
    T g = 0, go = 0;
    if (has_gh) {
      const T y = tanh(c_next[e]);
      g = gh[e] * o * (1 - y * y);
      go = gh[e] * y * o * (1 - o);
    }
    if (has_gc) g += gc_next[e];
    gx[at] = g * i * (1 - a * a);
    gx[at + gate] = g * a * i * (1 - i);
    gx[at + 2 * gate] = g * c[e] * f * (1 - f);
    gx[at + 3 * gate] = go;
    gc[e] = g * f;
  });
}

#define CG_LSTM(T)                                                                                         \
  CG_SIMD void run(int64_t units, int64_t rest, const T* c, const T* x, T* c_next, T* h) {                 \
    forward(units, rest, c, x, c_next, h);                                                                 \
  }                                                                                                        \
  CG_SIMD void run(int64_t units, int64_t rest, const T* c, const T* x, const T* c_next, const T* gc_next, \
                   const T* gh, T* gc, T* gx) {                                                            \
    if (gc_next && gh)                                                                                     \
      backward<true, true>(units, rest, c, x, c_next, gc_next, gh, gc, gx);                                \
    else if (gh)                                                                                           \
      backward<false, true>(units, rest, c, x, c_next, gc_next, gh, gc, gx);                               \
    else                                                                                                   \
      backward<true, false>(units, rest, c, x, c_next, gc_next, gh, gc, gx);                               \
  }
CG_LSTM(float)
CG_LSTM(double)
#undef CG_LSTM

struct Sizes {
  int64_t units, rest, ended;  // all units of the running samples, further axes, elements of the ended samples
  Sizes(const at::Tensor& c, const at::Tensor& x) {
    const int64_t batch = x.size(0), per_sample = c.numel() / std::max<int64_t>(c.size(0), 1);
    units = batch * c.size(1);
    rest = per_sample / std::max<int64_t>(c.size(1), 1);
    ended = (c.size(0) - batch) * per_sample;
  }
};

}  // namespace

void lstm(const at::Tensor& c, const at::Tensor& x, const at::Tensor& c_next, const at::Tensor& h) {
  with_dtype(c, [&]<class T>(T) {
    const Sizes s(c, x);
    const T* from = c.const_data_ptr<T>();
    T* to = c_next.data_ptr<T>();
    run(s.units, s.rest, from, x.const_data_ptr<T>(), to, h.data_ptr<T>());
    const int64_t n = s.units * s.rest;
    std::copy(from + n, from + n + s.ended, to + n);
  });
}

void lstm_grad(const at::Tensor& c, const at::Tensor& x, const at::Tensor& c_next, const at::Tensor& gc_next,
               const at::Tensor& gh, const at::Tensor& gc, const at::Tensor& gx) {
  with_dtype(c, [&]<class T>(T) {
    const Sizes s(c, x);
    const T* from = gc_next.defined() ? gc_next.const_data_ptr<T>() : nullptr;
    T* to = gc.data_ptr<T>();
    run(s.units, s.rest, c.const_data_ptr<T>(), x.const_data_ptr<T>(), c_next.const_data_ptr<T>(), from,
        gh.defined() ? gh.const_data_ptr<T>() : nullptr, to, gx.data_ptr<T>());
    const int64_t n = s.units * s.rest;
    if (from)
      std::copy(from + n, from + n + s.ended, to + n);
    else
      std::fill(to + n, to + n + s.ended, T(0));
  });
}

}  // namespace cg::kernels
