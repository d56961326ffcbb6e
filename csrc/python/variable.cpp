// The Variable type: data, gradient and node; the operators are in operators.cpp.
#include <ATen/ops/clone.h>

#include "python/joined.h"

namespace cg::py {
namespace {

PyVariable* self_of(PyObject* o) { return reinterpret_cast<PyVariable*>(o); }

PyObject* variable_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyVariable* v = allocate(type, frontend_of_object(reinterpret_cast<PyObject*>(type)));
  place(v, make_node({}, true));
  return reinterpret_cast<PyObject*>(v);
}

int variable_init(PyObject* o, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"data", "requires_grad", "name", nullptr};
  PyObject *data = Py_None, *name = Py_None;
  int requires_grad = 1;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OpO:Variable", const_cast<char**>(names), &data, &requires_grad,
                                   &name))
    return -1;
  return guarded(-1, [&] {
    PyVariable* v = self_of(o);
    if (!v->v.node || v->v.node->creator)
      fail(PyExc_RuntimeError, "%s.__init__: this object is the result of a computation already", Py_TYPE(o)->tp_name);
    if (requires_grad && in_torch_graph(data)) {
      take(v, enter(torch_tensor(data), v->frontend));
    } else {
      set_data(v, is_tensor(data) && !requires_grad ? Obj::steal(wrap_tensor(torch_tensor(data).detach())).get() : data,
               "data");
      v->v.node->requires_grad = requires_grad;
    }
    if (name != Py_None && PyObject_SetAttrString(o, "name", name) < 0) throw PyError();
    return 0;
  });
}

int variable_clear(PyObject* o) {
  PyVariable* v = self_of(o);
  leave(v);
  const Ref<VariableNode> node = std::move(v->v.node);  // released after the Variable has dropped everything
  const Var grad = std::exchange(v->v.grad, Var());
  Py_CLEAR(v->array);
  Py_CLEAR(v->grad_var);
  Py_CLEAR(v->dict);
  Py_CLEAR(v->node_view);
  return 0;
}

void variable_dealloc(PyObject* o) {
  PyObject_GC_UnTrack(o);
  PyVariable* v = self_of(o);
  leave(v);
  if (v->weakrefs) PyObject_ClearWeakRefs(o);
  if (v->v.node && v->v.node->deferred && v->v.node->refs > 1) release_unread(*v->v.node);
  variable_clear(o);
  v->v.~Variable();
  Py_TYPE(o)->tp_free(o);
}

int variable_traverse(PyObject* o, visitproc visit, void* arg) {
  PyVariable* v = self_of(o);
  Py_VISIT(v->array);
  Py_VISIT(v->grad_var);
  Py_VISIT(v->dict);
  if (v->v.grad.node && !v->grad_var)
    if (int r = traverse_node(v->v.grad.node.get(), 1, visit, arg)) return r;
  if (v->node_view) {  // it visits the rest
    Py_VISIT(v->node_view);
    return 0;
  }
  return v->v.node ? traverse_node(v->v.node.get(), 1, visit, arg) : 0;
}

// ---- data -----------------------------------------------------------------------------------------------------------
PyObject* get_tensor(PyObject* o, void*) { return wrap_tensor(tensor_of(self_of(o))); }

PyObject* get_array(PyObject* o, void*) {
  PyVariable* v = self_of(o);
  if (v->array && (!v->array_of || v->array_of == v->v.data.unsafeGetTensorImpl())) return Py_NewRef(v->array);
  if (!v->v.data.defined()) Py_RETURN_NONE;
  PyObject* a = array_of_tensor(v->v.data);
  Py_XSETREF(v->array, Py_NewRef(a));
  v->array_of = v->v.data.unsafeGetTensorImpl();
  return a;
}

void set_array(PyObject* o, PyObject* value, void*) { set_data(self_of(o), value, "array"); }

const at::Tensor& require_data(PyObject* o, const char* attribute) {
  const at::Tensor& t = unread_tensor_of(self_of(o));
  if (!t.defined()) fail(PyExc_AttributeError, "'NoneType' object has no attribute '%s'", attribute);
  return t;
}

