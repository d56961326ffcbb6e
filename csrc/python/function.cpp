// Function nodes in Python: the base class of functions that are defined there, and the view of native ones.
#include "core/mode.h"
#include "python/deferred.h"

namespace cg::py {
namespace {

PyFunctionNode* self_of(PyObject* o) { return as_function(o); }
FunctionNode& node(PyObject* o) { return *self_of(o)->node; }
PythonNode* python_node(PyObject* o) { return node(o).python ? static_cast<PythonNode*>(self_of(o)->node) : nullptr; }

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
  return guarded([&]() -> PyObject* {
    if (!self->cell || !*self->cell) Py_RETURN_NONE;
    return view_of_node(Ref<VariableNode>(*self->cell), self->frontend);
  });
}
PyTypeObject OutputType = [] {
  PyTypeObject t = empty_type();
  t.tp_name = "compatgrad._C.OutputReference";
  t.tp_basicsize = sizeof(PyOutput);
  t.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  t.tp_dealloc = output_dealloc;
  t.tp_call = output_call;
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
Frontend* frontend_of(PyObject* o) {
  static PyObject* name = PyUnicode_InternFromString("_frontend");
  PyObject* f = PyObject_GetAttr(o, name);
  if (!f) {
    PyErr_Clear();
    return native_frontend;
  }
  Py_DECREF(f);
  return PyObject_TypeCheck(f, &FrontendType) ? reinterpret_cast<Frontend*>(f) : native_frontend;
}

PyObject* function_new(PyTypeObject* type, PyObject*, PyObject*) {
  auto* self = reinterpret_cast<PyFunctionNode*>(type->tp_alloc(type, 0));
  if (!self) return nullptr;
  self->node = new PythonNode(reinterpret_cast<PyObject*>(self));
  self->frontend = frontend_of(reinterpret_cast<PyObject*>(type));
  return reinterpret_cast<PyObject*>(self);
}
int function_init(PyObject*, PyObject*, PyObject*) { return 0; }

int function_traverse(PyObject* o, visitproc visit, void* arg) {
  auto* self = self_of(o);
  Py_VISIT(self->dict);
  FunctionNode* f = self->node;
  if (!f) return 0;
  if (f->python) {
    return traverse_function(f, visit, arg);
  }
  if (f->refs != 1 && !f->owns_handle) return 0;
  if (f->refs == 1 && f->owns_handle) Py_VISIT(o);
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
  Obj list = Obj::steal(PyList_New(0));
  for (auto& x : f.inputs) {
    if (!x) continue;
    Obj view = Obj::steal(view_of_node(x, self_of(o)->frontend));
    if (PyList_Append(list.get(), view.get()) < 0) throw PyError();
  }
  return PyList_AsTuple(list.get());
}
int put_inputs(PyObject* o, PyObject* value, void*) {
  FunctionNode& f = node(o);
  if (value == Py_None) {
    f.unchain();
    return 0;
  }
  Obj seq = Obj::steal(PySequence_Fast(value, "inputs: expected a tuple of VariableNode"));
  decltype(f.inputs) nodes;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(seq.get()); ++i) {
    PyObject* x = PySequence_Fast_GET_ITEM(seq.get(), i);
    if (!PyObject_TypeCheck(x, &VariableNodeType))
      fail(PyExc_TypeError, "inputs[%zd]: expected a VariableNode, got %s", i, Py_TYPE(x)->tp_name);
    nodes.push_back(reinterpret_cast<PyVariableNode*>(x)->node);
  }
  if (f.call) fail(PyExc_AttributeError, "the inputs of a function that is recorded to run later cannot be replaced");
  std::swap(f.inputs, nodes);  // the old ones die last
  f.recorded = true;
  return 0;
}
PyObject* get_outputs(PyObject* o, void*) {
  FunctionNode& f = node(o);
  if (f.outputs.empty()) Py_RETURN_NONE;
  Obj t = Obj::steal(PyTuple_New(f.outputs.size()));
  for (size_t j = 0; j < f.outputs.size(); ++j)
    PyTuple_SET_ITEM(t.get(), j, make_output(f.outputs[j].node, self_of(o)->frontend));
  return t.release();
}
PyObject* get_rank(PyObject* o, void*) { return PyLong_FromLong(node(o).rank); }
int put_rank(PyObject* o, PyObject* value, void*) {
  const long r = PyLong_AsLong(value);
  if (r == -1 && PyErr_Occurred()) return -1;
  node(o).rank = r;
  return 0;
}
PyObject* get_lazy(PyObject* o, void*) { return PyBool_FromLong(node(o).lazy_grad_sum); }
int put_lazy(PyObject* o, PyObject* value, void*) {
  node(o).lazy_grad_sum = truth(value);
  return 0;
}
PyObject* get_stack(PyObject* o, void*) {
  PyObject* s = static_cast<PyObject*>(node(o).stack);
  return Py_NewRef(s ? s : Py_None);
}
int put_stack(PyObject* o, PyObject* value, void*) {
  PyObject* old = static_cast<PyObject*>(std::exchange(node(o).stack, value == Py_None ? nullptr : Py_NewRef(value)));
  Py_XDECREF(old);
  return 0;
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
  if (!info) Py_RETURN_NONE;
  return PyUnicode_FromString(info->name);
}
// Members of a native function's op by name.
Obj members_of(FunctionNode& f, c10::ArrayRef<ParamInfo> members) {
  Obj d = Obj::steal(PyDict_New());
  for (const ParamInfo& p : members) {
    Obj v = Obj::steal(format_param(p, p.address(f.params())));
    if (PyDict_SetItemString(d.get(), p.name, v.get()) < 0) throw PyError();
  }
  return d;
}
PyObject* get_op_params(PyObject* o, void*) {
  if (!node(o).info()) Py_RETURN_NONE;
  return members_of(node(o), node(o).info()->params).release();
}
PyObject* get_op_stored(PyObject* o, void*) {
  if (!node(o).info()) Py_RETURN_NONE;
  return members_of(node(o), node(o).info()->stored).release();
}
PyObject* get_is_native(PyObject* o, void*) { return PyBool_FromLong(!node(o).python); }

// ---- methods --------------------------------------------------------------------------------------------------------
Ints indexes(PyObject* o, const char* name, size_t size) {
  Ints r;
  if (o == Py_None) return r;
  Obj list = Obj::steal(PySequence_List(o));
  r = parse_ints(list.get(), name);
  for (int64_t& i : r) {
    if (i < 0) i += size;
    if (i < 0 || i >= static_cast<int64_t>(size))
      fail(PyExc_IndexError, "%s: index %lld is out of range", name, static_cast<long long>(i));
  }
  return r;
}

// _record(inputs, outputs, retain_inputs, retain_outputs) -> the outputs as Variables
PyObject* record(PyObject* o, PyObject* args) {
  PyObject *inputs, *outputs, *retain_in, *retain_out;
  if (!PyArg_ParseTuple(args, "OOOO:_record", &inputs, &outputs, &retain_in, &retain_out)) return nullptr;
  PythonNode* f = python_node(o);
  if (!f) fail(PyExc_TypeError, "_record: this node shows a native function");
  Frontend* fe = self_of(o)->frontend = frontend_of(o);
  Obj ins = Obj::steal(PySequence_Fast(inputs, "inputs: expected a sequence"));
  Vars xs;
  bool any = false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(ins.get()); ++i) {
    PyObject* x = PySequence_Fast_GET_ITEM(ins.get(), i);
    if (is_variable(x)) {
      xs.push_back(Var(node_of(as_variable(x)), tensor_of(as_variable(x))));
    } else {
      Obj v = Obj::steal(wrap_data(x, fe, false));
      xs.push_back(Var(node_of(as_variable(v.get())), tensor_of(as_variable(v.get()))));
    }
    any |= xs.back().requires_grad();
  }
  Obj outs = Obj::steal(PySequence_Fast(outputs, "outputs: expected a sequence"));
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(outs.get());
  Obj ys = Obj::steal(PyTuple_New(n));
  c10::SmallVector<Ref<VariableNode>, 2> nodes;
  for (Py_ssize_t j = 0; j < n; ++j) {
    PyObject* y = wrap_data(PySequence_Fast_GET_ITEM(outs.get(), j), fe, any);
    PyTuple_SET_ITEM(ys.get(), j, y);
    nodes.push_back(node_of(as_variable(y)));
  }
  if (!mode(Mode::enable_backprop)) return ys.release();
  const Ints keep_in = indexes(retain_in, "retain_inputs", xs.size()),
             keep_out = indexes(retain_out, "retain_outputs", n);
  f->outputs.clear();
  f->link(xs, nodes);
  f->frontend = fe;
  for (int64_t i : keep_in) f->inputs[i]->retain_data(xs[i].data);
  for (int64_t j : keep_out) {
    const at::Tensor& t = as_variable(PyTuple_GET_ITEM(ys.get(), j))->v.data;
    nodes[j]->retain_data(t);
    f->outputs[j].saved = t;
  }
  f->retained_inputs = keep_in;
  f->retained_outputs = keep_out;
  return ys.release();
}

