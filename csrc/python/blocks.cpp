// Calls of Gluon's blocks and of MXNet's operators with plain arguments (see plain.cpp).
#include "core/postponed.h"
#include "kernels/trace.h"
#include "python/common.h"

namespace cg::py {
namespace {

// The shape of an array of exactly the frontend's class; null for other objects.
const at::Tensor* plain_array(PyObject* o, const Frontend* f) {
  if (reinterpret_cast<PyObject*>(Py_TYPE(o)) != f->variable_class) return nullptr;
  const at::Tensor& t = unread_tensor_of(as_variable(o));
  return t.defined() ? &t : nullptr;
}
bool is_number(PyObject* o, int64_t n) { return PyLong_CheckExact(o) && PyLong_AsLongLong(o) == n; }

// dense_fits(frontend, data, weight, bias, rows, no_bias): whether data is a matrix, and weight and bias are those of a
// dense layer of it with `rows` outputs
PyObject* dense_fits(PyObject*, PyObject* const* args, Py_ssize_t) {
  const Frontend* const f = expect_frontend(args[0]);
  const at::Tensor *const x = plain_array(args[1], f), *const w = plain_array(args[2], f);
  if (!x || !w || x->dim() != 2 || w->dim() != 2 || w->size(1) != x->size(1) || !is_number(args[4], w->size(0)))
    Py_RETURN_FALSE;
  if (args[3] == Py_None) return PyBool_FromLong(args[5] == Py_True);
  const at::Tensor* const b = plain_array(args[3], f);
  return PyBool_FromLong(args[5] == Py_False && b && b->dim() == 1 && b->size(0) == w->size(0));
}

// table_fits(frontend, data, weight, rows, width): whether weight is a table of this shape
PyObject* table_fits(PyObject*, PyObject* const* args, Py_ssize_t) {
  const Frontend* const f = expect_frontend(args[0]);
  const at::Tensor* const w = plain_array(args[2], f);
  return PyBool_FromLong(w && plain_array(args[1], f) && w->dim() == 2 && is_number(args[3], w->size(0)) &&
                         is_number(args[4], w->size(1)));
}

// gates_fit(gates, state, count): whether `gates` has the dtype of `state`, and its shape but for a second axis that is
// `count` times as long; no array may be sparse
PyObject* gates_fit(PyObject*, PyObject* const* args, Py_ssize_t) {
  const at::Tensor* const gates = plain_array(args[0], expect_variable(args[0], "gates")->frontend);
  const at::Tensor* const state = plain_array(args[1], expect_variable(args[1], "state")->frontend);
  if (!gates || !state || state->dim() < 2 || gates->scalar_type() != state->scalar_type()) Py_RETURN_FALSE;
  c10::DimVector expected(state->sizes());
  expected[1] *= PyLong_AsLongLong(args[2]);
  return PyBool_FromLong(gates->sizes() == at::IntArrayRef(expected));
}

// ---- blocks ---------------------------------------------------------------------------------------------------------
Obj attribute(PyObject* o, PyObject* name) { return Obj::steal(PyObject_GetAttr(o, name)); }
bool has_context(PyObject* array) {
  static PyObject* const name = PyUnicode_InternFromString("_ctx");
  return attribute(array, name).get() != Py_None;
}

// Calls take(name, array) for each parameter in the dict of a Gluon block. Stops and returns false if `take` returns
// false, or if a parameter is not initialized or its array has a noted context.
template <class F>
bool each_parameter(PyObject* parameters, const Frontend* f, F&& take) {
  static PyObject* const one = PyUnicode_InternFromString("_one");
  if (!PyDict_Check(parameters)) return false;
  auto* const arrays = reinterpret_cast<PyTypeObject*>(f->variable_class);
  PyObject *name, *parameter;
  for (Py_ssize_t at = 0; PyDict_Next(parameters, &at, &name, &parameter);) {
    const Obj list = attribute(parameter, one);
    if (!PyList_Check(list.get()) || PyList_GET_SIZE(list.get()) == 0) return false;
    PyObject* const value = PyList_GET_ITEM(list.get(), 0);
    if (!PyObject_TypeCheck(value, arrays) || has_context(value)) return false;
    if (!take(name, value)) return false;
  }
  return true;
}
// Whether x is an array in main memory without a noted context, and none of `others` is a symbol.
template <class Others>
bool is_plain_input(PyObject* x, const Frontend* f, const Others& others, PyObject* symbols) {
  if (!PyObject_TypeCheck(x, reinterpret_cast<PyTypeObject*>(f->variable_class))) return false;
  if (has_context(x)) return false;
  const at::Tensor& t = unread_tensor_of(as_variable(x));
  if (!t.defined() || t.is_cuda()) return false;
  for (PyObject* o : others)
    if (PyObject_TypeCheck(o, reinterpret_cast<PyTypeObject*>(symbols))) return false;
  return true;
}

// call_block(frontend, forward, block, args, symbols, operators): block.hybrid_forward(operators, *args, **parameters),
// which is what HybridBlock.forward gives, with the arrays of the block's parameters. NotImplemented if block.forward
// is another function than `forward`, the block is hybridized or has hooks, or an array is not plain.
PyObject* call_block(PyObject*, PyObject* const* args, Py_ssize_t) {
  const auto name = [](const char* s) { return PyUnicode_InternFromString(s); };
  static PyObject *const before = name("_forward_pre_hooks"), *const after = name("_forward_hooks"),
                         *const active = name("_active"), *const forward = name("forward"),
                         *const parameters = name("_reg_params"), *const body = name("hybrid_forward");
  const Frontend* const f = expect_frontend(args[0]);
  PyObject *const block = args[2], *const given = args[3];
  const Py_ssize_t n = PyTuple_GET_SIZE(given);
  if (n == 0 || is_foreign(given, f, 3)) Py_RETURN_NOTIMPLEMENTED;
  const Obj called = attribute(block, forward);
  if (!PyMethod_Check(called.get()) || PyMethod_GET_FUNCTION(called.get()) != args[1]) Py_RETURN_NOTIMPLEMENTED;
  if (attribute(block, active).get() != Py_False || truth(attribute(block, before).get()) ||
      truth(attribute(block, after).get()))
    Py_RETURN_NOTIMPLEMENTED;
  PyObject* const* const inputs = &PyTuple_GET_ITEM(given, 0);
  if (!is_plain_input(inputs[0], f, c10::ArrayRef<PyObject*>(inputs + 1, n - 1), args[4])) Py_RETURN_NOTIMPLEMENTED;
  c10::SmallVector<Obj, 4> names, values;
  const bool plain = each_parameter(attribute(block, parameters).get(), f, [&](PyObject* name, PyObject* value) {
    names.push_back(Obj::borrow(name));
    values.push_back(Obj::borrow(value));
    return true;
  });
  if (!plain) Py_RETURN_NOTIMPLEMENTED;
  c10::SmallVector<PyObject*, 8> all{block, args[5]};
  all.append(inputs, inputs + n);
  for (const Obj& value : values) all.push_back(value.get());
  const Obj keywords =
      values.empty() ? Obj() : tuple_of(names.size(), [&](size_t i) { return Py_NewRef(names[i].get()); });
  return PyObject_VectorcallMethod(body, all.data(), n + 2, keywords.get());
}

// block_parameters(frontend, x, others, parameters, symbols): the arrays of a Gluon block's parameters by name, if all
// arrays are on the CPU and no context is noted at them, and none of `others` is a symbol; otherwise None
PyObject* block_parameters(PyObject*, PyObject* const* args, Py_ssize_t) {
  const Frontend* const f = expect_frontend(args[0]);
  const Items others(args[2], "others");
  if (!is_plain_input(args[1], f, others, args[4])) Py_RETURN_NONE;
  Obj found = Obj::steal(PyDict_New());
  const bool plain = each_parameter(args[3], f, [&](PyObject* name, PyObject* value) {
    if (PyDict_SetItem(found.get(), name, value) < 0) throw PyError();
    return true;
  });
  return plain ? found.release() : Py_NewRef(Py_None);
}

// has_containers(attributes, plain, own): whether a value of the dict `attributes` is a list, tuple or dict that is not
// empty, its class is not in the set `plain`, and its name is not in the set `own`
PyObject* has_containers(PyObject*, PyObject* const* args, Py_ssize_t) {
  if (!PyDict_Check(args[0])) Py_RETURN_TRUE;
  const auto in = [](PyObject* set, PyObject* o) {
    const int found = PySet_Contains(set, o);
    if (found < 0) throw PyError();
    return found > 0;
  };
  PyObject *name, *value;
  for (Py_ssize_t at = 0; PyDict_Next(args[0], &at, &name, &value);)
    if ((PyList_Check(value) || PyTuple_Check(value) || PyDict_Check(value)) &&
        !in(args[1], reinterpret_cast<PyObject*>(Py_TYPE(value))) && !in(args[2], name) && truth(value))
      Py_RETURN_TRUE;
  Py_RETURN_FALSE;
}

// lstm_cell(frontend, x, states, parameters, order): the output and the memory after a step of Gluon's LSTMCell, by the
// four functions that its hybrid_forward calls; None if an array is not plain or the shapes do not fit.
PyObject* lstm_cell(PyObject*, PyObject* const* args, Py_ssize_t) {
  static const OpInfo *const linear = find_op("linear"), *const add = find_op("add"), *const lstm = find_op("lstm");
  Frontend* const f = expect_frontend(args[0]);
  if (!(PyList_CheckExact(args[2]) || PyTuple_CheckExact(args[2])) || PySequence_Fast_GET_SIZE(args[2]) != 2)
    Py_RETURN_NONE;
  enum { X, H, C, OfInput, OfState, InputBias, StateBias, kArrays };
  constexpr const char* names[] = {"i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias"};
  PyObject* objects[kArrays] = {args[1], PySequence_Fast_GET_ITEM(args[2], 0), PySequence_Fast_GET_ITEM(args[2], 1)};
  const bool known = each_parameter(args[3], f, [&](PyObject* name, PyObject* value) {
    for (int k = 0; k < 4; ++k)
      if (PyUnicode_CompareWithASCIIString(name, names[k]) == 0) objects[OfInput + k] = value;
    return true;
  });
  if (!known || kernels::traced()) Py_RETURN_NONE;  // a trace needs each function as the program calls it
  const at::Tensor* t[kArrays];
  for (int k = 0; k < kArrays; ++k) {
    if (!objects[k] || !(t[k] = plain_array(objects[k], f))) Py_RETURN_NONE;
    if (t[k]->dim() != (k < InputBias ? 2 : 1) || t[k]->scalar_type() != t[X]->scalar_type() ||
        !t[k]->device().is_cpu())
      Py_RETURN_NONE;
    if (k <= C && has_context(objects[k])) Py_RETURN_NONE;
  }
  const int64_t batch = t[X]->size(0), units = t[C]->size(1), rows = 4 * units;
  const auto is = [&](int k, int64_t a, int64_t b) { return t[k]->size(0) == a && t[k]->size(1) == b; };
  const bool fits = is(H, batch, units) && is(C, batch, units) && is(OfInput, rows, t[X]->size(1)) &&
                    is(OfState, rows, units) && t[InputBias]->size(0) == rows && t[StateBias]->size(0) == rows;
  if (!fits || !at::isFloatingType(t[X]->scalar_type())) Py_RETURN_NONE;
  const auto of = [&](int k) { return unread_var_of(as_variable(objects[k])); };
  const auto run = [&](const OpInfo* op, VarsRef in, PyObject* parameter = nullptr) {
    const Ref<FunctionNode> node(op->create());
    if (parameter) parse_param(op->params[0], parameter, op->params[0].address(node->params()));
    return apply_for(*node, in, f);
  };
  const Setting postpones(may_postpone, 0);
  try {
    const Var both[] = {run(linear, {of(X), of(OfInput), of(InputBias)})[0],
                        run(linear, {of(H), of(OfState), of(StateBias)})[0]};
    return wrap_outputs(run(lstm, {of(C), run(add, both)[0]}, args[4]), f);
  } catch (const c10::Error&) {
    Py_RETURN_NONE;
  }
}

}  // namespace

PyMethodDef block_functions[] = {
    {"dense_fits", FAST(dense_fits, 6), nullptr}, {"table_fits", FAST(table_fits, 5), nullptr},
    {"gates_fit", FAST(gates_fit, 3), nullptr},   {"block_parameters", FAST(block_parameters, 5), nullptr},
    {"call_block", FAST(call_block, 6), nullptr}, {"has_containers", FAST(has_containers, 3), nullptr},
    {"lstm_cell", FAST(lstm_cell, 5), nullptr},   {nullptr, nullptr, 0, nullptr}};

}  // namespace cg::py
