// Steps of programs that run networks with fixed parameters: functions of tensors, called from Python or by a program.
#pragma once
#include <functional>

#include "python/common.h"

namespace cg::py {

using StepFunction = std::function<at::Tensor(at::TensorList)>;

extern PyTypeObject StepType;
// The function of a step object; null for other objects.
const StepFunction* function_of_step(PyObject* o);
PyObject* new_step(StepFunction f);

// The tensor of an argument; a TypeError names that if it is none.
inline at::Tensor tensor_argument(PyObject* o, const char* name) {
  if (!is_tensor(o)) fail(PyExc_TypeError, "%s: expected a tensor, got %s", name, Py_TYPE(o)->tp_name);
  return unwrap_tensor(o, name);
}

// Copies the parameters of an op from one of its structs to another (params.cpp).
void copy_params(const OpInfo& op, void* from, void* to);

}  // namespace cg::py
