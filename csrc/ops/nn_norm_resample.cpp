// Interpolation along one axis: each result is a weighted sum of a few elements.
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/zeros.h>

#include "kernels/raw.h"
#include "ops/functions.h"

namespace cg {
namespace {

// `index`: (taps, results) positions; `weight`: the same shape, or none where all are 1.
struct Taps {
  int64_t axis = 0;
  Tensor index;
  std::optional<Tensor> weight;

  int64_t count() const { return index.size(0); }
  int64_t results() const { return index.size(1); }
  Ints resized(const Tensor& x, int64_t n) const {
    Ints r = ints(x.sizes());
    r[axis] = n;
    return r;
  }
  // f(position in x, position in y, weight, length of the run, first tap?) for all pairs; x has n elements along the
  // axis.
  template <class S, class F>
  void for_pairs(at::IntArrayRef shape, int64_t n, F&& f) const {
    int64_t outer = 1, inner = 1;
    for (int64_t a = 0; a < axis; ++a) outer *= shape[a];
    for (int64_t a = axis + 1; a < static_cast<int64_t>(shape.size()); ++a) inner *= shape[a];
    const Tensor at_ = index.contiguous(), w_ = weight ? weight->to(at::kDouble).contiguous() : Tensor();
    const int64_t *at = at_.const_data_ptr<int64_t>(), m = results(), taps = count();
    const double* w = w_.defined() ? w_.const_data_ptr<double>() : nullptr;
    at::parallel_for(0, outer, std::max<int64_t>(1, 32768 / std::max<int64_t>(1, m * inner)),
                     [&](int64_t begin, int64_t end) {
                       for (int64_t o = begin; o < end; ++o)
                         for (int64_t k = 0; k < taps; ++k)
                           for (int64_t i = 0; i < m; ++i)
                             f((o * n + at[k * m + i]) * inner, (o * m + i) * inner,
                               static_cast<S>(w ? w[k * m + i] : 1), inner, k == 0);
                     });
  }
  Tensor tap(int64_t k, const Tensor& like) const { return index.select(0, k).to(like.device()); }
  Tensor factor(int64_t k, const Tensor& like) const {
    Ints shape(like.dim(), 1);
    shape[axis] = results();
    return weight->select(0, k).to(like.options()).reshape(shape);
  }
};

#define CG_TAPS(OP) required("axis", &OP::axis), required("index", &OP::index), param("weight", &OP::weight)

struct ResampleGrad : Taps {
  int64_t size = 0;
  static constexpr auto params() {
    return std::make_tuple(CG_TAPS(ResampleGrad), required("size", &ResampleGrad::size));
  }
  static constexpr unsigned saves = 0;
  Tensor forward(const Tensor& gy) {
    const Ints shape = resized(gy, size);
    if (gy.is_meta()) return at::empty(shape, gy.options());
    Tensor gx = at::zeros(shape, gy.options());
    if (kernels::raw(gy)) {
      kernels::with_dtype(gy, [&](auto zero) {
        using S = decltype(zero);
        const Tensor from = gy.contiguous();
        const S* g = from.const_data_ptr<S>();
        S* out = gx.mutable_data_ptr<S>();
        for_pairs<S>(shape, size, [=](int64_t x, int64_t y, S w, int64_t n, bool) {
          for (int64_t j = 0; j < n; ++j) out[x + j] += w * g[y + j];
        });
      });
      return gx;
    }
    for (int64_t k = 0; k < count(); ++k) gx.index_add_(axis, tap(k, gy), weight ? gy * factor(k, gy) : gy);
    return gx;
  }
  template <class T>
  void backward(Ctx<T>& c);
};

struct Resample : Taps {
  static constexpr auto params() { return std::make_tuple(CG_TAPS(Resample)); }
  static constexpr unsigned saves = 0;
  Tensor forward(const Tensor& x) {
    const Ints shape = resized(x, results());
    if (x.is_meta()) return at::empty(shape, x.options());
    if (kernels::raw(x)) {
      Tensor y = at::empty(shape, x.options());
      kernels::with_dtype(x, [&](auto zero) {
        using S = decltype(zero);
        const Tensor from = x.contiguous();
        const S* in = from.const_data_ptr<S>();
        S* out = y.mutable_data_ptr<S>();
        for_pairs<S>(shape, x.size(axis), [=](int64_t a, int64_t b, S w, int64_t n, bool first) {
          if (first)
            for (int64_t j = 0; j < n; ++j) out[b + j] = w * in[a + j];
          else
            for (int64_t j = 0; j < n; ++j) out[b + j] += w * in[a + j];
        });
      });
      return y;
    }
    Tensor y;
    for (int64_t k = 0; k < count(); ++k) {
      Tensor part = at::index_select(x, axis, tap(k, x));
      if (weight) part = part * factor(k, x);
      y = y.defined() ? y + part : part;
    }
    return y;
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return run(ResampleGrad{*this, c.in_sizes(0)[axis]}, c.gy()); });
  }
};
template <class T>
void ResampleGrad::backward(Ctx<T>& c) {
  c.grad(0, [&] { return run(Resample{*this}, c.gy()); });
}
CG_OP("nn_resample", Resample,
      "Element i along `axis` of the result is the sum of weight[k, i] times element index[k, i] of x.")
CG_OP("nn_resample_grad", ResampleGrad, "The gradient of nn_resample: to `size` elements along the axis.")

}  // namespace
}  // namespace cg
