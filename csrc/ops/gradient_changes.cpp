// Functions of nnabla that change their inputs, or the gradient that passes through them.
#include <ATen/ops/empty.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/mv.h>

#include "core/deferred.h"
#include "ops/functions.h"

namespace cg {
namespace {

// w / sigma, with sigma = u W v for the matrix W whose rows are along `dim`; power iterations compute u and v.
struct SpectralNorm {
  int64_t dim = 0, iterations = 1;
  double eps = 1e-12;
  bool test = false, output_u = false, update = true;
  static constexpr auto params() {
    using Op = SpectralNorm;
    return std::make_tuple(param("dim", &Op::dim), param("iterations", &Op::iterations), param("eps", &Op::eps),
                           param("test", &Op::test), param("output_u", &Op::output_u), param("update", &Op::update));
  }
  static constexpr Mask saves = in_bit(0) | in_bit(1);
  Tensor given_u, new_u, v;
  static constexpr auto stored() {
    return std::make_tuple(param("given_u", &SpectralNorm::given_u), param("new_u", &SpectralNorm::new_u),
                           param("v", &SpectralNorm::v));
  }

  template <class T>
  T matrix(const T& w) const {
    Ints order{wrap_axis(dim, w.dim())};
    for (int64_t a = 0; a < w.dim(); ++a)
      if (a != order[0]) order.push_back(a);
    const T turned = permute(w, order);
    return reshape(turned, {turned.size(0), -1});
  }
  template <class T>
  T back(const T& m, at::IntArrayRef shape) const {
    const int64_t n = static_cast<int64_t>(shape.size()), first = wrap_axis(dim, n);
    Ints turned{shape[first]}, inverse(n, 0);
    for (int64_t a = 0; a < n; ++a)
      if (a != first) {
        inverse[a] = static_cast<int64_t>(turned.size());
        turned.push_back(shape[a]);
      }
    return permute(reshape(m, turned), inverse);
  }
  std::vector<Tensor> forward(const Tensor& w, const Tensor& u) {
    const Tensor m = matrix(w);
    TORCH_CHECK_VALUE(u.numel() == m.size(0), "spectral_norm: u of shape ", u.sizes(), " for ", m.size(0),
                      " rows of w");
    TORCH_CHECK_VALUE(iterations > 0, "spectral_norm: itr must be positive, not ", iterations);
    if (w.is_meta()) {
      new_u = at::empty({m.size(0)}, w.options());
      v = at::empty({m.size(1)}, w.options());
      std::vector<Tensor> r{at::empty(w.sizes(), w.options())};
      if (output_u) r.push_back(at::empty(u.sizes(), u.options()));
      return r;
    }
    auto unit = [&](const Tensor& t) { return t / at::sqrt(at::sum(at::square(t)) + eps); };
    if (update || !given_u.defined()) given_u = u.clone();
    new_u = given_u.to(w.scalar_type()).reshape(-1);
    for (int64_t i = 0; i < iterations; ++i) {
      v = unit(at::mv(m.t(), new_u));
      new_u = unit(at::mv(m, v));
    }
    if (update && !test) u.copy_(new_u.reshape(u.sizes()));
    std::vector<Tensor> r{w / at::sum(new_u * at::mv(m, v))};
    if (output_u) r.push_back(given_u);
    return r;
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] {
      if (!value(c.gy()).defined()) return c.gy();
      const T m = matrix(c.in(0)), g = matrix(c.gy());
      const T uv = reshape(c.saved(new_u), {-1, 1}) * reshape(c.saved(v), {1, -1});
      const Ints both{0, 1};  // a variable: before torch 2.13 a literal {0, 1} could also be two names of dimensions
      const T sigma = sum(m * uv, both, true);
      return back((g - uv * (sum(g * m, both, true) / sigma)) / sigma, c.in_sizes(0));
    });
    // As in the original: if several functions share u, the value of the first function remains, whose backward runs
    // last.
    if constexpr (std::is_same_v<T, Tensor>)
      if (!test) c.in(1).copy_(new_u.reshape(c.in(1).sizes()));
  }
};
CG_OP("spectral_norm", SpectralNorm,
      "w divided by its largest singular value, estimated by power iterations from u. Unless `test`, u is overwritten "
      "by the new left singular vector; backward writes it again. output_u: the given u is a result, too.")

struct MeanSubtraction {
  int64_t base_axis = 1;
  bool update = true;
  static constexpr auto params() {
    return std::make_tuple(param("base_axis", &MeanSubtraction::base_axis), param("update", &MeanSubtraction::update));
  }
  static constexpr bool any_dtype = true;
  static constexpr Mask optional = in_bit(2);
  static constexpr Mask saves = in_bit(2);

