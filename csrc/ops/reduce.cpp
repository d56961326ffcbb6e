// Reductions.
#include <ATen/ops/amax.h>
#include <ATen/ops/amin.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/var.h>

#include <numeric>

#include "core/deferred.h"
#include "ops/axes.h"
#include "ops/few.h"

namespace cg {
namespace {

// Whether a reduction over `axis` leaves one element.
bool takes_all(const Axes& axis, size_t ndim) {
  if (!axis) return true;
  uint64_t seen = 0;
  for (int64_t a : *axis)
    if (a = a < 0 ? a + static_cast<int64_t>(ndim) : a; a >= 0 && a < 64) seen |= uint64_t(1) << a;
  return axis->size() == ndim && ndim < 64 && seen == (uint64_t(1) << ndim) - 1;
}

// The sum of up to 4096 numbers.
template <class T>
struct BlockSum {
  static constexpr int64_t kNumbers = 1 << 12, kLanes = 64;
  const T* x;
  int64_t n;
  double* to;
  CG_INLINE void run() const {
    T lanes[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      CG_IVDEP
      for (int64_t l = 0; l < kLanes; ++l) lanes[l] += x[i + l];
    }
    double total = 0;
    for (int64_t l = 0; l < kLanes; ++l) total += lanes[l];
    for (; i < n; ++i) total += x[i];
    *to = total;
  }
};
// The sum of all elements, for which ATen takes ten times as long if they are few; none if ATen has to compute.
std::optional<double> total(const Tensor& x) {
  if (!few::ordinary(x) || !few::nobody_watches()) return {};
  return kernels::with_dtype(x, [&]<class T>(T) {
    using Block = BlockSum<T>;
    const int64_t n = x.numel();
    c10::SmallVector<double, 8> sums((n + Block::kNumbers - 1) / Block::kNumbers);  // the same with any threads
    const T* const from = x.const_data_ptr<T>();
    kernels::in_threads(static_cast<int64_t>(sums.size()), kernels::kGrain / Block::kNumbers,
                        [&](int64_t begin, int64_t end) {
                          for (int64_t i = begin, k = i * Block::kNumbers; i < end; ++i, k += Block::kNumbers)
                            kernels::detail::run_loop(Block{from + k, std::min(n - k, Block::kNumbers), &sums[i]});
                        });
    return std::accumulate(sums.begin(), sums.end(), 0.0);
  });
}
// A tensor of one number, of the dtype and the number of axes of a reduction of x.
Tensor single(double value, const Tensor& x, bool keepdims) {
  Tensor y =
      at::detail::empty_cpu(Ints(keepdims ? x.dim() : 0, 1), x.scalar_type(), /*pin_memory=*/false, std::nullopt);
  kernels::with_dtype(y, [&]<class T>(T) { *y.mutable_data_ptr<T>() = static_cast<T>(value); });
  return y;
}

struct Sum {
  CG_REDUCTION_PARAMS(Sum)
  static constexpr Mask saves = 0;
  Tensor infer(const Tensor& x) const {
    if (none(axis)) return x;
    const bool whole = at::isIntegralType(x.scalar_type(), /*includeBool=*/true);
    return hollow(reduced_sizes(x.sizes(), axis, keepdims), whole ? at::kLong : x.scalar_type(), x.device());
  }
  Tensor forward(const Tensor& x) {
    if (none(axis)) return x.clone();
    if (takes_all(axis, x.dim()))
      if (const auto all = total(x)) return single(*all, x, keepdims);
    return at::sum(x, or_all(axis), keepdims);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return broadcasted(restore_axes(c.gy(), c.in_sizes(0), axis, keepdims), c.in_sizes(0)); });
  }
};
CG_OP("sum", Sum, "Sum over axis (None: all).")