// None where there is no data: it was not retained, or the Variable was empty.
PyObject* retained_variable(const Ref<VariableNode>& n, Frontend* f) {
  if (!n || !n->data.defined()) Py_RETURN_NONE;
  return variable_of_node(n, f);
}
PyObject* get_retained_inputs(PyObject* o, PyObject*) {
  PythonNode* f = python_node(o);
  if (!f) fail(PyExc_TypeError, "get_retained_inputs: this node shows a native function");
  if (!f->recorded) return PyTuple_New(0);
  Obj t = Obj::steal(PyTuple_New(f->retained_inputs.size()));
  for (size_t k = 0; k < f->retained_inputs.size(); ++k)
    PyTuple_SET_ITEM(t.get(), k, retained_variable(f->inputs[f->retained_inputs[k]], self_of(o)->frontend));
  return t.release();
}
PyObject* get_retained_outputs(PyObject* o, PyObject*) {
  PythonNode* f = python_node(o);
  if (!f) fail(PyExc_TypeError, "get_retained_outputs: this node shows a native function");
  Obj t = Obj::steal(PyTuple_New(f->retained_outputs.size()));
  for (size_t k = 0; k < f->retained_outputs.size(); ++k) {
    const Var y = f->output(f->retained_outputs[k]);
    PyTuple_SET_ITEM(t.get(), k, retained_variable(y.node, self_of(o)->frontend));
  }
  return t.release();
}
PyObject* retained_output_arrays(PyObject* o, PyObject*) {
  PythonNode* f = python_node(o);
  if (!f || f->outputs.empty()) Py_RETURN_NONE;
  Obj t = Obj::steal(PyTuple_New(f->retained_outputs.size()));
  for (size_t k = 0; k < f->retained_outputs.size(); ++k) {
    const int64_t j = f->retained_outputs[k];
    PyObject* a;
    if (const Ref<VariableNode> y{f->outputs[j].node};
        y && living_variable(*y) && y->variable->data.is_same(f->outputs[j].saved)) {
      Obj v = Obj::steal(variable_of_node(y, self_of(o)->frontend));
      a = Obj::steal(PyObject_GetAttrString(v.get(), self_of(o)->frontend->numpy ? "array" : "tensor")).release();
    } else {
      a = to_frontend_array(f->outputs[j].saved, self_of(o)->frontend);
    }
    PyTuple_SET_ITEM(t.get(), k, a);
  }
  return t.release();
}
void cut(FunctionNode& f) {
  Ref<FunctionNode> alive(&f);  // the outputs may hold the last reference
  Nodes ys;
  for (auto& y : f.outputs)
    if (y.node) ys.emplace_back(y.node);
  for (auto& y : ys) y->unchain();
  f.unchain();
}
PyObject* unchain(PyObject* o, PyObject*) {
  cut(node(o));
  Py_RETURN_NONE;
}
PyObject* unchain_backward(PyObject* o, PyObject*) {
  std::vector<Ref<FunctionNode>> todo{Ref<FunctionNode>(&node(o))};
  while (!todo.empty()) {
    Ref<FunctionNode> f = std::move(todo.back());
    todo.pop_back();
    if (!f->recorded) continue;
    for (auto& x : f->inputs)
      if (x && x->creator && !x->creator->call) todo.push_back(x->creator);  // a deferred graph is there to run again
    if (f->python)
      Obj::steal(PyObject_CallMethod(static_cast<PyObject*>(f->handle), "unchain", nullptr));
    else
      cut(*f);
  }
  Py_RETURN_NONE;
}