PyObject* get_shape(PyObject* o, void*) {
  const at::Tensor& t = require_data(o, "shape");
  if (self_of(o)->frontend->numpy) return tuple_of_ints(t.sizes());
  Obj wrapped = Obj::steal(wrap_tensor(t));
  return PyObject_GetAttrString(wrapped.get(), "shape");
}
PyObject* get_ndim(PyObject* o, void*) { return PyLong_FromLongLong(require_data(o, "ndim").dim()); }
PyObject* get_size(PyObject* o, void*) { return PyLong_FromLongLong(require_data(o, "size").numel()); }
PyObject* get_dtype(PyObject* o, void*) {
  return Py_NewRef(dtype_object(require_data(o, "dtype").scalar_type(), self_of(o)->frontend));
}

// ---- gradient -------------------------------------------------------------------------------------------------------
PyObject* get_grad_var(PyObject* o, void*) {
  PyVariable* v = self_of(o);
  if (!v->v.grad.defined()) {
    // A program may have assigned an empty Variable as the gradient.
    if (v->grad_var && !as_variable(v->grad_var)->v.data.defined()) return Py_NewRef(v->grad_var);
    Py_CLEAR(v->grad_var);
    Py_RETURN_NONE;
  }
  if (v->grad_var) {
    PyVariable* g = as_variable(v->grad_var);
    if (g->v.data.is_same(v->v.grad.data) && (!v->v.grad.node || g->v.node == v->v.grad.node))
      return Py_NewRef(v->grad_var);
  }
  if (!v->v.grad.node) v->v.grad.node = make_node(v->v.grad.data, true);
  PyObject* g = living_variable(*v->v.grad.node) ? variable_of_node(v->v.grad.node, v->frontend)
                                                 : wrap_var(v->v.grad, v->frontend);
  Py_XSETREF(v->grad_var, Py_NewRef(g));
  return g;
}

void put_grad_var(PyObject* o, PyObject* value, void*) {
  if (value != Py_None && !is_variable(value))
    fail(PyExc_TypeError, "grad_var: expected a Variable or None, got %s", Py_TYPE(value)->tp_name);
  set_gradient(self_of(o), value == Py_None ? nullptr : value);
}

PyObject* get_grad_array(PyObject* o, void*) {
  Obj g = Obj::steal(get_grad_var(o, nullptr));
  return g.get() == Py_None ? g.release() : get_array(g.get(), nullptr);
}

void put_grad_array(PyObject* o, PyObject* value, void*) {
  PyVariable* v = self_of(o);
  if (value == Py_None) return set_gradient(v, nullptr);
  Obj g = Obj::steal(PyObject_CallNoArgs(v->frontend->variable_class));
  set_data(as_variable(g.get()), value, "grad");
  set_gradient(v, g.get());
}

PyObject* get_grad_tensor(PyObject* o, void*) { return wrap_tensor(gradient_tensor(self_of(o))); }

void put_grad_tensor(PyObject* o, PyObject* value, void*) {
  PyVariable* v = self_of(o);
  if (value != Py_None && !is_tensor(value))
    fail(PyExc_TypeError, "grad: expected a torch tensor or None, got %s", Py_TYPE(value)->tp_name);
  Py_CLEAR(v->grad_var);
  v->v.grad = value != Py_None ? Var(unwrap_tensor(value, "grad")) : Var();
}

void cleargrad(PyObject* o, PyObject*) { set_gradient(self_of(o), nullptr); }

PyObject* get_loss_scale(PyObject* o, void*) {
  auto& s = self_of(o)->v.loss_scale;
  return s ? PyFloat_FromDouble(*s) : Py_NewRef(Py_None);
}

void put_loss_scale(PyObject* o, PyObject* value, void*) {
  self_of(o)->v.loss_scale = value == Py_None ? std::nullopt : std::optional(number(value, "loss_scale"));
}

