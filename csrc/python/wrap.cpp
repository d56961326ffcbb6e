// Makes Variables from data, reads the data of Variables, and runs functions on them for a frontend.
#include "core/door.h"
#include "core/postponed.h"
#include "python/deferred.h"

namespace cg::py {

PyVariable* expect_variable(PyObject* o, const char* name, Py_ssize_t index) {
  if (is_variable(o)) return as_variable(o);
  const std::string who = index < 0 ? name : c10::str(name, "[", index, "]");
  fail(PyExc_TypeError, "%s: expected a Variable, got %s", who.c_str(), Py_TYPE(o)->tp_name);
}

Frontend* expect_frontend(PyObject* o) {
  if (!PyObject_TypeCheck(o, &FrontendType)) fail(PyExc_TypeError, "expected a Frontend, got %s", Py_TYPE(o)->tp_name);
  return reinterpret_cast<Frontend*>(o);
}

void set_tensor(PyVariable* v, at::Tensor t) {
  v->v.data = std::move(t);
  if (!v->v.node) return;
  VariableNode& n = *v->v.node;
  n.describe(v->v.data);
  if (n.retained) n.data = v->v.data;
}

namespace {
// `array`: the object that the program passed, if it is not a torch tensor. aliases: it shares the memory of `t`.
void hold(PyVariable* v, at::Tensor t, PyObject* array = nullptr, bool aliases = false) {
  Py_XSETREF(v->array, Py_XNewRef(array));
  v->array_of = aliases ? t.unsafeGetTensorImpl() : nullptr;
  set_tensor(v, std::move(t));
}
}  // namespace

// `data`: None, an array, or a torch tensor.
void set_data(PyVariable* v, PyObject* data, const char* what) {
  if (data == Py_None) return hold(v, {});
  if (is_ndarray(data)) {
    bool aliases;
    at::Tensor t = tensor_of_array(data, &aliases);
    return hold(v, std::move(t), data, aliases);
  }
  if (is_tensor(data)) return hold(v, unwrap_tensor(data, what));
  Obj t = call_python("compatgrad.core.arrays", "tensor_of_device_array", "Os", data, what);
  hold(v, unwrap_tensor(t.get(), what), data, true);
}

void take(PyVariable* v, Var x) {
  v->v.data = std::move(x.data);
  place(v, std::move(x.node));
}

Frontend* frontend_of_object(PyObject* o) {
  static PyObject* name = PyUnicode_InternFromString("_frontend");
  PyObject* f = PyObject_GetAttr(o, name);
  if (!f) {
    PyErr_Clear();
    return native_frontend;
  }
  Py_DECREF(f);  // frontends are immortal
  if (!PyObject_TypeCheck(f, &FrontendType)) fail(PyExc_TypeError, "%R._frontend is not a Frontend", o);
  return reinterpret_cast<Frontend*>(f);
}

PyVariable* allocate(PyTypeObject* type, Frontend* f) {
  auto* v = reinterpret_cast<PyVariable*>(type->tp_alloc(type, 0));
  if (!v) throw PyError();
  new (&v->v) Variable();
  v->frontend = f;
  return v;
}

const at::Tensor& tensor_of(PyVariable* v) { return read(unread_tensor_of(v)); }

const at::Tensor& unread_tensor_of(PyVariable* v) {
  if (v->v.node && v->v.node->deferred) return v->v.node->deferred->store->data->unread();
  if (v->array && !v->array_of && v->v.data.defined()) {
    // torch cannot share this array's memory, so it is converted again to see later changes.
    bool aliases;
    v->v.data = tensor_of_array(v->array, &aliases);
  }
  return v->v.data;
}

const Ref<VariableNode>& node_of(PyVariable* v) {
  if (!v->v.node) place(v, make_node(v->v.data, false));
  return v->v.node;
}

Var var_of(PyVariable* v) {
  Var x = unread_var_of(v);
  read(x.data);
  return x;
}

Var unread_var_of(PyVariable* v) {
  if (v->v.node && v->v.node->deferred) return deferred_var(v->v.node, nullptr, 0, true);
  const at::Tensor& t = unread_tensor_of(v);
  if (t.defined() && t.requires_grad())  // its history would be lost silently
    fail(PyExc_RuntimeError,
         "torch differentiates the tensor of this %s since it was wrapped (requires_grad_() or an operation in place): "
         "wrap the tensor again, so that the engine sees its history",
         Py_TYPE(v)->tp_name);
  // A constant whose node was never asked for is passed without a node.
  return {v->v.node, t};
}

PyObject* wrap_var(Var x, Frontend* f) {
  if (!x.defined()) Py_RETURN_NONE;
  PyVariable* v = allocate(reinterpret_cast<PyTypeObject*>(f->variable_class), f);
  if (!x.node || !x.node->deferred) v->v.data = std::move(x.data);
  place(v, std::move(x.node));
  return reinterpret_cast<PyObject*>(v);
}

PyObject* wrap_data(PyObject* data, Frontend* f, bool requires_grad) {
  Obj o = Obj::steal(reinterpret_cast<PyObject*>(allocate(reinterpret_cast<PyTypeObject*>(f->variable_class), f)));
  PyVariable* v = as_variable(o.get());
  place(v, make_node({}, requires_grad));
  set_data(v, data, "data");
  return o.release();
}

// Whether functions of `f` return Variables that count as `own`'s.
bool alike(const Frontend* own, const Frontend* f) {
  return own == f || own->base == reinterpret_cast<const PyObject*>(f) ||
         f->base == reinterpret_cast<const PyObject*>(own);
}

bool is_foreign(PyObject* o, const Frontend* f, int depth) {
  if (is_variable(o)) return !alike(as_variable(o)->frontend, f);
  if (depth == 0 || !(PyList_CheckExact(o) || PyTuple_CheckExact(o))) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
    if (is_foreign(PySequence_Fast_GET_ITEM(o, i), f, depth - 1)) return true;
  return false;
}

// Takes the reference to `o` and returns `o`, or, if it is another frontend's Variable, a second Variable of `f` for
// its node.
PyObject* own_of(PyObject* o, Frontend* f) {
  if (!is_variable(o) || alike(as_variable(o)->frontend, f)) return o;
  const Obj given = Obj::steal(o);
  const Ref<VariableNode>& n = node_of(as_variable(o));
  if (!n || static_cast<bool>(n->deferred) != static_cast<bool>(f->deferred)) return Py_NewRef(o);
  PyVariable* v = allocate(reinterpret_cast<PyTypeObject*>(f->variable_class), f);
  v->v.data = as_variable(o)->v.data;
  v->v.node = n;
  return reinterpret_cast<PyObject*>(v);
}

PyObject* own_variable_of_node(const Ref<VariableNode>& n, Frontend* f) { return own_of(variable_of_node(n, f), f); }

PyObject* variable_of(const Var& x, Frontend* f) {
  if (x.node && living_variable(*x.node) && (x.node->deferred || x.node->variable->data.is_same(x.data)))
    return variable_of_node(x.node, f);
  return wrap_var(x, f);
}

PyObject* tuple_of_variables(VarsRef xs, Frontend* f) {
  const auto own = [&](size_t i) { return own_of(variable_of(xs[i], f), f); };
  return tuple_of(xs.size(), own).release();
}

PyObject* wrap_outputs(Vars ys, Frontend* f) {
  if (ys.size() == 1) return wrap_var(std::move(ys[0]), f);
  return tuple_of(ys.size(), [&](size_t j) { return wrap_var(std::move(ys[j]), f); }).release();
}

PyVariable* living_variable(const VariableNode& n) {
  if (!n.variable) return nullptr;
  auto* v = reinterpret_cast<PyVariable*>(reinterpret_cast<char*>(n.variable) - offsetof(PyVariable, v));
  return living(v) ? v : nullptr;
}

PyObject* variable_of_node(const Ref<VariableNode>& n, Frontend* f) {
  if (PyVariable* v = living_variable(*n)) return Py_NewRef(reinterpret_cast<PyObject*>(v));
  PyVariable* v = allocate(reinterpret_cast<PyTypeObject*>(f->variable_class), f);
  if (PyVariable* meanwhile = living_variable(*n)) {  // the garbage collector ran, and a finalizer asked for it
    Py_DECREF(v);
    return Py_NewRef(reinterpret_cast<PyObject*>(meanwhile));
  }
  v->v.data = n->data;
  place(v, n);
  return reinterpret_cast<PyObject*>(v);
}

void set_gradient(PyVariable* v, PyObject* g) {
  Var grad;
  if (g && tensor_of(as_variable(g)).defined()) grad = Var(node_of(as_variable(g)), as_variable(g)->v.data);
  PyObject* old = std::exchange(v->grad_var, Py_XNewRef(g));
  // The old gradient is released last, together with its object, because that may run Python code
  std::swap(v->v.grad, grad);
  Py_XDECREF(old);
}

const at::Tensor& gradient_tensor(PyVariable* v) {
  if (v->grad_var && v->v.grad.defined()) {
    PyVariable* g = as_variable(v->grad_var);
    // Compared by the node, too: an array whose memory torch cannot share gives another tensor at each read.
    if (g->v.data.is_same(v->v.grad.data) || (g->v.node && g->v.node == v->v.grad.node)) v->v.grad.data = tensor_of(g);
  }
  return read(v->v.grad.data);
}

bool to_var(PyObject* o, Var* out, Frontend*& f) {
  if (is_variable(o)) {
    Frontend* own = as_variable(o)->frontend;
    if (own != f && own->base == reinterpret_cast<PyObject*>(f)) f = own;
    const bool leaves = own->deferred && !f->deferred && own != f && !mode(Mode::plain);
    *out = unread_var_of(as_variable(leaves ? cross(o, f, "leave").get() : o));
    return out->defined();
  }
  bool aliases;
  if (f->on_request) return false;  // MXNet accepts only its own arrays
  if (is_ndarray(o))
    *out = Var(tensor_of_array(o, &aliases));
  else if (is_tensor(o))
    *out = Var(unwrap_tensor(o, "input"));
  else
    *out = Var(tensor_of_device_array(o, "input"));
  return out->defined();
}

Frontend* deferred_frontend = nullptr;

Obj cross(PyObject* x, Frontend* f, const char* how) {
  return call_python("compatgrad.core.bridge", how, "OO", x, reinterpret_cast<PyObject*>(f));
}

Vars apply_for(FunctionNode& node, VarsRef in, Frontend* f, bool record_constants) {
  if (f->deferred) deferred_frontend = f;
  const EngineScope engine;
  ModeScope style(Mode::deferred, f->deferred);
  ModeScope recording(Mode::enable_backprop, mode(f->on_request ? Mode::recording : Mode::enable_backprop));
  FrontendScope scope(f);
  if (f->on_request && !mode(Mode::recording)) {  // its results are constants
    Vars constants;
    for (const Var& x : in) constants.emplace_back(x.data);
    if (may_postpone) ++may_postpone;
    return node.apply(constants);
  }
  return node.apply(in, record_constants || f->record_constants);
}

PyObject* call_op(FunctionNode* fresh, VarsRef in, Frontend* f) {
  Ref<FunctionNode> node(fresh);
  if (f->deferred && mode(Mode::plain)) f = native_frontend;
  // `in` and a Variable hold each tensor. If the engine itself called Python without a Door, it may read the result.
  const Setting postpones(may_postpone, whereabouts.inside ? 0 : 2);
  return wrap_outputs(apply_for(*node, in, f), f);
}

}  // namespace cg::py