// _run_native(*arrays) -> arrays: the forward of a native function once more
PyObject* run_native(PyObject* o, PyObject* args) {
  FunctionNode& f = node(o);
  if (f.python) fail(PyExc_TypeError, "_run_native: this node is defined in Python");
  Ref<FunctionNode> copy(f.info()->create());
  for (const ParamInfo& p : f.info()->params) {
    Obj v = Obj::steal(format_param(p, p.address(f.params())));
    parse_param(p, v.get(), p.address(copy->params()));
  }
  Vars in;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
    PyObject* x = PyTuple_GET_ITEM(args, i);
    bool aliases;
    in.emplace_back(is_tensor(x) ? unwrap_tensor(x, "input") : tensor_of_array(x, &aliases));
  }
  Tensors ys = copy->forward(in);
  Obj t = Obj::steal(PyTuple_New(ys.size()));
  for (size_t j = 0; j < ys.size(); ++j) PyTuple_SET_ITEM(t.get(), j, to_frontend_array(ys[j], self_of(o)->frontend));
  return t.release();
}

// backward(target_indexes, grad_outputs) -> one Variable or None per target
PyObject* native_backward(PyObject* o, PyObject* args) {
  PyObject *targets, *grads;
  if (!PyArg_ParseTuple(args, "OO:backward", &targets, &grads)) return nullptr;
  FunctionNode& f = node(o);
  if (f.python) fail(PyExc_NotImplementedError, "%s: backward is not implemented", Py_TYPE(o)->tp_name);
  Obj seq = Obj::steal(PySequence_Fast(grads, "grad_outputs: expected a sequence"));
  Vars gys;
  for (Py_ssize_t j = 0; j < PySequence_Fast_GET_SIZE(seq.get()); ++j) {
    PyObject* g = PySequence_Fast_GET_ITEM(seq.get(), j);
    if (g == Py_None)
      gys.emplace_back();
    else if (is_variable(g))
      gys.push_back(var_of(as_variable(g)));
    else
      fail(PyExc_TypeError, "grad_outputs[%zd]: expected a Variable or None, got %s", j, Py_TYPE(g)->tp_name);
  }
  if (!f.recorded) fail(PyExc_RuntimeError, "%s.backward: the function has been unchained", Py_TYPE(o)->tp_name);
  if (gys.size() != f.outputs.size())
    fail(PyExc_ValueError, "grad_outputs: expected %zu gradients, one for each output, got %zu", f.outputs.size(),
         gys.size());
  if (std::none_of(gys.begin(), gys.end(), [](const Var& g) { return g.defined(); }))
    fail(PyExc_ValueError, "grad_outputs: expected the gradient of at least one output, got None alone");
  const Ints indices = indexes(targets, "target_input_indexes", f.inputs.size());
  c10::SmallVector<bool, 4> wanted(f.inputs.size(), false);
  for (int64_t i : indices) {
    if (!f.inputs[i])
      fail(PyExc_IndexError, "target_input_indexes: input %lld was left out", static_cast<long long>(i));
    wanted[i] = true;
  }
  Ref<FunctionNode> alive(&f);
  FrontendScope scope(self_of(o)->frontend);
  Vars gxs = function_backward(f, gys, wanted), picked;
  for (int64_t i : indices) picked.push_back(gxs[i]);
  return tuple_of_variables(picked, self_of(o)->frontend);
}

