// Variables and graphs whose values come later, for all files that touch them.
#pragma once
#include "python/common.h"

namespace cg::py {

VariableNode& node_of_object(PyObject* o);                      // of a Variable; TypeError if that was not initialized
PyObject* unlinked_variable(PyObject* o, PyObject* need_grad);  // a new Variable of the same arrays, without a parent
// What a user set, otherwise whether a function needs the gradient.
inline bool need_grad_of(const VariableNode& n) {
  return n.deferred->need_grad >= 0 ? n.deferred->need_grad : n.requires_grad;
}
// For each of `xs` the nodes in the graph of `ys` that stand for it: all nodes that share its arrays, in both kinds of
// graph.
std::vector<std::vector<Ref<VariableNode>>> places_of(VarsRef xs, VarsRef ys);
// Converts a Variable to a frontend whose graph runs at another time. `how`: the function in compatgrad/core/bridge.py,
// "cross" or "leave".
Obj cross(PyObject* x, Frontend* f, const char* how = "cross");
// A pass's result for an input, as a Variable of the frontend; None if undefined.
Obj result_of(Var g, Frontend* f);

}  // namespace cg::py
