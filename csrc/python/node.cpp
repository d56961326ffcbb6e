// The Python object of a variable node. At most one exists at a time, so these objects can be compared and hashed by
// identity.
#include "python/joined.h"

namespace cg::py {
namespace {

VariableNode& node(PyObject* o) { return *reinterpret_cast<PyVariableNode*>(o)->node; }
Frontend* frontend(PyObject* o) { return reinterpret_cast<PyVariableNode*>(o)->frontend; }

void dealloc(PyObject* o) {
  PyObject_GC_UnTrack(o);
  auto* self = reinterpret_cast<PyVariableNode*>(o);
  if (self->node && self->node->handle == o) self->node->handle = nullptr;
  if (self->weakrefs) PyObject_ClearWeakRefs(o);
  self->node.~Ref();
  Py_TYPE(o)->tp_free(o);
}
int traverse(PyObject* o, visitproc visit, void* arg) {
  auto* self = reinterpret_cast<PyVariableNode*>(o);
  if (!self->node) return 0;
  // The Variable that holds this object holds the node as well.
  const Variable* v = self->node->variable;
  const bool kept =
      v &&
      reinterpret_cast<const PyVariable*>(reinterpret_cast<const char*>(v) - offsetof(PyVariable, v))->node_view == o;
  return traverse_node(self->node.get(), kept ? 2 : 1, visit, arg);
}
int clear(PyObject* o) {
  auto* self = reinterpret_cast<PyVariableNode*>(o);
  // The object must stay usable while finalizers run, so only the node's edges are removed.
  if (self->node && self->node->refs <= 2) self->node->unchain();
  return 0;
}

PyObject* get_data(PyObject* o, void*) {
  VariableNode& n = node(o);
  if (!n.retained || !n.data.defined()) Py_RETURN_NONE;
  // If the Variable exists and holds the same tensor, its array object is returned.
  if (n.variable && n.variable->data.is_same(n.data) && frontend(o)->numpy) {
    Obj v = Obj::steal(variable_of_node(reinterpret_cast<PyVariableNode*>(o)->node, frontend(o)));
    return PyObject_GetAttrString(v.get(), "array");
  }
  return to_frontend_array(n.data, frontend(o));
}
void put_data(PyObject* o, PyObject* value, void*) {
  VariableNode& n = node(o);
  if (value == Py_None) {
    n.data = at::Tensor();
    n.retained = false;
    n.describe({});
    return;
  }
  bool aliases;
  at::Tensor t = is_tensor(value) ? unwrap_tensor(value, "data") : tensor_of_array(value, &aliases);
  n.retain_data(t);
  n.describe(t);
}
PyObject* get_tensor(PyObject* o, void*) { return wrap_tensor(node(o).data); }
PyObject* get_shape(PyObject* o, void*) {
  return node(o).has_shape ? tuple_of_ints(node(o).sizes) : Py_NewRef(Py_None);
}
PyObject* get_dtype(PyObject* o, void*) {
  return Py_NewRef(node(o).has_shape ? dtype_object(node(o).dtype, frontend(o)) : Py_None);
}
PyObject* get_rank(PyObject* o, void*) { return PyLong_FromLong(node(o).rank); }
void put_rank(PyObject* o, PyObject* value, void*) { node(o).rank = integer(value, "rank"); }
PyObject* get_requires_grad(PyObject* o, void*) { return PyBool_FromLong(node(o).requires_grad); }
void put_requires_grad(PyObject* o, PyObject* value, void*) { node(o).requires_grad = truth(value); }
PyObject* get_name(PyObject* o, void*) { return get_string(node(o).name); }
void put_name(PyObject* o, PyObject* value, void*) { put_string(node(o).name, value, "name"); }
PyObject* get_old_style(PyObject* o, void*) { return get_string(node(o).old_style_generator); }
void put_old_style(PyObject* o, PyObject* value, void*) {
  put_string(node(o).old_style_generator, value, "_old_style_grad_generator");
}
PyObject* get_creator_node(PyObject* o, void*) { return view_of_function(Shown::creator(node(o)), frontend(o)); }
void put_creator_node(PyObject* o, PyObject* value, void*) {
  node(o).set_creator(Ref<FunctionNode>(function_of_view(value)), node(o).output_index);
}
PyObject* get_variable(PyObject* o, PyObject*) {
  return variable_of_node(reinterpret_cast<PyVariableNode*>(o)->node, frontend(o));
}
PyObject* get_variable_or_none(PyObject* o, PyObject*) {
  return living_variable(node(o)) ? get_variable(o, nullptr) : Py_NewRef(Py_None);
}
void retain_data(PyObject* o, PyObject*) {
  VariableNode& n = node(o);
  if (!n.variable) fail(PyExc_RuntimeError, "cannot retain variable data: the variable has been already released");
  n.retain_data(n.variable->data);
  n.describe(n.data);
}
void unchain(PyObject* o, PyObject*) { node(o).unchain(); }

PyGetSetDef getset[] = {
    {"data", guard<get_data>, guard<put_data>, "The array if a function has retained it, otherwise None.", nullptr},
    {"tensor", guard<get_tensor>, nullptr, nullptr, nullptr},
    {"shape", guard<get_shape>, nullptr, nullptr, nullptr},
    {"dtype", get_dtype, nullptr, nullptr, nullptr},
    {"rank", get_rank, guard<put_rank>, nullptr, nullptr},
    {"_rank", get_rank, guard<put_rank>, nullptr, nullptr},
    {"requires_grad", get_requires_grad, guard<put_requires_grad>, nullptr, nullptr},
    {"_requires_grad", get_requires_grad, guard<put_requires_grad>, nullptr, nullptr},
    {"name", get_name, guard<put_name>, nullptr, nullptr},
    {"_old_style_grad_generator", get_old_style, guard<put_old_style>, nullptr, nullptr},
    {"creator_node", guard<get_creator_node>, guard<put_creator_node>, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef methods[] = {
    {"get_variable", guard<get_variable>, METH_NOARGS, "The Variable of this node; a new one if it was released."},
    {"get_variable_or_none", guard<get_variable_or_none>, METH_NOARGS, nullptr},
    {"retain_data", guard<retain_data>, METH_NOARGS, nullptr},
    {"unchain", guard<unchain>, METH_NOARGS, "Removes the creator."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* get_string(const std::unique_ptr<std::string>& s) {
  return s ? PyUnicode_FromStringAndSize(s->data(), s->size()) : Py_NewRef(Py_None);
}
void put_string(std::unique_ptr<std::string>& s, PyObject* value, const char* name) {
  if (value == Py_None) return s.reset();
  const char* text = PyUnicode_Check(value) ? PyUnicode_AsUTF8(value) : nullptr;
  if (!text) fail(PyExc_TypeError, "%s: expected a string or None, got %s", name, Py_TYPE(value)->tp_name);
  s = std::make_unique<std::string>(text);
}

PyObject* view_of_node(const Ref<VariableNode>& n, Frontend* f) {
  if (!n) Py_RETURN_NONE;
  if (living(n->handle)) return Py_NewRef(static_cast<PyObject*>(n->handle));
  auto* type = reinterpret_cast<PyTypeObject*>(f->variable_node_class ? f->variable_node_class
                                                                      : reinterpret_cast<PyObject*>(&VariableNodeType));
  auto* self = reinterpret_cast<PyVariableNode*>(type->tp_alloc(type, 0));
  if (!self) throw PyError();
  new (&self->node) Ref<VariableNode>(n);
  self->frontend = f;
  if (living(n->handle)) {  // the garbage collector ran, and a finalizer asked for the object
    Py_DECREF(self);
    return Py_NewRef(static_cast<PyObject*>(n->handle));
  }
  n->handle = self;
  return reinterpret_cast<PyObject*>(self);
}

PyTypeObject VariableNodeType = [] {
  PyTypeObject t = type_of<PyVariableNode>(
      "compatgrad._C.VariableNode", "The node of a Variable in the graph; it may outlive the Variable.",
      Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION);
  set_life(t, dealloc, traverse, clear);
  set_attributes(t, getset, methods);
  return t;
}();

}  // namespace cg::py
