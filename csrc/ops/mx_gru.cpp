// One step of a GRU, with the gates of the state apart from those of the input.
#include "ops/mx_gru.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "kernels/raw.h"
#include "kernels/simd.h"
#include "ops/index.h"

namespace cg {
namespace {

// Gates r, z, n lie one after another along the second axis of x and s, (batch, 3 * units):
//   r = logistic(x + s), z = logistic(x + s), n = tanh(x + r s), h' = n + z (h - n).
template <class T>
CG_INLINE void forward_row(int64_t units, const T* __restrict h, const T* __restrict x, const T* __restrict s,
                           T* __restrict y) {
  CG_IVDEP
  for (int64_t u = 0; u < units; ++u) {
    const T r = simd::sigmoid(x[u] + s[u]), z = simd::sigmoid(x[units + u] + s[units + u]);
    const T n = simd::tanh(x[2 * units + u] + r * s[2 * units + u]);
    y[u] = n + z * (h[u] - n);
  }
}
template <class T>
CG_INLINE void backward_row(int64_t units, const T* __restrict h, const T* __restrict x, const T* __restrict s,
                            const T* __restrict gy, T* __restrict gh, T* __restrict gx, T* __restrict gs) {
  CG_IVDEP
  for (int64_t u = 0; u < units; ++u) {
    const int64_t v = units + u, w = 2 * units + u;
    const T r = simd::sigmoid(x[u] + s[u]), z = simd::sigmoid(x[v] + s[v]), n = simd::tanh(x[w] + r * s[w]);
    const T gn = gy[u] * (1 - z) * (1 - n * n);
    gh[u] = gy[u] * z;
    gx[w] = gn;
    gs[w] = gn * r;
    gx[u] = gs[u] = gn * s[w] * r * (1 - r);
    gx[v] = gs[v] = gy[u] * (h[u] - n) * z * (1 - z);
  }
}
#define CG_GRU(T)                                                                                                   \
  CG_SIMD void run_rows(int64_t rows, int64_t units, const T* h, const T* x, const T* s, T* y) {                    \
    for (int64_t k = 0; k < rows; ++k)                                                                              \
      forward_row(units, h + k * units, x + 3 * k * units, s + 3 * k * units, y + k * units);                       \
  }                                                                                                                 \
  CG_SIMD void run_rows(int64_t rows, int64_t units, const T* h, const T* x, const T* s, const T* gy, T* gh, T* gx, \
                        T* gs) {                                                                                    \
    for (int64_t k = 0; k < rows; ++k) {                                                                            \
      const int64_t a = k * units, b = 3 * a;                                                                       \
      backward_row(units, h + a, x + b, s + b, gy + a, gh + a, gx + b, gs + b);                                     \
    }                                                                                                               \
  }
CG_GRU(float)
CG_GRU(double)
#undef CG_GRU

bool dense(const Tensor& h, const Tensor& x, const Tensor& s) { return kernels::raw(h, x) && kernels::raw(h, s); }

template <class T>
struct GRUCell {
  T r, z, n, s_n;

  static T part(const T& x, int64_t k) {
    const int64_t units = x.size(1) / 3;
    return get_item(x, along(1, k * units, (k + 1) * units));
  }
  GRUCell(const T& x, const T& s)
      : r(sigmoid(part(x, 0) + part(s, 0))),
        z(sigmoid(part(x, 1) + part(s, 1))),
        n(tanh(part(x, 2) + r * part(s, 2))),
        s_n(part(s, 2)) {}
};

template <class T>
T joined(const T& r, const T& z, const T& n) {
  const T parts[] = {r, z, n};
  return concat(c10::ArrayRef<T>(parts), 1);
}
template <class T>
std::array<T, 3> formulas(const T& h, const T& x, const T& s, const T& gy) {
  const GRUCell<T> k(x, s);
  const T gn = gy * (1.0 - k.z) * (1.0 - k.n * k.n);
  const T gr = gn * k.s_n * k.r * (1.0 - k.r), gz = gy * (h - k.n) * k.z * (1.0 - k.z);
  return {gy * k.z, joined(gr, gz, gn), joined(gr, gz, gn * k.r)};
}

}  // namespace

Tensor gru(const Tensor& h, const Tensor& x, const Tensor& s) {
  TORCH_CHECK_VALUE(
      h.dim() == 2 && x.dim() == 2 && x.sizes() == s.sizes() && x.size(0) == h.size(0) && x.size(1) == 3 * h.size(1),
      "gru: gates of shapes ", x.sizes(), " and ", s.sizes(), " do not fit h of shape ", h.sizes());
  if (!dense(h, x, s)) {
    const GRUCell<Tensor> k(x, s);
    return k.n + k.z * (h - k.n);
  }
  const Tensor a = h.contiguous(), b = x.contiguous(), c = s.contiguous(), y = at::empty(h.sizes(), h.options());
  kernels::with_dtype(h, [&]<class V>(V) {
    run_rows(h.size(0), h.size(1), a.const_data_ptr<V>(), b.const_data_ptr<V>(), c.const_data_ptr<V>(),
             y.mutable_data_ptr<V>());
  });
  return y;
}
std::array<Tensor, 3> gru_grads(const Tensor& h, const Tensor& x, const Tensor& s, const Tensor& gy) {
  if (!dense(h, x, s) || !kernels::raw(h, gy)) return formulas(h, x, s, gy);
  const Tensor a = h.contiguous(), b = x.contiguous(), d = s.contiguous(), g = gy.contiguous();
  const Tensor gh = at::empty_like(a), gx = at::empty_like(b), gs = at::empty_like(d);
  kernels::with_dtype(h, [&]<class V>(V) {
    run_rows(h.size(0), h.size(1), a.const_data_ptr<V>(), b.const_data_ptr<V>(), d.const_data_ptr<V>(),
             g.const_data_ptr<V>(), gh.mutable_data_ptr<V>(), gx.mutable_data_ptr<V>(), gs.mutable_data_ptr<V>());
  });
  return {gh, gx, gs};
}
std::array<Var, 3> gru_grads(const Var& h, const Var& x, const Var& s, const Var& gy) { return formulas(h, x, s, gy); }

namespace {

struct GRU {
  static constexpr unsigned saves = in_bit(0) | in_bit(1) | in_bit(2);

  Tensor forward(const Tensor& h, const Tensor& x, const Tensor& s) { return gru(h, x, s); }
  template <class T>
  void backward(Ctx<T>& c) {
    const std::array<T, 3> g = gru_grads(c.in(0), c.in(1), c.in(2), c.gy());
    for (size_t i = 0; i < 3; ++i) c.grad(i, [&] { return g[i]; });
  }
};
CG_OP("gru", GRU,
      "One step of a GRU from h, the gates of the input and those of h, each r, z, n along the second axis: r = "
      "logistic(x + s), z = logistic(x + s), n = tanh(x + r s), h' = n + z (h - n).")

}  // namespace
}  // namespace cg
