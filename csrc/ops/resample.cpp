// Interpolation along one axis: each result is a weighted sum of a few elements.
#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/zeros.h>

#include <vector>

#include "kernels/raw.h"
#include "kernels/simd.h"
#include "kernels/threads.h"
#include "ops/functions.h"

namespace cg {
namespace {

template <class S>
CG_INLINE void mix_run(int64_t n, S* to, const S* a, S wa, const S* b, S wb) {
  CG_IVDEP
  for (int64_t j = 0; j < n; ++j) to[j] = wa * a[j] + wb * b[j];
}
template <class S>
CG_INLINE void add_run(int64_t n, S* to, const S* a, S wa) {
  CG_IVDEP
  for (int64_t j = 0; j < n; ++j) to[j] += wa * a[j];
}
#define CG_RUNS(S)                                                                                         \
  CG_SIMD void mix(int64_t n, S* to, const S* a, S wa, const S* b, S wb) { mix_run(n, to, a, wa, b, wb); } \
  CG_SIMD void accumulate(int64_t n, S* to, const S* a, S wa) { add_run(n, to, a, wa); }
CG_RUNS(float)
CG_RUNS(double)

// `index`: (taps, results) positions; `weight`: the same shape, or undefined if all weights are 1.
struct Taps {
  int64_t axis = 0;
  Tensor index;
  std::optional<Tensor> weight;
  static constexpr auto stored() {
    return std::make_tuple(param("index", &Taps::index), param("weight", &Taps::weight));
  }

  int64_t count() const { return index.size(0); }
  int64_t results() const { return index.size(1); }
  // The shape of x with `n` elements along the axis, after checking that x has `from` there.
  Ints resized(const Tensor& x, int64_t n, int64_t from) const {
    TORCH_CHECK_VALUE(axis >= 0 && axis < x.dim() && index.dim() == 2 && count() > 0 && n >= 0 &&
                          x.size(axis) == from && (!weight || weight->sizes() == index.sizes()),
                      "resample: index ", index.sizes(), " along axis ", axis, " does not fit shape ", x.sizes());
    Ints r = ints(x.sizes());
    r[axis] = n;
    return r;
  }
  // Lines of x have `size` elements, lines of y `results()`; an element consists of `inner` adjacent numbers.
  template <class S>
  struct Lines {
    int64_t outer = 1, size, results, inner = 1, taps;
    std::vector<int64_t> at;
    std::vector<S> weight;  // empty: one tap of weight 1

    template <class F>
    void each(F&& f) const {
      kernels::in_threads(outer, std::max<int64_t>(1, kernels::kGrain / std::max<int64_t>(1, results * inner)),
                          [&](int64_t begin, int64_t end) {
                            for (int64_t o = begin; o < end; ++o) f(o * size * inner, o * results * inner);
                          });
    }
    void read(const S* x, S* y) const {
      const int64_t m = results, *p = at.data(), *q = p + m;
      const S *w = weight.data(), *v = w + m;
      each([&](int64_t in, int64_t out) {
        const S* from = x + in;
        S* to = y + out;
        if (inner == 1) {
          if (weight.empty())
            for (int64_t i = 0; i < m; ++i) to[i] = from[p[i]];
          else if (taps == 2)
            for (int64_t i = 0; i < m; ++i) to[i] = w[i] * from[p[i]] + v[i] * from[q[i]];
          else
            for (int64_t i = 0; i < m; ++i) {
              to[i] = w[i] * from[p[i]];
              for (int64_t k = 1; k < taps; ++k) to[i] += w[k * m + i] * from[p[k * m + i]];
            }
          return;
        }
        for (int64_t i = 0; i < m; ++i, to += inner) {
          if (weight.empty()) {
            std::copy_n(from + p[i] * inner, inner, to);
            continue;
          }
          const S* first = from + p[i] * inner;
          if (taps > 1) {
            mix(inner, to, first, w[i], from + q[i] * inner, v[i]);
          } else {
            std::fill_n(to, inner, S(0));
            accumulate(inner, to, first, w[i]);
          }
          for (int64_t k = 2; k < taps; ++k) accumulate(inner, to, from + p[k * m + i] * inner, w[k * m + i]);
        }
      });
    }
    void add(const S* gy, S* gx) const {
      each([&](int64_t out, int64_t in) {
        for (int64_t k = 0; k < taps; ++k)
          for (int64_t i = 0; i < results; ++i) {
            const S *run = gy + in + i * inner, scale = weight.empty() ? S(1) : weight[k * results + i];
            S* to = gx + out + at[k * results + i] * inner;
            if (inner == 1)
              *to += scale * *run;
            else
              accumulate(inner, to, run, scale);
          }
      });
    }
  };
  template <class S>
  Lines<S> lines(at::IntArrayRef shape, int64_t size) const {
    Lines<S> r{1, size, results(), 1, count(), {}, {}};
    for (int64_t a = 0; a < static_cast<int64_t>(shape.size()); ++a)
      if (a != axis) (a < axis ? r.outer : r.inner) *= shape[a];
    const Tensor positions = index.to(at::kCPU).contiguous();
    r.at.assign(positions.const_data_ptr<int64_t>(), positions.const_data_ptr<int64_t>() + positions.numel());
    for (int64_t i : r.at)
      TORCH_CHECK_INDEX(i >= 0 && i < size, "resample: index ", i, " is out of range for ", size, " elements");
    if (weight) {
      const Tensor w = weight->to(at::kCPU, c10::CppTypeToScalarType<S>::value).contiguous();
      r.weight.assign(w.const_data_ptr<S>(), w.const_data_ptr<S>() + w.numel());
    } else if (count() > 1) {
      r.weight.assign(r.at.size(), S(1));
    }
    return r;
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
  static constexpr Mask saves = 0;
  Tensor forward(const Tensor& gy) {
    const Ints shape = resized(gy, size, results());
    if (gy.is_meta()) return at::empty(shape, gy.options());
    Tensor gx = at::zeros(shape, gy.options());
    if (kernels::raw(gy)) {
      kernels::with_dtype(gy, [&](auto zero) {
        using S = decltype(zero);
        const Tensor from = gy.contiguous();
        lines<S>(shape, size).add(from.const_data_ptr<S>(), gx.mutable_data_ptr<S>());
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
  static constexpr Mask saves = 0;
  Tensor forward(const Tensor& x) {
    const int64_t length = axis >= 0 && axis < x.dim() ? x.size(axis) : 0;
    const Ints shape = resized(x, results(), length);
    if (x.is_meta()) return at::empty(shape, x.options());
    if (kernels::raw(x)) {
      Tensor y = at::empty(shape, x.options());
      kernels::with_dtype(x, [&](auto zero) {
        using S = decltype(zero);
        const Tensor from = x.contiguous();
        lines<S>(shape, x.size(axis)).read(from.const_data_ptr<S>(), y.mutable_data_ptr<S>());
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
CG_OP("resample", Resample,
      "Element i along `axis` of the result is the sum of weight[k, i] times element index[k, i] of x.")
CG_OP("resample_grad", ResampleGrad, "The gradient of resample, for `size` elements along the axis.")

}  // namespace
}  // namespace cg
