// The numbers of rows of a table, which nothing records.
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty.h>

#include "kernels/trace.h"
#include "python/common.h"

namespace cg::py {
namespace {

template <class T>
void write_numbers(const at::Tensor& x, int64_t last, int64_t* out) {
  const T* in = x.const_data_ptr<T>();
  for (int64_t i = 0; i < x.numel(); ++i) {
    // What processors give for NaN, and for numbers that are out of range, is below all rows
    const bool fits = std::is_integral_v<T> || (in[i] > T(-9.2e18) && in[i] < T(9.2e18));
    out[i] = fits ? std::clamp<int64_t>(static_cast<int64_t>(in[i]), 0, last) : 0;
  }
}
// row_numbers(x, rows, of): x truncated to whole numbers from 0 to rows - 1, as a constant Variable of the class of
// `of`
PyObject* row_numbers(PyObject*, PyObject* const* args, Py_ssize_t) {
  const at::AutoDispatchBelowADInplaceOrView unrecorded;
  const at::Tensor x = tensor_of(expect_variable(args[0], "x"));
  const int64_t last = parse_ints(args[1], "rows")[0] - 1;
  at::Tensor y;
  const bool small = x.is_cpu() && x.is_contiguous() && x.numel() <= 1024 && last >= 0 && !kernels::traced(x);
  if (small && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kInt || x.scalar_type() == at::kLong)) {
    y = at::empty(x.sizes(), x.options().dtype(at::kLong));
    int64_t* out = y.mutable_data_ptr<int64_t>();
    if (x.scalar_type() == at::kFloat)
      write_numbers<float>(x, last, out);
    else if (x.scalar_type() == at::kInt)
      write_numbers<int>(x, last, out);
    else
      write_numbers<int64_t>(x, last, out);
  } else {
    y = x.to(at::kLong).clamp(0, last);
  }
  return wrap_var(Var(std::move(y)), expect_variable(args[2], "of")->frontend);
}

}  // namespace

PyMethodDef layer_functions[] = {{"row_numbers", FAST(row_numbers, 3), nullptr}, {nullptr, nullptr, 0, nullptr}};

}  // namespace cg::py
