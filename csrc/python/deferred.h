// Shared by deferred.cpp and deferred_functions.cpp.
#pragma once
#include "python/common.h"

namespace cg::py {

VariableNode& node_of_object(PyObject* o);  // of a Variable; TypeError where it was not set up
void add_deferred_functions(PyObject* module);

}  // namespace cg::py
