// Marks: leaves and intermediates whose gradients are written into memory of the program.
#include <ATen/ops/clone.h>

#include "core/unread.h"
#include "python/deferred.h"

namespace cg::py {
namespace {

bool recorded(const PyVariable* v) { return v->v.node && v->v.node->creator && !v->v.node->creator->released; }

void renew_node(PyVariable* v, bool requires_grad) {
  Ref<VariableNode> node = make_node(v->v.data, requires_grad);
  if (v->v.node && v->v.node->name) node->name = std::make_unique<std::string>(*v->v.node->name);
  place(v, std::move(node));
}

// mark(variable, gradient, add, keep_history=False): passes then write the gradient of `variable` into the memory of
// the Variable `gradient`; None excludes `variable` from differentiation. `variable` becomes a new leaf, unless it is a
// recorded result and keep_history is true.
void mark(PyObject*, PyObject* const* args, Py_ssize_t n) {
  PyVariable* v = expect_variable(args[0], "variable");
  const bool keep = n == 4 && truth(args[3]) && recorded(v);
  const bool wanted = args[1] != Py_None;
  if (!keep) renew_node(v, wanted);
  auto buffer = std::make_unique<GradientBuffer>();
  // A separate tensor on this memory, without a Python object.
  if (wanted) buffer->data = tensor_of(expect_variable(args[1], "gradient")).detach();
  buffer->add = truth(args[2]);
  node_of(v)->buffer = std::move(buffer);
}

// replace_leaf(variable, tensor): gives the variable other data and makes it a new leaf; graphs that use the old data
// are not changed.
void replace_leaf(PyObject*, PyObject* const* args, Py_ssize_t n) {
  PyVariable* v = expect_variable(args[0], "variable");
  if (!is_tensor(args[1])) fail(PyExc_TypeError, "tensor: expected a torch tensor, got %s", Py_TYPE(args[1])->tp_name);
  const bool needed = v->v.node && v->v.node->requires_grad;
  std::unique_ptr<GradientBuffer> buffer = v->v.node ? std::move(v->v.node->buffer) : nullptr;
  v->v.data = unwrap_tensor(args[1], "tensor");
  Py_CLEAR(v->array);
  v->array_of = nullptr;
  renew_node(v, needed);
  v->v.node->buffer = std::move(buffer);
}

// drop_mark(variable): its gradient is no longer stored; a leaf becomes a constant.
void drop_mark(PyObject*, PyObject* o) {
  PyVariable* v = expect_variable(o, "variable");
  if (!v->v.node || !v->v.node->buffer) return;
  v->v.node->buffer.reset();
  if (!v->v.node->creator) v->v.node->requires_grad = false;
}

// gradient_of(variable): a Variable that shares the memory of its gradient buffer, or None.
PyObject* gradient_of(PyObject*, PyObject* o) {
  PyVariable* v = expect_variable(o, "variable");
  if (!v->v.node || !v->v.node->buffer) Py_RETURN_NONE;
  return wrap_var(Var(v->v.node->buffer->data), v->frontend);
}

// fresh(variable[, value]): whether a pass has written the gradient since the flag was last cleared; None if the
// variable is not marked.
PyObject* fresh(PyObject*, PyObject* const* args, Py_ssize_t n) {
  PyVariable* v = expect_variable(args[0], "variable");
  GradientBuffer* b = v->v.node ? v->v.node->buffer.get() : nullptr;
  if (!b || !b->data.defined()) Py_RETURN_NONE;
  if (n == 2) b->fresh = truth(args[1]);
  return PyBool_FromLong(b->fresh);
}

// in_graph(variable): 0 for a constant, 1 for a marked leaf, 2 for a recorded result, 3 for a variable that is excluded
// from differentiation or computed from such variables.
PyObject* in_graph(PyObject*, PyObject* o) {
  PyVariable* v = expect_variable(o, "variable");
  if (recorded(v)) return PyLong_FromLong(2);
  if (!v->v.node || !v->v.node->buffer) return PyLong_FromLong(0);
  return PyLong_FromLong(v->v.node->buffer->data.defined() ? v->v.node->requires_grad : 3);
}

// take_place(variable, result): `variable` takes the place of `result` in the graph, and `result` becomes a constant.
// The values must already be in the memory of `variable`.
void take_place(PyObject*, PyObject* const* args, Py_ssize_t n) {
  PyVariable *v = expect_variable(args[0], "variable"), *y = expect_variable(args[1], "result");
  place(v, std::move(y->v.node));
}

// share_place(variable, other): `variable`, which shares the memory of `other`, also gets its place in the graph.
void share_place(PyObject*, PyObject* const* args, Py_ssize_t n) {
  PyVariable *v = expect_variable(args[0], "variable"), *other = expect_variable(args[1], "other");
  leave(v);
  v->v.node = node_of(other);
}

// `y`, or a copy if `y` shares the memory of an input.
Obj unaliased(PyObject* y, PyObject* const* inputs, Py_ssize_t n) {
  if (!is_variable(y)) return Obj::borrow(y);
  PyVariable* v = as_variable(y);
  if (!v->v.data.has_storage()) return Obj::borrow(y);
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (PyList_Check(inputs[i]) || PyTuple_Check(inputs[i])) {
      PyObject** items = PySequence_Fast_ITEMS(inputs[i]);
      Obj own = unaliased(y, items, PySequence_Fast_GET_SIZE(inputs[i]));
      if (own.get() != y || !v->v.data.has_storage()) return own;
      continue;
    }
    if (!is_variable(inputs[i])) continue;
    const at::Tensor& x = as_variable(inputs[i])->v.data;
    // an array whose values come later shares no memory
    if (inputs[i] != y && (is_unread(x) || is_unread(v->v.data))) continue;
    if (!x.has_storage() || !x.storage().is_alias_of(v->v.data.storage()) || v->v.data.numel() == 0) continue;
    if (inputs[i] == y) {  // the input itself
      static const OpInfo* copy = find_op("copy");
      const Var in[] = {var_of(v)};
      return Obj::steal(call_op(copy->create(), in, v->frontend));
    }
    v->v.data = v->v.data.clone(at::MemoryFormat::Contiguous);
    break;
  }
  return Obj::borrow(y);
}

// own(y, *inputs): a result, or a list of results, copied if it shares memory with an input, because results of MXNet's
// operators share none.
PyObject* own(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n < 1) fail(PyExc_TypeError, "own: expected a result");
  PyObject* const y = args[0];
  if (PyList_Check(y)) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(y); ++i)
      PyList_SetItem(y, i, unaliased(PyList_GET_ITEM(y, i), args + 1, n - 1).release());
    return Py_NewRef(y);
  }
  if (!PyTuple_Check(y)) return unaliased(y, args + 1, n - 1).release();
  const auto item = [&](size_t i) { return unaliased(PyTuple_GET_ITEM(y, i), args + 1, n - 1).release(); };
  return tuple_of(PyTuple_GET_SIZE(y), item).release();
}

