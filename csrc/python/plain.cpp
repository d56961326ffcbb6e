// Calls with plain arguments: the checks that a frontend's function makes before its op runs, or several ops in one
// call. Each of these functions reports by False, None or NotImplemented that the arguments are not plain; the caller
// then runs its own code in Python, which converts the arguments or raises the original's error.
#include "python/deferred.h"
#include "python/scopes.h"

namespace cg::py {
namespace {

// ---- layers of nnabla -----------------------------------------------------------------------------------------------
// Whether a name leads to a scope inside.
bool is_path(PyObject* name) { return PyUnicode_FindChar(name, '/', 0, PyUnicode_GET_LENGTH(name), 1) != -1; }
PyObject* inner_scope(PyObject* scope, PyObject* name) {
  if (!PyODict_CheckExact(scope) || !PyUnicode_CheckExact(name) || is_path(name)) return nullptr;
  PyObject* const found = PyDict_GetItemWithError(scope, name);
  if (!found && PyErr_Occurred()) throw PyError();
  return found && PyODict_CheckExact(found) ? found : nullptr;
}

// labels_fit(x, labels): whether x is a matrix, and labels are a column with a number for each of its rows
PyObject* labels_fit(PyObject*, PyObject* const* args, Py_ssize_t) {
  for (int i = 0; i < 2; ++i)
    if (!PyObject_TypeCheck(args[i], &DeferredVariableType)) Py_RETURN_FALSE;
  const at::IntArrayRef x = node_of_object(args[0]).sizes, labels = node_of_object(args[1]).sizes;
  return PyBool_FromLong(x.size() == 2 && labels.size() == 2 && labels[0] == x[0] && labels[1] == 1);
}

bool is_shape(PyObject* shape, at::IntArrayRef sizes) {
  if (!(PyTuple_CheckExact(shape) || PyList_CheckExact(shape)) || PySequence_Fast_GET_SIZE(shape) != std::ssize(sizes))
    return false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    PyObject* const n = PySequence_Fast_GET_ITEM(shape, i);
    if (!PyLong_CheckExact(n) || PyLong_AsLongLong(n) != sizes[i]) return false;
  }
  return true;
}
// take_parameter(scope, name, shape or None, need_grad, as_need_grad): what nnabla's get_parameter_or_create returns if
// the parameter is in the dict `scope` and has this shape and this need_grad; otherwise None
PyObject* take_parameter(PyObject*, PyObject* const* args, Py_ssize_t) {
  PyObject *const scope = args[0], *const name = args[1];
  PyObject* const found =
      PyDict_Check(scope) && PyUnicode_CheckExact(name) ? PyDict_GetItemWithError(scope, name) : nullptr;
  if (!found && PyErr_Occurred()) throw PyError();
  if (!found || !PyObject_TypeCheck(found, &DeferredVariableType) || !PyBool_Check(args[3]) || !PyBool_Check(args[4]))
    Py_RETURN_NONE;
  Frontend* const f = as_variable(found)->frontend;
  VariableNode& n = node_of_object(found);
  if (reinterpret_cast<PyObject*>(Py_TYPE(found)) != f->variable_class || need_grad_of(n) != (args[3] == Py_True) ||
      !(args[2] == Py_None || is_shape(args[2], n.sizes)) || is_path(name))
    Py_RETURN_NONE;
  Obj taken = Obj::steal(unlinked_variable(found, args[4]));
  put_string(as_variable(taken.get())->v.node->name, name, "name");
  return taken.release();
}

// call_layer(frontend, module, scope, f, args, kwargs): f(*args, **kwargs), while module.current_scope is the scope
// `scope` inside the scope that kwargs["name"] names; `name` is taken out of kwargs. NotImplemented if one of the two
// scopes does not exist, or if an argument belongs to another frontend.
PyObject* call_layer(PyObject*, PyObject* const* args, Py_ssize_t) {
  static PyObject *const current = PyUnicode_InternFromString("current_scope"), *const name =
                                                                                    PyUnicode_InternFromString("name");
  const Frontend* const f = expect_frontend(args[0]);
  PyObject *const module = args[1], *const given = args[4], *const keywords = args[5];
  if (is_foreign(given, f, 3)) Py_RETURN_NOTIMPLEMENTED;
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(keywords, &at, &key, &value);)
    if (is_foreign(value, f, 2)) Py_RETURN_NOTIMPLEMENTED;
  const Obj old = Obj::steal(PyObject_GetAttr(module, current));
  PyObject* scope = old.get();
  PyObject* const own = PyDict_GetItemWithError(keywords, name);
  if (!own && PyErr_Occurred()) throw PyError();
  if (own && own != Py_None) scope = inner_scope(scope, own);
  if (scope) scope = inner_scope(scope, args[2]);
  if (!scope) Py_RETURN_NOTIMPLEMENTED;
  if (own && PyDict_DelItem(keywords, name) < 0) throw PyError();
  return call_with_attribute(module, current, scope, args[3], given, keywords);
}

}  // namespace

PyMethodDef plain_functions[] = {{"call_layer", FAST(call_layer, 6), nullptr},
                                 {"labels_fit", FAST(labels_fit, 2), nullptr},
                                 {"take_parameter", FAST(take_parameter, 5), nullptr},
                                 {nullptr, nullptr, 0, nullptr}};

}  // namespace cg::py