// ---- graph ----------------------------------------------------------------------------------------------------------
PyObject* get_node(PyObject* o, void*) {
  PyVariable* v = self_of(o);
  if (v->node_view && reinterpret_cast<PyVariableNode*>(v->node_view)->node == v->v.node)
    return Py_NewRef(v->node_view);
  PyObject* view = view_of_node(node_of(v), v->frontend);
  Py_XSETREF(v->node_view, Py_NewRef(view));
  return view;
}
PyObject* get_requires_grad(PyObject* o, void*) {
  auto& n = self_of(o)->v.node;
  return PyBool_FromLong(n && n->requires_grad);
}
void set_requires_grad(PyObject* o, PyObject* value) { node_of(self_of(o))->requires_grad = truth(value); }
PyObject* get_rank(PyObject* o, void*) {
  auto& n = self_of(o)->v.node;
  return PyLong_FromLong(n ? n->rank : 0);
}
PyObject* get_creator_node(PyObject* o, void*) {
  auto& n = self_of(o)->v.node;
  return n ? view_of_function(Shown::creator(*n), self_of(o)->frontend) : Py_NewRef(Py_None);
}
void put_creator_node(PyObject* o, PyObject* value, void*) {
  FunctionNode* f = function_of_view(value);
  node_of(self_of(o))
      ->set_creator(Ref<FunctionNode>(f), f && !f->outputs.empty() ? node_of(self_of(o))->output_index : 0);
}
PyObject* get_name(PyObject* o, void*) {
  auto& n = self_of(o)->v.node;
  return n ? get_string(n->name) : Py_NewRef(Py_None);
}
void put_name(PyObject* o, PyObject* value, void*) { put_string(node_of(self_of(o))->name, value, "name"); }
void retain_data(PyObject* o, PyObject*) { node_of(self_of(o))->retain_data(tensor_of(self_of(o))); }

PyObject* copied_array(PyObject* o, PyObject*) {
  const at::Tensor& t = tensor_of(self_of(o));
  if (!t.defined()) fail(PyExc_ValueError, "an uninitialized Variable has no values");
  return array_of_tensor(t.is_cpu() ? t.clone(at::MemoryFormat::Contiguous) : t.cpu());
}

PyGetSetDef getset[] = {
    {"tensor", guard<get_tensor>, guard<set_array>, "The torch tensor, or None.", nullptr},
    {"array", guard<get_array>, guard<set_array>, "The array view of the tensor, or None.", nullptr},
    {"shape", guard<get_shape>, nullptr, nullptr, nullptr},
    {"ndim", guard<get_ndim>, nullptr, nullptr, nullptr},
    {"size", guard<get_size>, nullptr, "Number of elements.", nullptr},
    {"dtype", guard<get_dtype>, nullptr, nullptr, nullptr},
    {"grad_var", guard<get_grad_var>, guard<put_grad_var>, "The gradient as a Variable, or None.", nullptr},
    {"_grad_array", guard<get_grad_array>, guard<put_grad_array>, nullptr, nullptr},
    {"_grad_tensor", guard<get_grad_tensor>, guard<put_grad_tensor>, nullptr, nullptr},
    {"_loss_scale", get_loss_scale, guard<put_loss_scale>, nullptr, nullptr},
    {"node", guard<get_node>, nullptr, "The node of this variable in the graph.", nullptr},
    {"requires_grad", get_requires_grad, nullptr, nullptr, nullptr},
    {"rank", get_rank, nullptr, "Length of the longest path from a leaf.", nullptr},
    {"creator_node", guard<get_creator_node>, guard<put_creator_node>,
     "The function node that made this variable, or None.", nullptr},
    {"name", get_name, guard<put_name>, nullptr, nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMethodDef methods[] = {{"cleargrad_", guard<cleargrad>, METH_NOARGS, "Drops the gradient."},
                         {"retain_data", guard<retain_data>, METH_NOARGS, "Makes the node keep the data."},
                         {"_copied_array", guard<copied_array>, METH_NOARGS, "The values as a new array."},
                         {"_set_requires_grad", guard<set_requires_grad>, METH_O, nullptr},
                         {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyTypeObject VariableType = [] {
  PyTypeObject t = type_of<PyVariable>("compatgrad._C.Variable", "A tensor with a gradient and a place in the graph.",
                                       Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC);
  t.tp_new = guard<variable_new>;
  t.tp_init = variable_init;
  set_life(t, variable_dealloc, variable_traverse, variable_clear);
  set_attributes(t, getset, methods);
  t.tp_as_number = &variable_number;
  t.tp_as_mapping = &variable_mapping;
  t.tp_as_sequence = &variable_sequence;
  return t;
}();

}  // namespace cg::py
