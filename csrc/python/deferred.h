// Variables and graphs whose values come later, for all files that touch them.
#pragma once
#include "python/common.h"

namespace cg::py {

VariableNode& node_of_object(PyObject* o);  // of a Variable; TypeError if that was not initialized
// For each of `xs` the nodes in the graph of `ys` that stand for it: all nodes that share its arrays, in both kinds of
// graph.
std::vector<std::vector<Ref<VariableNode>>> places_of(VarsRef xs, VarsRef ys);
// Converts a Variable to a frontend whose graph runs at another time. `how`: the function in compatgrad/core/bridge.py,
// "cross" or "leave".
Obj cross(PyObject* x, Frontend* f, const char* how = "cross");
// A pass's result for an input, as a Variable of the frontend; None if undefined.
Obj result_of(Var g, Frontend* f);

}  // namespace cg::py
