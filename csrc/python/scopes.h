// `with` blocks in C++.
#pragma once
#include "python/common.h"

namespace cg::py {

extern PyTypeObject ScopeType, HookBlockType;
extern PyMethodDef scope_functions[];
int mode_index(PyObject* name);        // ValueError, which lists all modes, for an unknown name
int8_t mode_setting(PyObject* value);  // None: the process's default is used
at::Device parse_device(PyObject* device);

}  // namespace cg::py
