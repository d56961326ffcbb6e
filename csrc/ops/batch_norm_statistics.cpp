// nnabla's batch normalization: the running statistics are inputs, which `forward` updates in place.
#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/var.h>
#include <ATen/ops/zeros.h>

#include "ops/batch_norm.h"

namespace cg {
namespace {

struct BatchNormalizationStatistics {
  Ints axes{1};
  double decay = 0.9, eps = 1e-5;
  bool batch_stat = true, stats = false, rectify = false, update = true;
  static constexpr auto params() {
    using Op = BatchNormalizationStatistics;
    return std::make_tuple(param("axes", &Op::axes), param("decay", &Op::decay), param("eps", &Op::eps),
                           param("batch_stat", &Op::batch_stat), param("stats", &Op::stats),
                           param("rectify", &Op::rectify), param("update", &Op::update));
  }
  static constexpr bool any_dtype = true, real = true;
  static constexpr Mask reuses = in_bit(0);
  static constexpr Mask optional = in_bit(1) | in_bit(2) | in_bit(3) | in_bit(4) | in_bit(5);
  Mask saves_for(c10::ArrayRef<bool>) const {
    return in_bit(0) | in_bit(2) | (batch_stat ? 0 : in_bit(3) | in_bit(4)) | (rectify ? out_bit(0) : 0);
  }
  Tensor mean, inv_std;  // of the batch, of shape (channels,)
  static constexpr auto stored() {
    return std::make_tuple(param("mean", &BatchNormalizationStatistics::mean),
                           param("inv_std", &BatchNormalizationStatistics::inv_std));
  }

  // The axes over which means and variances are taken: all except `axes`.
  Ints over(int64_t ndim) const {
    c10::SmallVector<bool, 6> kept(ndim, false);
    for (int64_t a : axes) {
      TORCH_CHECK_VALUE(-ndim <= a && a < ndim, "batch_normalization: axis ", a, " is not in x of ", ndim, " axes");
      kept[wrap_axis(a, ndim)] = true;
    }
    Ints r;
    for (int64_t a = 0; a < ndim; ++a)
      if (!kept[a]) r.push_back(a);
    return r;
  }
  Channels channels(at::IntArrayRef x, at::ScalarType dtype) const {
    return {x, 0, over(static_cast<int64_t>(x.size())), dtype};
  }
  Ints parameter_shape(at::IntArrayRef x) const {
    Ints r = ints(x);
    for (int64_t a : over(static_cast<int64_t>(x.size()))) r[a] = 1;
    return r;
  }

  std::vector<Tensor> forward(const Tensor& x, const Tensor& beta, const Tensor& gamma, const Tensor& running_mean,
                              const Tensor& running_var, const Tensor& z) {
    const Channels k = channels(x.sizes(), x.scalar_type());
    const Ints shape = parameter_shape(x.sizes());
    const auto options = x.options().dtype(k.dtype);
    if (beta.defined()) k.checked("beta", beta);
    if (gamma.defined()) k.checked("gamma", gamma);
    k.check_pair("running_mean", running_mean, "running_var", running_var);
    TORCH_CHECK_VALUE(batch_stat || running_mean.defined(),
                      "batch_normalization: without batch_stat, running_mean and running_var must be given");
    if (x.is_meta()) {
      mean = inv_std = at::empty({k.sizes[1]}, options);
      std::vector<Tensor> r{at::empty(x.sizes(), x.options())};
      if (stats) r.insert(r.end(), 2, at::empty(shape, x.options()));
      return r;
    }
    const Tensor cx = k.gather(x), b = beta.defined() ? k.flat("beta", beta) : at::zeros({k.sizes[1]}, options),
                 g = gamma.defined() ? k.flat("gamma", gamma) : at::ones({k.sizes[1]}, options);
    if (!batch_stat) {
      const auto y = at::native_batch_norm(cx, g, b, k.flat("running_mean", running_mean),
                                           k.flat("running_var", running_var), false, 0.0, eps);
      return {finished(k.scatter(std::get<0>(y)).to(x.scalar_type()), z)};
    }
    const bool updates = update && running_mean.defined();
    const Tensor y = normalize_batch(k, cx, g, b, eps, updates ? running_mean : Tensor(),
                                     updates ? running_var : Tensor(), decay, mean, inv_std);
    std::vector<Tensor> r{finished(k.scatter(y).to(x.scalar_type()), z)};
    if (stats) {
      r.push_back(mean.reshape(shape).to(x.scalar_type(), false, true));
      r.push_back(at::var(cx, Channels::over, 0).reshape(shape).to(x.scalar_type()));
    }
    return r;
  }

