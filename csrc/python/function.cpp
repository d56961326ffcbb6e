// Function nodes in Python: the base class of functions defined in Python, and the objects that represent native
// functions.
#include "core/mode.h"
#include "python/deferred.h"
#include "python/joined.h"

namespace cg::py {
namespace {

PyFunctionNode* self_of(PyObject* o) { return as_function(o); }
FunctionNode& node(PyObject* o) { return *self_of(o)->node; }

// ---- outputs: callables like weak references ------------------------------------------------------------------------
struct PyOutput {
  PyObject_HEAD std::shared_ptr<VariableNode*> cell;
  Frontend* frontend;
};
void output_dealloc(PyObject* o) {
  std::destroy_at(&reinterpret_cast<PyOutput*>(o)->cell);
  PyObject_Free(o);
}
PyObject* output_call(PyObject* o, PyObject*, PyObject*) {
  auto* self = reinterpret_cast<PyOutput*>(o);
  return view_of_node(self->cell ? Ref<VariableNode>(*self->cell) : nullptr, self->frontend);
}
PyTypeObject OutputType = [] {
  PyTypeObject t = type_of<PyOutput>("compatgrad._C.OutputReference", nullptr, Py_TPFLAGS_DISALLOW_INSTANTIATION);
  t.tp_dealloc = output_dealloc;
  t.tp_call = guard<output_call>;
  return t;
}();

PyObject* make_output(VariableNode* node, Frontend* f) {
  auto* r = PyObject_New(PyOutput, &OutputType);
  if (!r) throw PyError();
  if (node && !node->cell) node->cell = std::make_shared<VariableNode*>(node);
  new (&r->cell) std::shared_ptr<VariableNode*>(node ? node->cell : nullptr);
  r->frontend = f;
  return reinterpret_cast<PyObject*>(r);
}

// ---- life -----------------------------------------------------------------------------------------------------------
PyObject* function_new(PyTypeObject* type, PyObject*, PyObject*) {
  auto* self = reinterpret_cast<PyFunctionNode*>(type->tp_alloc(type, 0));
  if (!self) return nullptr;
  self->node = new PythonNode(reinterpret_cast<PyObject*>(self));
  self->frontend = frontend_of_object(reinterpret_cast<PyObject*>(type));
  return reinterpret_cast<PyObject*>(self);
}
// like a Python class without `__init__`: arguments are refused
int function_init(PyObject* o, PyObject* args, PyObject* kwargs) {
  if (!PyTuple_GET_SIZE(args) && !(kwargs && PyDict_GET_SIZE(kwargs))) return 0;
  PyErr_Format(PyExc_TypeError, "%s() takes no arguments", Py_TYPE(o)->tp_name);
  return -1;
}

int function_traverse(PyObject* o, visitproc visit, void* arg) {
  auto* self = self_of(o);
  Py_VISIT(self->dict);
  FunctionNode* f = self->node;
  if (!f) return 0;
  if (!f->python && f->refs != 1 && !f->owns_handle) return 0;
  if (!f->python && f->refs == 1 && f->owns_handle) Py_VISIT(o);
  return traverse_function(f, visit, arg);
}
int function_clear(PyObject* o) {
  auto* self = self_of(o);
  Py_CLEAR(self->dict);
  if (self->node->python) {
    self->node->unchain();
    for (auto& y : self->node->outputs) y.saved = at::Tensor();
  } else if (std::exchange(self->node->owns_handle, false)) {
    Py_DECREF(o);
  }
  return 0;
}
void function_dealloc(PyObject* o) {
  PyObject_GC_UnTrack(o);
  auto* self = self_of(o);
  FunctionNode* f = self->node;
  if (f && !f->python && f->handle == o) f->handle = nullptr;
  if (self->weakrefs) PyObject_ClearWeakRefs(o);
  Py_CLEAR(self->dict);
  if (f) {
    self->node = nullptr;
    if (f->python) {
      f->detach();
      delete f;
    } else {
      f->release();
    }
  }
  Py_TYPE(o)->tp_free(o);
}

// ---- attributes -----------------------------------------------------------------------------------------------------
PyObject* get_inputs(PyObject* o, void*) {
  FunctionNode& f = node(o);
  if (!f.recorded) Py_RETURN_NONE;
  List list;
  for (auto& x : f.inputs)
    if (x) list.add(view_of_node(x, self_of(o)->frontend));
  return PyList_AsTuple(list.get());
}
void put_inputs(PyObject* o, PyObject* value, void*) {
  FunctionNode& f = node(o);
  if (value == Py_None) return f.unchain();
  if (f.call) fail(PyExc_AttributeError, "the inputs of a function that is recorded to run later cannot be replaced");
  Nodes nodes;
  for (PyObject* x : Items(value, "inputs")) {
    while (nodes.size() < f.inputs.size() && !f.inputs[nodes.size()]) nodes.emplace_back();  // an omitted input
    if (!PyObject_TypeCheck(x, &VariableNodeType))
      fail(PyExc_TypeError, "inputs: expected VariableNodes, got %s", Py_TYPE(x)->tp_name);
    nodes.push_back(reinterpret_cast<PyVariableNode*>(x)->node);
  }
  while (nodes.size() < f.inputs.size() && !f.inputs[nodes.size()]) nodes.emplace_back();
  if (!f.outputs.empty() && nodes.size() != f.inputs.size())
    fail(PyExc_ValueError, "inputs: expected as many as the function has, %zu, got %zu", f.inputs.size(), nodes.size());
  std::swap(f.inputs, nodes);  // the old nodes are released last
  f.recorded = true;
}
PyObject* get_outputs(PyObject* o, void*) {
  FunctionNode& f = node(o);
  if (f.outputs.empty()) Py_RETURN_NONE;
  const auto output = [&](size_t j) { return make_output(f.outputs[j].node, self_of(o)->frontend); };
  return tuple_of(f.outputs.size(), output).release();
}
PyObject* get_rank(PyObject* o, void*) { return PyLong_FromLong(node(o).rank); }
void put_rank(PyObject* o, PyObject* value, void*) { node(o).rank = integer(value, "rank"); }
PyObject* get_lazy(PyObject* o, void*) { return PyBool_FromLong(node(o).lazy_grad_sum); }
void put_lazy(PyObject* o, PyObject* value, void*) { node(o).lazy_grad_sum = truth(value); }
PyObject* get_stack(PyObject* o, void*) {
  PyObject* s = static_cast<PyObject*>(node(o).stack);
  return Py_NewRef(s ? s : Py_None);
}
void put_stack(PyObject* o, PyObject* value, void*) {
  PyObject* old = static_cast<PyObject*>(std::exchange(node(o).stack, value == Py_None ? nullptr : Py_NewRef(value)));
  Py_XDECREF(old);
}
PyObject* get_hooks(PyObject* o, void*) {
  FunctionNode& f = node(o);
  if (!f.hooks) f.hooks = PyDict_New();
  return Py_XNewRef(static_cast<PyObject*>(f.hooks));
}
PyObject* get_n_hooks(PyObject* o, void*) {
  PyObject* h = static_cast<PyObject*>(node(o).hooks);
  return PyLong_FromSsize_t(h ? PyDict_GET_SIZE(h) : 0);
}
PyObject* get_op_name(PyObject* o, void*) {
  const OpInfo* info = node(o).info();
  return info ? PyUnicode_FromString(info->name) : Py_NewRef(Py_None);
}
// Members of the op of a native function, by name.
Obj members_of(FunctionNode& f, c10::ArrayRef<ParamInfo> members) {
  Obj d = Obj::steal(PyDict_New());
  for (const ParamInfo& p : members) {
    Obj v = Obj::steal(format_param(p, p.address(f.params())));
    if (PyDict_SetItemString(d.get(), p.name, v.get()) < 0) throw PyError();
  }
  return d;
}
template <auto members>
PyObject* get_members(PyObject* o, void*) {
  const OpInfo* info = node(o).info();
  return info ? members_of(node(o), info->*members).release() : Py_NewRef(Py_None);
}
PyObject* get_is_native(PyObject* o, void*) { return PyBool_FromLong(!node(o).python); }

PyGetSetDef getset[] = {{"inputs", guard<get_inputs>, guard<put_inputs>,
                         "Nodes of the inputs; None before recording and after unchain.", nullptr},
                        {"outputs", guard<get_outputs>, nullptr,
                         "Callables that return the output nodes, or None for a released one.", nullptr},
                        {"rank", get_rank, guard<put_rank>, nullptr, nullptr},
                        {"lazy_grad_sum", get_lazy, guard<put_lazy>, nullptr, nullptr},
                        {"stack", get_stack, guard<put_stack>, nullptr, nullptr},
                        {"local_function_hooks", get_hooks, nullptr, nullptr, nullptr},
                        {"_n_local_function_hooks", get_n_hooks, nullptr, nullptr, nullptr},
                        {"op_name", get_op_name, nullptr, nullptr, nullptr},
                        {"op_params", guard<get_members<&OpInfo::params>>, nullptr, nullptr, nullptr},
                        {"op_stored", guard<get_members<&OpInfo::stored>>, nullptr,
                         "Tensors that a native function's forward stored for backward.", nullptr},
                        {"is_native", get_is_native, nullptr, nullptr, nullptr},
                        {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                        {nullptr, nullptr, nullptr, nullptr, nullptr}};
}  // namespace

PyObject* view_of_function(const Shown& shown, Frontend* frontend) {
  FunctionNode* const f = (*shown).get();
  if (!f) Py_RETURN_NONE;
  if (living(f->handle)) return Py_NewRef(static_cast<PyObject*>(f->handle));
  if (static_cast<bool>(frontend->deferred) != static_cast<bool>(f->call)) frontend = frontend_of(*f);
  PyObject* cls =
      frontend->node_classes && f->info() ? PyDict_GetItemString(frontend->node_classes, f->info()->name) : nullptr;
  Obj chosen;  // a function in place of a class chooses the class by the parameters
  if (cls && !PyType_Check(cls)) {
    Obj params = members_of(*f, f->info()->params);
    chosen = Obj::steal(PyObject_CallOneArg(cls, params.get()));
    cls = chosen.get();
    if (!PyType_Check(cls)) fail(PyExc_TypeError, "node_classes['%s'] did not return a class", f->info()->name);
  }
  if (!cls) cls = frontend->node_class ? frontend->node_class : reinterpret_cast<PyObject*>(&FunctionNodeType);
  auto* type = reinterpret_cast<PyTypeObject*>(cls);
  auto* self = reinterpret_cast<PyFunctionNode*>(type->tp_alloc(type, 0));
  if (!self) throw PyError();
  f->retain();
  self->node = f;
  self->frontend = frontend;
  if (living(f->handle)) {  // a finalizer or the class has asked for the object meanwhile
    Py_DECREF(self);
    return Py_NewRef(static_cast<PyObject*>(f->handle));
  }
  f->handle = self;
  return reinterpret_cast<PyObject*>(self);
}

void keep_view(FunctionNode* f) {
  if (f->owns_handle || !living(f->handle)) return;
  f->owns_handle = true;
  Py_INCREF(static_cast<PyObject*>(f->handle));
}

void adopt(PyObject* view, FunctionNode* fresh) {
  auto* self = as_function(view);
  FunctionNode* old = self->node;
  if (old->python && !old->outputs.empty()) return;  // Variables own it through its Python object
  if (std::exchange(old->owns_handle, false)) Py_DECREF(view);
  fresh->hooks = old->hooks ? Py_NewRef(static_cast<PyObject*>(old->hooks)) : nullptr;
  fresh->handle = view;
  fresh->retain();
  self->node = fresh;
  old->handle = nullptr;
  if (old->python)
    delete old;
  else
    old->release();
}

FunctionNode* function_of_view(PyObject* o) {
  if (o == Py_None) return nullptr;
  if (!is_function(o))
    fail(PyExc_TypeError, "creator_node: expected a FunctionNode or None, got %s", Py_TYPE(o)->tp_name);
  return as_function(o)->node;
}

bool init_output_type() { return PyType_Ready(&OutputType) == 0; }

PyTypeObject FunctionNodeType = [] {
  PyTypeObject t = type_of<PyFunctionNode>("compatgrad._C.FunctionNode", "One application of an operation.",
                                           Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC);
  t.tp_new = guard<function_new>;
  t.tp_init = function_init;
  set_life(t, function_dealloc, function_traverse, function_clear);
  set_attributes(t, getset, function_methods);
  return t;
}();

}  // namespace cg::py
