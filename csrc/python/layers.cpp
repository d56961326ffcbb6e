// Parts of layers that nothing records: layers with fixed weights, for inference, and the numbers of rows of a table.
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty.h>

#include "kernels/pool_channels.h"
#include "kernels/trace.h"
#include "ops/conv_rows.h"
#include "ops/conv_tiles.h"
#include "python/common.h"

namespace cg::py {
namespace {

at::Tensor optional(PyObject* o, const char* what) { return o == Py_None ? at::Tensor() : unwrap_tensor(o, what); }

int64_t integer(PyObject* o) {
  const int64_t n = PyLong_AsLongLong(o);
  if (n == -1 && PyErr_Occurred()) throw PyError();
  return n;
}
// A tensor that is computed without the interpreter's lock.
template <class F>
PyObject* computed(F&& f) {
  at::Tensor y;
  PyThreadState* const unlocked = PyEval_SaveThread();
  try {
    const at::AutoDispatchBelowADInplaceOrView unrecorded;
    y = f();
  } catch (...) {
    PyEval_RestoreThread(unlocked);
    throw;
  }
  PyEval_RestoreThread(unlocked);
  return wrap_tensor(y);
}
// convolve_tiles(x, filters, bias, pad, into, rectify): see convolve_tiles.
PyObject* tiles(PyObject*, PyObject* const* args, Py_ssize_t) {
  const at::Tensor x = unwrap_tensor(args[0], "x"), filters = unwrap_tensor(args[1], "filters");
  const at::Tensor bias = optional(args[2], "bias"), into = optional(args[4], "into");
  const int64_t pad = integer(args[3]);
  const bool rectify = truth(args[5]);
  return computed([&] { return convolve_tiles(x, filters, bias, pad, into, rectify); });
}
// convolve_rows(x, filters, bias, into, rectify, *kernel, *stride, *pad): see convolve_rows.
PyObject* rows(PyObject*, PyObject* const* args, Py_ssize_t) {
  const at::Tensor x = unwrap_tensor(args[0], "x"), filters = unwrap_tensor(args[1], "filters");
  const at::Tensor bias = optional(args[2], "bias"), into = optional(args[3], "into");
  const bool rectify = truth(args[4]);
  RowPlacement p;
  for (int k = 0; k < 2; ++k) {
    p.kernel[k] = integer(args[5 + k]);
    p.stride[k] = integer(args[7 + k]);
    p.pad[k] = integer(args[9 + k]);
  }
  return computed([&] { return convolve_rows(x, filters, bias, p, into, rectify); });
}
// max_pool_channels(x, *kernel, *stride, *pad): the maxima of windows of x, (n, channels, height, width) with channels
// last, as such an array.
PyObject* pool(PyObject*, PyObject* const* args, Py_ssize_t) {
  const at::Tensor x = unwrap_tensor(args[0], "x");
  kernels::PoolWindow w{{1}, {1}, {0}};
  for (int k = 0; k < 2; ++k) {
    w.ksize[k + 1] = integer(args[1 + k]);
    w.stride[k + 1] = integer(args[3 + k]);
    w.pad[k + 1] = integer(args[5 + k]);
  }
  return computed([&] { return kernels::max_pool_channels(w, x); });
}
// rows_gain(places, maps, channels, numbers_of_channel) -> whether convolve_rows takes less time than oneDNN.
PyObject* gain(PyObject*, PyObject* const* args, Py_ssize_t) {
  return PyBool_FromLong(rows_gain(integer(args[0]), integer(args[1]), integer(args[2]), integer(args[3])));
}

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
  const int64_t last = integer(args[1]) - 1;
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

PyMethodDef layer_functions[] = {
    {"row_numbers", FAST(row_numbers, 3), nullptr}, {"convolve_tiles", FAST(tiles, 6), nullptr},
    {"convolve_rows", FAST(rows, 11), nullptr},     {"max_pool_channels", FAST(pool, 7), nullptr},
    {"rows_gain", FAST(gain, 4), nullptr},          {nullptr, nullptr, 0, nullptr}};

}  // namespace cg::py
