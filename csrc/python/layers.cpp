// Layers with fixed weights, for inference: functions on torch tensors, which nothing records.
#include <ATen/core/LegacyTypeDispatch.h>

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
// rows_gain(places, maps, channels, numbers_of_channel) -> whether convolve_rows takes less time than oneDNN.
PyObject* gain(PyObject*, PyObject* const* args, Py_ssize_t) {
  return PyBool_FromLong(rows_gain(integer(args[0]), integer(args[1]), integer(args[2]), integer(args[3])));
}

}  // namespace

PyMethodDef layer_functions[] = {{"convolve_tiles", FAST(tiles, 6), nullptr},
                                 {"convolve_rows", FAST(rows, 11), nullptr},
                                 {"rows_gain", FAST(gain, 4), nullptr},
                                 {nullptr, nullptr, 0, nullptr}};

}  // namespace cg::py