  Tensor finished(const Tensor& y, const Tensor& z) const {
    const Tensor sum = z.defined() ? y + z : y;
    return rectify ? at::relu(sum) : sum;
  }

  // Adds the gradients that reach x through the results mean and variance to `gx`, in the layout of `Channels`.
  template <class T>
  void add_statistics(Ctx<T>& c, const Channels& k, T& gx) const {
    if (!stats) return;
    const double count = static_cast<double>(k.sizes[0] * k.sizes[2]);
    auto add = [&](T term) { gx = value(gx).defined() ? gx + term : broadcast_to(term, k.sizes); };
    if (value(c.gy(1)).defined()) add(k.parameter(c.gy(1)) * (1 / count));
    if (value(c.gy(2)).defined()) {
      const T x = k.gather(c.in(0));
      add((x - cg_mean(x)) * (k.parameter(c.gy(2)) * (2 / count)));
    }
  }
  static Tensor cg_mean(const Tensor& x) { return at::mean(x, Channels::over, true); }
  static Var cg_mean(const Var& x) { return cg::mean(x, Channels::over, true); }

  template <class T>
  void backward(Ctx<T>& c) {
    const Channels k = channels(c.in_sizes(0), c.in_dtype(0));
    const Ints shape = parameter_shape(c.in_sizes(0));
    const T scale = c.in(2);
    T masked;
    if (rectify && value(c.gy()).defined())
      masked = where(frozen([](const Tensor& y) { return y.gt(0); }, c.out(0)), c.gy(), zeros_as(c.gy()));
    const T& gy = rectify ? masked : c.gy();
    c.grad(5, [&] { return gy; });
    const T gamma = value(scale).defined() ? scale : T(at::ones(shape, value(c.in(0)).options().dtype(k.dtype)));
    if (!batch_stat) {
      // As in nnabla, the running statistics get no gradients.
      auto g = fixed_batch_norm_grads<T>(k.gather(c.in(0)), k.parameter(gamma), k.gather(gy), k.parameter(c.in(3)),
                                         k.parameter(c.in(4)), eps, {c.needs(0), c.needs(2), c.needs(1), false, false});
      c.grad(0, [&] { return k.scatter(g[0]); });
      c.grad(1, [&] { return reshape(g[2], shape); });
      c.grad(2, [&] { return reshape(g[1], shape); });
      return;
    }
    T gx, ggamma, gbeta;
    const BatchNormalizationGrad first{eps, over(static_cast<int64_t>(shape.size()))};
    if (value(gy).defined()) {
      if constexpr (std::is_same_v<T, Tensor>) {
        const Tensor x = c.in(0, /*last=*/!stats);
        std::tie(gx, ggamma, gbeta) = first.compute(x, gamma, gy, mean, inv_std, {c.needs(0), c.needs(2), c.needs(1)},
                                                    may_overwrite(gy), may_overwrite(x));
      } else {
        Vars g = run_all(first, c.in(0), gamma, gy, c.saved(mean), c.saved(inv_std));
        gx = g[0], ggamma = g[1], gbeta = g[2];
      }
    }
    c.grad(0, [&] {
      if (!stats) return gx;
      T gathered = value(gx).defined() ? k.gather(gx) : gx;
      add_statistics(c, k, gathered);
      return value(gathered).defined() ? k.scatter(gathered) : gathered;
    });
    c.grad(1, [&] { return gbeta; });
    c.grad(2, [&] { return ggamma; });
  }
};
CG_OP("batch_normalization_statistics", BatchNormalizationStatistics,
      "relu(gamma (x - mean) / std + beta + z) of x, beta, gamma, running mean, running variance, z (all but x may be "
      "left out). batch_stat: mean and std are those of x over all axes but `axes`, and if `update`, the running ones "
      "become decay * running + (1 - decay) * batch; otherwise the running ones are used. stats: mean and variance of "
      "x are results too. Without `rectify` there is no ReLU.")

}  // namespace
}  // namespace cg
