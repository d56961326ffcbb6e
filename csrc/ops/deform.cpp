// The columns of deformable convolution. They are linear in the images and in a position's factors. A derivative with
// respect to the offsets is the same function with factors for the samples' derivatives. So the gradients of three ops
// are these three ops, to any order.
#include "ops/deform.h"

#include <ATen/ops/empty.h>

#include "kernels/kernel.h"
#include "ops/index.h"

namespace cg {
namespace {

using kernels::Kernel;

struct DeformColumns;
struct DeformColumnsGrad;
struct DeformFactorsGrad;

// The gradients of <gy, columns of x> with respect to offsets and factors.
template <class T>
struct PositionGrads {
  T offset, factors;
  PositionGrads(const DeformGeometry& p, const T& gy, const T& x, const T& offset, const T& factors, bool by_offset,
                bool by_factors);
};

struct DeformColumns : DeformGeometry {
  static constexpr auto params() { return common(); }
  static constexpr Mask saves = in_bit(0) | in_bit(1) | in_bit(2), optional = in_bit(2);

  Tensor forward(const Tensor& x, const Tensor& offset, const Tensor& factors) {
    complete();
    const Deformed d = sizes(x.sizes(), offset.sizes());
    check_factors(d, factors);
    if (x.is_meta()) return at::empty(d.columns(), x.options());
    if (kernels::traced(x)) return formula(d, offset, factors).columns(x);
    static const Kernel kernel("deform_columns");
    return with_kernels(x, {offset, factors}, [&](const Tensor& given, TensorList more) {
      Tensor y = at::empty(d.columns(), given.options());
      kernel({y, given, more[0], more[1]}, {}, integers(d, given.is_cpu() ? d.channels : kTogether, given.is_cpu()));
      return y;
    });
  }
  template <class T>
  void backward(Ctx<T>& c);
};

struct DeformColumnsGrad : DeformGeometry {
  Ints insize;
  static constexpr auto params() {
    return std::tuple_cat(std::make_tuple(required("insize", &DeformColumnsGrad::insize)), common());
  }
  static constexpr Mask saves = in_bit(0) | in_bit(1) | in_bit(2), optional = in_bit(2);

  Tensor forward(const Tensor& gy, const Tensor& offset, const Tensor& factors) {
    complete();
    const Deformed d = sizes(insize, offset.sizes());
    check_factors(d, factors);
    TORCH_CHECK_VALUE(gy.sizes() == at::IntArrayRef(d.columns()), "deform_columns: a gradient of shape ", gy.sizes(),
                      " does not fit columns of shape ", d.columns());
    if (gy.is_meta()) return at::empty(insize, gy.options());
    if (kernels::traced(gy)) return formula(d, offset, factors).spread(gy, insize);
    static const Kernel kernel("deform_columns_grad");
    return with_kernels(gy, {offset, factors}, [&](const Tensor& g, TensorList more) {
      Tensor gx = at::empty(insize, g.options());
      // Planes are summed in place, which is not possible in 16 bits, nor on a GPU with many threads.
      if (g.is_cpu() && g.element_size() >= 4) {
        kernel({gx, g, more[0], more[1]}, {}, integers(d, kPlanes, true));
      } else {
        const Readers r = readers(formula(d, more[0], more[1]), d);
        kernel({gx, g, r.weights, r.order, r.starts}, {}, integers(d, kTogether, false));
      }
      return gx;
    });
  }
  template <class T>
  void backward(Ctx<T>& c);
};

struct DeformFactorsGrad : DeformGeometry {
  static constexpr auto params() { return common(); }
  static constexpr Mask saves = in_bit(0) | in_bit(1) | in_bit(2);

