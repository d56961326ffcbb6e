// Shared by deferred.cpp and deferred_functions.cpp.
#pragma once
#include "python/common.h"

namespace cg::py {

VariableNode& node_of_object(PyObject* o);  // of a Variable; TypeError where it was not set up
// The nodes that stand for each of `xs` in the graph of `ys`, whichever sides it has: all that share its arrays.
std::vector<std::vector<Ref<VariableNode>>> places_of(VarsRef xs, VarsRef ys);
// A Variable as one of a frontend whose graph runs at another time. `how`: "cross", or "leave"
// (compatgrad/core/bridge.py).
Obj cross(PyObject* x, Frontend* f, const char* how = "cross");
// What a pass gives for an input, as a Variable of the frontend; None where undefined.
Obj result_of(Var g, Frontend* f);

}  // namespace cg::py