PyGetSetDef getset[] = {
    {"inputs", guard<get_inputs>, guard<put_inputs>, "Nodes of the inputs; None before recording and after unchain.",
     nullptr},
    {"outputs", guard<get_outputs>, nullptr, "Callables that give the output nodes, or None where released.", nullptr},
    {"rank", get_rank, put_rank, nullptr, nullptr},
    {"lazy_grad_sum", get_lazy, guard<put_lazy>, nullptr, nullptr},
    {"stack", get_stack, put_stack, nullptr, nullptr},
    {"local_function_hooks", get_hooks, nullptr, nullptr, nullptr},
    {"_n_local_function_hooks", get_n_hooks, nullptr, nullptr, nullptr},
    {"op_name", get_op_name, nullptr, nullptr, nullptr},
    {"op_params", guard<get_op_params>, nullptr, nullptr, nullptr},
    {"op_stored", guard<get_op_stored>, nullptr, "Tensors that a native function's forward left in it for backward.",
     nullptr},
    {"is_native", get_is_native, nullptr, nullptr, nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef methods[] = {
    {"_record", guard<record>, METH_VARARGS, nullptr},
    {"get_retained_inputs", guard<get_retained_inputs>, METH_NOARGS, nullptr},
    {"get_retained_outputs", guard<get_retained_outputs>, METH_NOARGS, nullptr},
    {"_retained_output_arrays", guard<retained_output_arrays>, METH_NOARGS, nullptr},
    {"unchain", unchain, METH_NOARGS, "Cuts the function out of the graph."},
    {"_unchain_backward", guard<unchain_backward>, METH_NOARGS,
     "Cuts this function and all that it depends on out of the graph."},
    {"_run_native", guard<run_native>, METH_VARARGS, nullptr},
    {"backward", guard<native_backward>, METH_VARARGS, "Gradients of a native function: Variables in, Variables out."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void read_gradients(PyObject* sequence, c10::ArrayRef<bool> wanted, Vars& gxs, const char* who) {
  Obj seq = Obj::steal(PySequence_Fast(sequence, "backward must return a tuple or a list of gradients"));
  const size_t n = PySequence_Fast_GET_SIZE(seq.get()), targets = std::count(wanted.begin(), wanted.end(), true);
  const bool all = n == wanted.size();
  if (!all && n != targets)
    fail(PyExc_ValueError, "number of gradients returned from backward is incorrect: %zu != expected %zu or %zu (%s)",
         n, wanted.size(), targets, who);
  for (size_t i = 0, k = 0; i < wanted.size(); ++i) {
    if (!wanted[i]) continue;
    PyObject* g = PySequence_Fast_GET_ITEM(seq.get(), all ? i : k);
    ++k;
    if (g == Py_None) continue;
    if (!is_variable(g))
      fail(PyExc_TypeError, "gradient %zu of %s: expected a Variable or None, got %s", i, who, Py_TYPE(g)->tp_name);
    node_of(as_variable(g));
    if (Var v = var_of(as_variable(g)); v.defined()) gxs[i] = std::move(v);
  }
}

void python_backward(FunctionNode& f, NodesRef inputs, VarsRef gys, Vars& gxs, c10::ArrayRef<bool> wanted, void* pass,
                     Binding::Pending pending) {
  static PyObject* step = PyUnicode_InternFromString("_backward_step");
  static PyObject* accumulates = PyUnicode_InternFromString("_accumulates");
  PyObject* self = static_cast<PyObject*>(f.handle);
  Frontend* fe = as_function(self)->frontend;
  Obj grads = Obj::steal(tuple_of_variables(gys, fe));
  Ints targets;
  for (size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i]) targets.push_back(i);
  Obj indices = Obj::steal(tuple_of_ints(targets));
  Obj own = Obj::steal(PyObject_GetAttr(self, accumulates));
  Vars so_far;
  if (truth(own.get()))
    for (int64_t i : targets) so_far.push_back(pending(pass, *inputs[i]));
  Obj acc = Obj::steal(tuple_of_variables(so_far, fe));
  Obj result = Obj::steal(PyObject_CallMethodObjArgs(self, step, indices.get(), grads.get(), acc.get(), nullptr));
  read_gradients(result.get(), wanted, gxs, Py_TYPE(self)->tp_name);
}

PyObject* view_of_function(FunctionNode* f, Frontend* frontend) {
  if (!f) Py_RETURN_NONE;
  if (living(f->handle)) return Py_NewRef(static_cast<PyObject*>(f->handle));
  if (static_cast<bool>(frontend->deferred) != static_cast<bool>(f->call)) frontend = frontend_of(*f);
  PyObject* cls =
      frontend->node_classes && f->info() ? PyDict_GetItemString(frontend->node_classes, f->info()->name) : nullptr;
  Obj chosen;  // a function instead of a class chooses by the parameters
  if (cls && !PyType_Check(cls)) {
    Obj params = members_of(*f, f->info()->params);
    chosen = Obj::steal(PyObject_CallOneArg(cls, params.get()));
    cls = chosen.get();
    if (!PyType_Check(cls)) fail(PyExc_TypeError, "node_classes['%s'] gave no class", f->info()->name);
  }
  if (!cls) cls = frontend->node_class ? frontend->node_class : reinterpret_cast<PyObject*>(&FunctionNodeType);
  auto* type = reinterpret_cast<PyTypeObject*>(cls);
  auto* self = reinterpret_cast<PyFunctionNode*>(type->tp_alloc(type, 0));
  if (!self) throw PyError();
  f->retain();
  self->node = f;
  self->frontend = frontend;
  if (living(f->handle)) {  // a finalizer or the class asked for the view meanwhile
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
  if (old->python && !old->outputs.empty()) return;  // Variables hold it by its object
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
  PyTypeObject t = empty_type();
  t.tp_name = "compatgrad._C.FunctionNode";
  t.tp_doc = "One application of an operation.";
  t.tp_basicsize = sizeof(PyFunctionNode);
  t.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC;
  t.tp_new = function_new;
  t.tp_init = function_init;
  t.tp_dealloc = function_dealloc;
  t.tp_traverse = function_traverse;
  t.tp_clear = function_clear;
  t.tp_getset = getset;
  t.tp_methods = methods;
  t.tp_dictoffset = offsetof(PyFunctionNode, dict);
  t.tp_weaklistoffset = offsetof(PyFunctionNode, weakrefs);
  return t;
}();

}  // namespace cg::py