  Tensor forward(const Tensor& gy, const Tensor& x, const Tensor& offset) {
    complete();
    const Deformed d = sizes(x.sizes(), offset.sizes());
    TORCH_CHECK_VALUE(gy.sizes() == at::IntArrayRef(d.columns()), "deform_columns: a gradient of shape ", gy.sizes(),
                      " does not fit columns of shape ", d.columns());
    const Ints shape = factors_size(d);
    if (x.is_meta()) return at::empty(shape, x.options());
    if (kernels::traced(x)) return formula(d, offset, {}).factors(gy, x, orders).reshape(shape);
    static const Kernel kernel("deform_factors_grad");
    return with_kernels(gy, {x, offset}, [&](const Tensor& g, TensorList more) {
      Tensor y = at::empty(shape, g.options());
      kernel({y, g, more[0], more[1]}, {}, integers(d, kTogether, g.is_cpu()));
      return y;
    });
  }
  template <class T>
  void backward(Ctx<T>& c);
};

template <class T>
void DeformColumns::backward(Ctx<T>& c) {
  const T offset = c.in(1), factors = c.in(2);
  c.grad(0, [&] { return run(DeformColumnsGrad{*this, ints(c.in_sizes(0))}, c.gy(), offset, factors); });
  PositionGrads<T> g(*this, c.gy(), c.in(0), offset, factors, c.needs(1), c.needs(2));
  c.grad(1, [&] { return g.offset; });
  c.grad(2, [&] { return g.factors; });
}
template <class T>
void DeformColumnsGrad::backward(Ctx<T>& c) {
  const T offset = c.in(1), factors = c.in(2);
  c.grad(0, [&] { return run(DeformColumns{*this}, c.gy(), offset, factors); });
  PositionGrads<T> g(*this, c.in(0), c.gy(), offset, factors, c.needs(1), c.needs(2));
  c.grad(1, [&] { return g.offset; });
  c.grad(2, [&] { return g.factors; });
}
template <class T>
void DeformFactorsGrad::backward(Ctx<T>& c) {
  const T gy = c.in(0), x = c.in(1), offset = c.in(2);
  c.grad(0, [&] { return run(DeformColumns{*this}, x, offset, c.gy()); });
  c.grad(1, [&] { return run(DeformColumnsGrad{*this, ints(c.in_sizes(1))}, gy, offset, c.gy()); });
  PositionGrads<T> g(*this, gy, x, offset, c.gy(), c.needs(2), false);
  c.grad(2, [&] { return g.offset; });
}

template <class T>
PositionGrads<T>::PositionGrads(const DeformGeometry& p, const T& gy, const T& x, const T& offset, const T& factors,
                                bool by_offset, bool by_factors) {
  if (!by_offset && !by_factors) return;
  DeformFactorsGrad all{p};
  all.orders.clear();
  // The place of an order's sums in `all.orders`. Several gradients can need the same sums, which are computed once.
  const auto place = [&](int64_t order) {
    const auto at = std::find(all.orders.begin(), all.orders.end(), order);
    if (at != all.orders.end()) return at - all.orders.begin();
    all.orders.push_back(order);
    return std::ptrdiff_t(all.orders.size() - 1);
  };
  struct Term {
    int64_t factor, from;
  };
  std::vector<Term> own, moved[2];
  for (int64_t j = 0; j < int64_t(p.orders.size()); ++j) {
    if (by_factors) own.push_back({j, place(p.orders[j])});
    for (int axis = 0; by_offset && axis < 2; ++axis)  // between pixels a sample is linear along each axis
      if (!(p.orders[j] >> axis & 1)) moved[axis].push_back({j, place(p.orders[j] | int64_t(1) << axis)});
  }
  const at::IntArrayRef o = offset.sizes();
  if (all.orders.empty()) return;
  const T sums = run(all, gy, x, offset);
  if (by_offset && !by_factors && !value(factors).defined()) {  // the orders 1 and 2 follow each other as offsets do
    this->offset = sums;
    return;
  }
  const auto part = [&](const T& t, int64_t of, int64_t j) {
    const Ints shape{o[0], o[1] / 2, of, o[2], o[3]};
    const T parts = reshape(t, shape);
    return of == 1 ? parts : get_item(parts, along(2, j, j + 1));
  };
  const int64_t n = all.orders.size(), m = p.orders.size();
  if (by_factors) {
    std::vector<T> found;
    for (const Term& t : own) found.push_back(part(sums, n, t.from));
    this->factors = reshape(m == 1 ? found[0] : concat(c10::ArrayRef<T>(found), 2), {o[0], o[1] / 2 * m, o[2], o[3]});
  }
  if (moved[0].empty() && moved[1].empty()) return;  // not needed, or zero because samples are bilinear in the position
  std::vector<T> axes;
  for (const auto& terms : moved) {
    T sum;
    for (const Term& t : terms) {
      const T given = part(sums, n, t.from);
      const T term = value(factors).defined() ? given * part(factors, m, t.factor) : given;
      sum = value(sum).defined() ? sum + term : term;
    }
    if (terms.empty()) sum = zeros_as(part(offset, 2, 0));
    axes.push_back(std::move(sum));
  }
  this->offset = reshape(concat(c10::ArrayRef<T>(axes), 2), o);
}

}  // namespace

CG_OP("deform_columns", DeformColumns,
      "Columns (batch, channels * taps, *out) of images for deformable convolution: bilinear samples at row * stride - "
      "pad + tap * dilate + offset. offset (batch, groups * taps * 2, *out): rows before columns, for each group of "
      "channels. factors (batch, groups * taps, *out): what samples are multiplied by. Beyond the border samples "
      "decrease to 0 over one pixel; clamp: positions outside give 0, except that up to one pixel behind the centre of "
      "the last pixel they give that pixel. orders: each tap has several factors, for the sample (0) and its "
      "derivatives by row (1), column (2) and both (3), which are summed. nan: without clamp, samples at NaN are NaN, "
      "otherwise 0.")
CG_OP("deform_columns_grad", DeformColumnsGrad,
      "The gradient of deform_columns with respect to its images, which have the shape insize.")
CG_OP(
    "deform_factors_grad", DeformFactorsGrad,
    "The gradient of deform_columns with respect to its factors, from the gradient of the columns, images and offset.")

}  // namespace cg
