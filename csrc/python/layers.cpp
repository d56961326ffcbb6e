// Layers with fixed weights, for inference: functions on torch tensors, which nothing records.
#include <ATen/core/LegacyTypeDispatch.h>

#include "ops/conv_tiles.h"
#include "python/common.h"

namespace cg::py {
namespace {

at::Tensor optional(PyObject* o, const char* what) { return o == Py_None ? at::Tensor() : unwrap_tensor(o, what); }

// convolve_tiles(x, filters, bias, pad, into, rectify): see convolve_tiles.
PyObject* tiles(PyObject*, PyObject* const* args, Py_ssize_t) {
  const at::Tensor x = unwrap_tensor(args[0], "x"), filters = unwrap_tensor(args[1], "filters");
  const at::Tensor bias = optional(args[2], "bias"), into = optional(args[4], "into");
  const int64_t pad = PyLong_AsLongLong(args[3]);
  if (pad == -1 && PyErr_Occurred()) throw PyError();
  const bool rectify = truth(args[5]);
  at::Tensor y;
  PyThreadState* const unlocked = PyEval_SaveThread();
  try {
    const at::AutoDispatchBelowADInplaceOrView unrecorded;
    y = convolve_tiles(x, filters, bias, pad, into, rectify);
  } catch (...) {
    PyEval_RestoreThread(unlocked);
    throw;
  }
  PyEval_RestoreThread(unlocked);
  return wrap_tensor(y);
}

}  // namespace

PyMethodDef layer_functions[] = {{"convolve_tiles", FAST(tiles, 6), nullptr}, {nullptr, nullptr, 0, nullptr}};

}  // namespace cg::py