struct Mean {
  CG_REDUCTION_PARAMS(Mean)
  static constexpr Mask saves = 0;
  Tensor infer(const Tensor& x) const {
    return none(axis) ? x : hollow(reduced_sizes(x.sizes(), axis, keepdims), x.scalar_type(), x.device());
  }
  Tensor forward(const Tensor& x) {
    if (none(axis)) return x.clone();
    if (x.numel() && takes_all(axis, x.dim()))
      if (const auto all = total(x)) {
        // Rounded before the division: a sum beyond the largest float is infinite
        const bool single_precision = x.scalar_type() == at::kFloat;
        return single((single_precision ? static_cast<float>(*all) : *all) / static_cast<double>(x.numel()), x,
                      keepdims);
      }
    return at::mean(x, or_all(axis), keepdims);
  }
  // The gradient of few floats of which all were averaged; undefined for others.
  Tensor spread(const Tensor& gy, at::IntArrayRef sizes) const {
    const int64_t n = c10::multiply_integers(sizes);
    if (!few::takes(gy) || gy.scalar_type() != at::kFloat || n < 1 || n > few::kMost ||
        !takes_all(axis, sizes.size()) || !few::nobody_watches())
      return {};
    Tensor gx = at::detail::empty_cpu(sizes, at::kFloat, /*pin_memory=*/false, std::nullopt);
    const float g = *gy.const_data_ptr<float>() * static_cast<float>(1.0 / static_cast<double>(n));
    std::fill_n(gx.mutable_data_ptr<float>(), n, g);
    return gx;
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&]() -> T {
      const at::IntArrayRef sizes = c.in_sizes(0);
      if constexpr (std::is_same_v<T, Tensor>)
        if (Tensor gx = spread(c.gy(), sizes); gx.defined()) return gx;
      // A gradient without elements has the factor 1: its own gradient would be 0 / 0.
      const T g = c.gy() * (1.0 / static_cast<double>(std::max<int64_t>(reduced_elements(sizes, axis), 1)));
      return broadcasted(restore_axes(g, sizes, axis, keepdims), sizes);
    });
  }
};
CG_OP("mean", Mean, "Arithmetic mean over axis (None: all).")

struct Variance {
  Axes axis;
  double ddof = 0;
  bool keepdims = false;
  static constexpr auto params() {
    return std::make_tuple(param("axis", &Variance::axis), param("ddof", &Variance::ddof),
                           param("keepdims", &Variance::keepdims));
  }
  static constexpr Mask saves = in_bit(0);
  Tensor forward(const Tensor& x) {
    if (none(axis)) return (x - x).div_(1 - ddof);
    return at::var(x, or_all(axis), at::Scalar(ddof), keepdims);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] {
      const at::IntArrayRef sizes = c.in_sizes(0);
      const Ints axes = listed(axis, sizes.size());
      const T x = c.in(0);
      const T deviation = axes.empty() ? x - x : x - mean(x, axes, true);
      const T g = c.gy() * (2.0 / (static_cast<double>(reduced_elements(sizes, axis)) - ddof));
      return deviation * restore_axes(g, sizes, axis, keepdims);
    });
  }
};
CG_OP("var", Variance, "Variance over axis (None: all); divides by n - ddof.")

// Every element that equals the extremum gets the gradient.
template <class Op>
struct AxisExtremum {
  static constexpr Mask saves = in_bit(0) | out_bit(0);
  template <class T>
  void backward(Ctx<T>& c) {
    const auto& op = static_cast<const Op&>(*this);
    c.grad(0, [&] {
      const auto axis = op.axis;
      const bool keepdims = op.keepdims;
      const auto ties = [axis, keepdims](const Tensor& x, const Tensor& y) {
        return at::eq(x, restore_axes(y, x.sizes(), axis, keepdims));
      };
      return restore_axes(c.gy(), c.in_sizes(0), axis, keepdims) * frozen(ties, c.in(0), c.out(0));
    });
  }
};

struct Max : AxisExtremum<Max> {
  CG_REDUCTION_PARAMS(Max)
  Tensor forward(const Tensor& x) { return none(axis) ? x.clone() : at::amax(x, listed(axis, x.dim()), keepdims); }
};
CG_OP("max", Max, "Largest element over axis (None: all); all equal largest elements get the gradient.")

struct Min : AxisExtremum<Min> {
  CG_REDUCTION_PARAMS(Min)
  Tensor forward(const Tensor& x) { return none(axis) ? x.clone() : at::amin(x, listed(axis, x.dim()), keepdims); }
};
CG_OP("min", Min, "Smallest element over axis (None: all); all equal smallest elements get the gradient.")

struct LogSumExp {
  CG_REDUCTION_PARAMS(LogSumExp)
  static constexpr Mask saves = in_bit(0) | out_bit(0);
  Tensor forward(const Tensor& x) { return none(axis) ? x.clone() : at::logsumexp(x, listed(axis, x.dim()), keepdims); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] {
      const auto restored = [&](const T& y) { return restore_axes(y, c.in_sizes(0), axis, keepdims); };
      return restored(c.gy()) * exp(c.in(0) - restored(c.out(0)));
    });
  }
};
CG_OP("logsumexp", LogSumExp, "log(sum(exp(x))) over axis (None: all) without overflow.")

}  // namespace

Var sum(const Var& x, at::IntArrayRef axes, bool keepdim) { return run(Sum{ints(axes), keepdim}, x); }
Var mean(const Var& x, at::IntArrayRef axes, bool keepdim) { return run(Mean{ints(axes), keepdim}, x); }

}  // namespace cg
