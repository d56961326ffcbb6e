// `with` blocks in C++.
#pragma once
#include "python/common.h"

namespace cg::py {

extern PyTypeObject ScopeType, HookBlockType;
int mode_index(PyObject* name);        // ValueError, which names all, for what is no mode
int8_t mode_setting(PyObject* value);  // None: the process's default holds
at::Device parse_device(PyObject* device);

}  // namespace cg::py
