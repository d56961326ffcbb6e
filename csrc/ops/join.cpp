// Joining and splitting.
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/flip.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <ATen/WrapDimUtilsMulti.h>

#include "core/deferred.h"
#include "kernels/only_shape.h"
#include "ops/few_joined.h"

namespace cg {
namespace {

c10::SmallVector<Tensor, 2> split(const Tensor& x, const Ints& indices, int64_t axis);
Vars split(const Var& x, const Ints& indices, int64_t axis);
c10::SmallVector<Tensor, 2> unstack(const Tensor& x, int64_t axis);
Vars unstack(const Var& x, int64_t axis);
Var stack(VarsRef xs, int64_t axis);

// The gradients of all outputs, with zeros for missing ones.
template <class T>
c10::SmallVector<T, 4> all_gys(Ctx<T>& c) {
  c10::SmallVector<T, 4> gys;
  at::TensorOptions options;
  for (size_t j = 0; j < c.outputs(); ++j)
    if (value(c.gy(j)).defined()) options = value(c.gy(j)).options();
  for (size_t j = 0; j < c.outputs(); ++j)
    gys.push_back(value(c.gy(j)).defined() ? c.gy(j) : T(at::zeros(c.out_sizes(j), options)));
  return gys;
}

// On the meta device torch joins by Python functions, which import torch's compiler at their first call; so `joined`
// computes the shape.
struct Concat {
  int64_t axis = 1;
  static constexpr auto params() { return std::make_tuple(param("axis", &Concat::axis)); }
  static constexpr Mask saves = 0;
  Tensor joined(TensorList xs) const {
    Ints sizes = ints(xs.at(0).sizes());
    const int64_t along = wrap_axis(axis, xs[0].dim());
    const Tensor* const other = add_lengths(xs, along, sizes);
    TORCH_CHECK(!other, "concat: shapes ", xs[0].sizes(), " and ", other->sizes(), " differ outside axis ", along);
    at::ScalarType dtype = xs[0].scalar_type();
    for (const Tensor& x : xs) dtype = c10::promoteTypes(dtype, x.scalar_type());
    return at::empty(sizes, xs[0].options().dtype(dtype));
  }
  Tensor forward(TensorList xs) {
    if (xs.at(0).is_meta()) return joined(xs);
    Tensor y = few_concat(xs, axis);
    return y.defined() ? y : at::cat(xs, axis);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    const int64_t along = wrap_axis(axis, c.gy().dim());
    Ints ends;
    int64_t end = 0;
    for (size_t i = 0; i + 1 < c.inputs(); ++i) ends.push_back(end += c.in_sizes(i)[along]);
    auto gxs = split(c.gy(), ends, axis);
    for (size_t i = 0; i < c.inputs(); ++i) c.grad(i, [&] { return std::move(gxs[i]); });
  }
};
CG_OP("concat", Concat, "Joins tensors along an axis.")

struct Split {
  Ints indices;
  int64_t axis = 0;
  static constexpr auto params() {
    return std::make_tuple(required("indices", &Split::indices), param("axis", &Split::axis));
  }
  static constexpr Mask saves = 0;
  std::vector<Tensor> forward(const Tensor& x) { return few_parts(x, indices, axis); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&]() -> T {
      const auto gys = all_gys(c);
      if constexpr (std::is_same_v<T, Tensor>)
        return Concat{axis}.forward(gys);
      else
        return concat(gys, axis);
    });
  }
};
CG_OP("split", Split, "Splits x along an axis before each of the indices.")

struct Stack {
  int64_t axis = 0;
  static constexpr auto params() { return std::make_tuple(param("axis", &Stack::axis)); }
  static constexpr Mask saves = 0;
  Tensor joined(TensorList xs) const {
    Ints sizes = ints(xs.at(0).sizes());
    at::ScalarType dtype = xs[0].scalar_type();
    for (const Tensor& x : xs) {
      TORCH_CHECK(x.sizes() == xs[0].sizes(), "stack: shapes ", xs[0].sizes(), " and ", x.sizes(), " differ");
      dtype = c10::promoteTypes(dtype, x.scalar_type());
    }
    sizes.insert(sizes.begin() + wrap_axis(axis, xs[0].dim() + 1), static_cast<int64_t>(xs.size()));
    return at::empty(sizes, xs[0].options().dtype(dtype));
  }
  Tensor forward(TensorList xs) {
    if (xs.at(0).is_meta()) return joined(xs);
    Tensor y = few_stack(xs, axis);
    return y.defined() ? y : at::stack(xs, axis);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    auto gxs = unstack(c.gy(), axis);
    for (size_t i = 0; i < c.inputs(); ++i) c.grad(i, [&] { return std::move(gxs[i]); });
  }
};
CG_OP("stack", Stack, "Joins tensors along a new axis.")

struct Unstack {
  int64_t axis = 0;
  static constexpr auto params() { return std::make_tuple(param("axis", &Unstack::axis)); }
  static constexpr Mask saves = 0;
  std::vector<Tensor> infer(const Tensor& x) const {
    const int64_t along = wrap_axis(axis, x.dim());
    if (!x.dim()) return {};
    Ints sizes = ints(x.sizes());
    sizes.erase(sizes.begin() + along);
    return std::vector<Tensor>(x.size(along), hollow(sizes, x));
  }
  std::vector<Tensor> forward(const Tensor& x) { return few_slices(x, axis); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&]() -> T {
      const auto gys = all_gys(c);
      const int64_t along = wrap_axis(axis, c.in_sizes(0).size());
      if constexpr (std::is_same_v<T, Tensor>)
        return Stack{along}.forward(gys);
      else
        return stack(gys, along);
    });
  }
};
CG_OP("unstack", Unstack, "All slices of x along an axis, without that axis.")

struct Flip {
  Ints axis;
  static constexpr auto params() { return std::make_tuple(required("axis", &Flip::axis)); }
  static constexpr Mask saves = 0;
  Tensor infer(const Tensor& x) const {
    at::dim_list_to_bitset(axis, x.dim());  // raises the errors of at::flip
    return hollow(x);
  }
  Tensor forward(const Tensor& x) {
    const at::ScalarType t = x.scalar_type();
    const bool unknown_to_aten = t == at::kUInt16 || t == at::kUInt32 || t == at::kUInt64;
    return unknown_to_aten ? at::flip(x.to(at::kLong), axis).to(t) : at::flip(x, axis);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return flip(c.gy(), axis); });
  }
};
CG_OP("flip", Flip, "x with the order of elements reversed along axis.")

c10::SmallVector<Tensor, 2> split(const Tensor& x, const Ints& indices, int64_t axis) {
  return run_all(Split{indices, axis}, x);
}
Vars split(const Var& x, const Ints& indices, int64_t axis) { return run_all(Split{indices, axis}, x); }
c10::SmallVector<Tensor, 2> unstack(const Tensor& x, int64_t axis) { return run_all(Unstack{axis}, x); }
Vars unstack(const Var& x, int64_t axis) { return run_all(Unstack{axis}, x); }
Var stack(VarsRef xs, int64_t axis) { return run_list(Stack{axis}, xs); }

}  // namespace

Var flip(const Var& x, at::IntArrayRef axes) { return run(Flip{ints(axes)}, x); }
Tensor concat(TensorList xs, int64_t axis) { return at::cat(xs, axis); }
Var concat(VarsRef xs, int64_t axis) { return run_list(Concat{axis}, xs); }

}  // namespace cg
