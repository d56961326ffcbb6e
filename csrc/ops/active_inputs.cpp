// Sums and products of many tensors of one shape, of which a program may leave out some in each run.
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros_like.h>

#include "kernels/trace.h"
#include "ops/functions.h"

namespace cg {
namespace {

// int64 numbers: 0 for an input that is left out. They are in a tensor, so that its owner can change them between two
// runs; without the tensor all inputs are used.
using Active = std::optional<Tensor>;
void check(const char* op, const Active& active, size_t inputs) {
  if (!active) return;
  if (kernels::symbolic(*active)) kernels::reads_values(op, *active);
  TORCH_CHECK_VALUE(active->scalar_type() == at::kLong && active->is_contiguous() && active->device().is_cpu() &&
                        active->numel() == static_cast<int64_t>(inputs),
                    op, ": active must be int64 numbers on the CPU, one for each of ", inputs, " inputs");
}
bool takes(const Active& active, size_t i) { return !active || active->const_data_ptr<int64_t>()[i] != 0; }

struct AddActive {
  Active active;
  static constexpr auto params() { return std::make_tuple(param("active", &AddActive::active)); }
  static constexpr Mask saves = 0;
  Tensor forward(TensorList xs) {
    check("add_active", active, xs.size());
    // On the meta device torch computes by functions in Python, which import its compiler and its algebra of shapes.
    if (xs[0].is_meta()) return at::empty(xs[0].sizes(), xs[0].options());
    c10::SmallVector<Tensor, 8> taken;
    for (size_t i = 0; i < xs.size(); ++i)
      if (takes(active, i)) taken.push_back(xs[i]);
    return taken.empty() ? at::zeros_like(xs[0]) : sum_gradients(taken, false);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    check("add_active", active, c.inputs());
    for (size_t i = 0; i < c.inputs(); ++i)
      if (takes(active, i)) c.grad(i, [&] { return c.gy(); });
  }
};
CG_OP("add_active", AddActive, "Sum of tensors of one shape, without those for which active is 0.")

struct MulActive {
  Active active;
  static constexpr auto params() { return std::make_tuple(param("active", &MulActive::active)); }
  static constexpr Mask saves = kAllInputs;
  Tensor forward(TensorList xs) {
    check("mul_active", active, xs.size());
    if (xs[0].is_meta() &&
        std::all_of(xs.begin(), xs.end(), [&](const Tensor& x) { return x.sizes() == xs[0].sizes(); }))
      return at::empty(xs[0].sizes(), xs[0].options());
    Tensor y;
    for (size_t i = 0; i < xs.size(); ++i)
      if (takes(active, i)) y = y.defined() ? at::mul(y, xs[i]) : xs[i];
    if (!y.defined()) return at::ones_like(xs[0]);
    return xs.size() == 1 || y.is_same(xs[0]) ? at::mul(y, 1) : y;
  }
  // The product of all other inputs, without a division: products from the left times products from the right.
  template <class T>
  void backward(Ctx<T>& c) {
    const size_t n = c.inputs();
    check("mul_active", active, n);
    std::vector<T> right(n + 1);
    for (size_t i = n; i-- > 1;) {
      right[i] = right[i + 1];
      if (takes(active, i)) right[i] = right[i].defined() ? c.in(i) * right[i] : c.in(i);
    }
    T left = c.gy();
    for (size_t i = 0; i < n; ++i) {
      if (!takes(active, i)) continue;
      c.grad(i, [&] { return right[i + 1].defined() ? left * right[i + 1] : left; });
      if (i + 1 < n) left = left * c.in(i);
    }
  }
};
CG_OP("mul_active", MulActive, "Product of tensors of one shape, without those for which active is 0.")

}  // namespace
}  // namespace cg