// uses(variables): a byte for each variable, which says what passes do with its gradient: 0 they compute none, 1 they
// store it in the variable, 2 they write it into an array of the program, 3 they add it to such an array.
PyObject* uses(PyObject*, PyObject* o) {
  const Items variables(o, "variables");
  std::string found;
  for (PyObject* x : variables) {
    const VariableNode* const n = expect_variable(x, "variables")->v.node.get();
    if (n && n->deferred)
      found += static_cast<char>(need_grad_of(*n));
    else if (n && n->buffer)
      found += static_cast<char>(n->buffer->data.defined() ? 2 + n->buffer->add : 0);
    else
      found += static_cast<char>(n && n->requires_grad);
  }
  return PyBytes_FromStringAndSize(found.data(), static_cast<Py_ssize_t>(found.size()));
}

// constant(variable): a constant that shares its data.
PyObject* constant(PyObject*, PyObject* o) {
  PyVariable* v = expect_variable(o, "variable");
  return wrap_var(Var(tensor_of(v)), v->frontend);
}

// foreign(frontend, arguments): whether one is a Variable of another frontend, or a list or tuple that contains one.
PyObject* foreign(PyObject*, PyObject* const* args, Py_ssize_t) {
  return PyBool_FromLong(is_foreign(args[1], expect_frontend(args[0]), 3));
}

}  // namespace

PyMethodDef mark_functions[] = {{"mark", FAST(mark, 3, 4), nullptr},
                                {"replace_leaf", FAST(replace_leaf, 2), nullptr},
                                {"drop_mark", guard<drop_mark>, METH_O, nullptr},
                                {"gradient_of", guard<gradient_of>, METH_O, nullptr},
                                {"fresh", FAST(fresh, 1, 2), nullptr},
                                {"uses", guard<uses>, METH_O, nullptr},
                                {"in_graph", guard<in_graph>, METH_O, nullptr},
                                {"take_place", FAST(take_place, 2), nullptr},
                                {"share_place", FAST(share_place, 2), nullptr},
                                {"own", FAST(own), nullptr},
                                {"foreign", FAST(foreign, 2), nullptr},
                                {"constant", guard<constant>, METH_O, nullptr},
                                {nullptr, nullptr, 0, nullptr}};

}  // namespace cg::py