  int64_t samples(at::IntArrayRef x) const {
    const int64_t base = wrap_base_axis(base_axis, static_cast<int64_t>(x.size()));
    TORCH_CHECK_VALUE(base >= 0 && base <= static_cast<int64_t>(x.size()), "mean_subtraction: base_axis ", base_axis,
                      " for x of shape ", x);
    return c10::multiply_integers(x.slice(0, base));
  }
  Tensor forward(const Tensor& x, const Tensor& mean, const Tensor& t) {
    if (x.is_meta()) return at::empty(x.sizes(), x.options());
    if (update) {
      const Tensor now = at::mean(x.reshape({samples(x.sizes()), -1}), 0).reshape(mean.sizes());
      mean.add_((now - mean) / (t.reshape({}) + 1));
      t.add_(1);
    }
    return x - mean;
  }
  template <class T>
  void backward(Ctx<T>& c) {
    const int64_t n = samples(c.in_sizes(0));
    const T gy = reshape(c.gy(), {n, -1}), total = sum(gy, {0}, true);
    if (!update) {
      c.grad(0, [&] { return c.gy(); });
      c.grad(1, [&] { return reshape(-total, c.in_sizes(1)); });
      return;
    }
    // t is the count after this step.
    const T share = total / cast(reshape(c.in(2), {1, 1}), c.in_dtype(0));
    c.grad(0, [&] { return reshape(gy - share * (1.0 / static_cast<double>(n)), c.in_sizes(0)); });
    c.grad(1, [&] { return reshape(share - total, c.in_sizes(1)); });
  }
};
CG_OP("mean_subtraction", MeanSubtraction,
      "x minus the running mean over the axes before base_axis. update: the mean of x enters the running mean with "
      "weight 1 / (t + 1), and t is increased, both in place.")

struct ClipByTensors {
  static constexpr Mask saves = in_bit(0) | in_bit(1) | in_bit(2);
  static Tensor above(const Tensor& x, const Tensor& high) { return x.gt(high); }
  static Tensor below(const Tensor& x, const Tensor& low, const Tensor& high) {
    return x.lt(low).logical_and(x.le(high));
  }
  Tensor forward(const Tensor& x, const Tensor& low, const Tensor& high) {
    return at::where(above(x, high), high, at::maximum(x, low));
  }
  template <class T>
  void backward(Ctx<T>& c) {
    const T at_high = c.gy() * frozen(above, c.in(0), c.in(2)),
            at_low = c.gy() * frozen(below, c.in(0), c.in(1), c.in(2));
    c.grad(0, [&] { return c.gy() - at_high - at_low; });
    c.grad(1, [&] { return at_low; });
    c.grad(2, [&] { return at_high; });
  }
};
CG_OP("clip_between", ClipByTensors, "x limited to at most `high`, then to at least `low`, element by element.")

struct ClipGradByValue {
  static constexpr Mask saves = in_bit(1) | in_bit(2);
  Tensor forward(const Tensor& x, const Tensor&, const Tensor&) { return x.clone(); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return run(ClipByTensors{}, c.gy(), c.in(1), c.in(2)); });
  }
};
CG_OP("clip_grad_by_value", ClipGradByValue,
      "x; its gradient is limited to the range from the second to the third input.")

struct ClipGradByNorm {
  double norm = 1;
  Ints axes;
  static constexpr auto params() {
    return std::make_tuple(param("norm", &ClipGradByNorm::norm), required("axes", &ClipGradByNorm::axes));
  }
  static constexpr Mask saves = 0;
  Tensor forward(const Tensor& x) { return x.clone(); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] {
      const T squares = square(c.gy());
      return c.gy() * (rsqrt(axes.empty() ? squares : sum(squares, axes, true)) * norm);
    });
  }
};
CG_OP("clip_grad_by_norm", ClipGradByNorm, "x; its gradient is scaled to the L2 norm `norm` over `axes`.")

struct VatNoise {
  int64_t base_axis = 1;
  double eps = 1;
  bool update = true;
  static constexpr auto params() {
    return std::make_tuple(param("base_axis", &VatNoise::base_axis), param("eps", &VatNoise::eps),
                           param("update", &VatNoise::update));
  }
  static constexpr Mask saves = in_bit(1);
  Tensor infer(const Tensor& x, const Tensor&) const {
    return wrap_base_axis(base_axis, x.dim()) >= 0 ? hollow(x) : Tensor();
  }
  Tensor forward(const Tensor& x, const Tensor&) {
    Ints axes;
    for (int64_t a = wrap_base_axis(base_axis, x.dim()); a < x.dim(); ++a) axes.push_back(a);
    return x * (at::rsqrt(at::sum(at::square(x), axes, true) + 1e-8) * eps);
  }
  void backward(Ctx<Tensor>& c) { c.in(1).copy_(c.gy() * eps); }
  void backward(Ctx<Var>&) {}
};
CG_OP("vat_noise", VatNoise,
      "eps x / |x|, with the norm over the axes from base_axis on. x gets no gradient: backward writes eps times the "
      "gradient of the result into the second input.")

}  // namespace
}  // namespace cg
