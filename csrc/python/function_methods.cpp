// Methods of function nodes: recording, retained data, unchaining, backward.
#include "core/mode.h"
#include "python/deferred.h"

namespace cg::py {
namespace {

FunctionNode& node(PyObject* o) { return *as_function(o)->node; }
// The node of an object, for methods of functions defined in Python.
PythonNode& python_node(PyObject* o, const char* method) {
  if (!node(o).python) fail(PyExc_TypeError, "%s: this node represents a native function", method);
  return static_cast<PythonNode&>(node(o));
}
Frontend* frontend(PyObject* o) { return as_function(o)->frontend; }

Ints indexes(PyObject* o, const char* name, size_t size) {
  Ints r;
  if (o == Py_None) return r;
  Obj list = Obj::steal(PySequence_List(o));
  r = parse_ints(list.get(), name);
  for (int64_t& i : r) {
    if (i < 0) i += size;
    if (i < 0 || i >= static_cast<int64_t>(size))
      fail(PyExc_IndexError, "%s: expected indexes below %zu, got %lld", name, size, static_cast<long long>(i));
  }
  return r;
}

// _record(inputs, outputs, retain_inputs, retain_outputs) -> the outputs as Variables
PyObject* record(PyObject* o, PyObject* args) {
  PyObject *inputs, *outputs, *retain_in, *retain_out;
  if (!PyArg_ParseTuple(args, "OOOO:_record", &inputs, &outputs, &retain_in, &retain_out)) return nullptr;
  PythonNode* f = &python_node(o, "_record");
  Frontend* fe = as_function(o)->frontend = frontend_of_object(o);
  Vars xs;
  bool any = false;
  for (PyObject* x : Items(inputs, "inputs")) {
    const Obj own = is_variable(x) ? Obj::borrow(x) : Obj::steal(wrap_data(x, fe, false));
    PyVariable* v = as_variable(own.get());
    xs.push_back(Var(node_of(v), tensor_of(v)));
    any |= xs.back().requires_grad();
  }
  const Items outs(outputs, "outputs");
  const Py_ssize_t n = outs.size();
  Obj ys = tuple_of(n, [&](size_t j) { return wrap_data(outs[j], fe, any); });
  Nodes nodes;
  for (Py_ssize_t j = 0; j < n; ++j) nodes.push_back(node_of(as_variable(PyTuple_GET_ITEM(ys.get(), j))));
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

// None if there is no data: it was not retained, or the Variable was empty.
PyObject* retained_variable(const Ref<VariableNode>& n, Frontend* f) {
  return n && n->data.defined() ? own_variable_of_node(n, f) : Py_NewRef(Py_None);
}
PyObject* get_retained_inputs(PyObject* o, PyObject*) {
  PythonNode& f = python_node(o, "get_retained_inputs");
  const auto input = [&](size_t k) { return retained_variable(f.inputs[f.retained_inputs[k]], frontend(o)); };
  return tuple_of(f.recorded ? f.retained_inputs.size() : 0, input).release();
}
PyObject* get_retained_outputs(PyObject* o, PyObject*) {
  PythonNode& f = python_node(o, "get_retained_outputs");
  const auto output = [&](size_t k) { return retained_variable(f.output(f.retained_outputs[k]).node, frontend(o)); };
  return tuple_of(f.retained_outputs.size(), output).release();
}
PyObject* retained_output_arrays(PyObject* o, PyObject*) {
  if (!node(o).python || node(o).outputs.empty()) Py_RETURN_NONE;
  const PythonNode* f = &python_node(o, "");
  const auto array = [&](size_t k) {
    const OutputSlot& slot = f->outputs[f->retained_outputs[k]];
    const Ref<VariableNode> y(slot.node);
    if (!y || !living_variable(*y) || !y->variable->data.is_same(slot.saved))
      return to_frontend_array(slot.saved, frontend(o));
    Obj v = Obj::steal(own_variable_of_node(y, frontend(o)));
    return PyObject_GetAttrString(v.get(), frontend(o)->numpy ? "array" : "tensor");
  };
  return tuple_of(f->retained_outputs.size(), array).release();
}
void cut(FunctionNode& f) {
  Ref<FunctionNode> alive(&f);  // the outputs may hold the last reference
  Nodes ys;
  for (auto& y : f.outputs)
    if (y.node) ys.emplace_back(y.node);
  for (auto& y : ys) y->unchain();
  f.unchain();
}
void unchain(PyObject* o, PyObject*) { cut(node(o)); }
void unchain_backward(PyObject* o, PyObject*) {
  std::vector<Ref<FunctionNode>> todo{Ref<FunctionNode>(&node(o))};
  while (!todo.empty()) {
    Ref<FunctionNode> f = std::move(todo.back());
    todo.pop_back();
    if (!f->recorded) continue;
    for (auto& x : f->inputs)
      // A deferred graph is kept, because it may run again
      if (x && x->creator && !x->creator->call) todo.push_back(x->creator);
    if (f->python)
      Obj::steal(PyObject_CallMethod(static_cast<PyObject*>(f->handle), "unchain", nullptr));
    else
      cut(*f);
  }
}

// _run_native(*arrays) -> arrays: runs the forward of a native function again
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
  Tensors ys = copy->forward_unlocked(in);
  return tuple_of(ys.size(), [&](size_t j) { return to_frontend_array(ys[j], frontend(o)); }).release();
}

// backward(target_indexes, grad_outputs) -> one Variable or None per target
PyObject* native_backward(PyObject* o, PyObject* args) {
  PyObject *targets, *grads;
  if (!PyArg_ParseTuple(args, "OO:backward", &targets, &grads)) return nullptr;
  FunctionNode& f = node(o);
  if (f.python) fail(PyExc_NotImplementedError, "%s: backward is not implemented", Py_TYPE(o)->tp_name);
  const Vars gys = read_variables(grads, "grad_outputs", true, var_of);
  if (!f.recorded) fail(PyExc_RuntimeError, "%s.backward: the function has been unchained", Py_TYPE(o)->tp_name);
  if (gys.size() != f.outputs.size())
    fail(PyExc_ValueError, "grad_outputs: expected %zu gradients, one for each output, got %zu", f.outputs.size(),
         gys.size());
  if (std::none_of(gys.begin(), gys.end(), [](const Var& g) { return g.defined(); }))
    fail(PyExc_ValueError, "grad_outputs: expected the gradient of at least one output, got only None");
  const Ints indices = indexes(targets, "target_input_indexes", f.inputs.size());
  c10::SmallVector<bool, 4> wanted(f.inputs.size(), false);
  for (int64_t i : indices) {
    if (i >= std::ssize(f.inputs) || !f.inputs[i])  // reading the indexes may have cut the function off
      fail(PyExc_IndexError, "target_input_indexes: input %lld was left out", static_cast<long long>(i));
    wanted[i] = true;
  }
  Ref<FunctionNode> alive(&f);
  FrontendScope scope(frontend(o));
  Vars gxs = function_backward(f, gys, wanted), picked;
  for (int64_t i : indices) picked.push_back(gxs[i]);
  return tuple_of_variables(picked, frontend(o));
}

}  // namespace

PyMethodDef function_methods[] = {
    {"_record", guard<record>, METH_VARARGS, nullptr},
    {"get_retained_inputs", guard<get_retained_inputs>, METH_NOARGS, nullptr},
    {"get_retained_outputs", guard<get_retained_outputs>, METH_NOARGS, nullptr},
    {"_retained_output_arrays", guard<retained_output_arrays>, METH_NOARGS, nullptr},
    {"unchain", guard<unchain>, METH_NOARGS, "Cuts the function out of the graph."},
    {"_unchain_backward", guard<unchain_backward>, METH_NOARGS,
     "Cuts this function and all functions that it depends on out of the graph."},
    {"_run_native", guard<run_native>, METH_VARARGS, nullptr},
    {"backward", guard<native_backward>, METH_VARARGS, "Gradients of a native function; takes and returns Variables."},
    {nullptr, nullptr, 0, nullptr}};

void read_gradients(PyObject* sequence, c10::ArrayRef<bool> wanted, Vars& gxs, const char* who) {
  const Items gradients(sequence, who);
  const size_t n = gradients.size(), targets = std::count(wanted.begin(), wanted.end(), true);
  const bool all = n == wanted.size();
  if (!all && n != targets)
    fail(PyExc_ValueError, "number of gradients returned from backward is incorrect: %zu != expected %zu or %zu (%s)",
         n, wanted.size(), targets, who);
  for (size_t i = 0, k = 0; i < wanted.size(); ++i) {
    if (!wanted[i]) continue;
    PyObject* g = gradients[all ? i : k];
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

}  // namespace cg::py
