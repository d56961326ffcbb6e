// `with` blocks in C++.
#pragma once
#include "python/common.h"

namespace cg::py {

extern PyTypeObject ScopeType, HookBlockType;
extern PyMethodDef scope_functions[];
// f(*args, **kwargs) while an attribute of `object` has another value. Null: f has raised an error.
PyObject* call_with_attribute(PyObject* object, PyObject* name, PyObject* value, PyObject* f, PyObject* args,
                              PyObject* kwargs);
int mode_index(PyObject* name);        // ValueError, which lists all modes, for an unknown name
int8_t mode_setting(PyObject* value);  // None: the process's default is used
at::Device parse_device(PyObject* device);

}  // namespace cg::py
