// DeferredVariable: a Variable whose values come later.
#include "python/deferred.h"
#include "python/joined.h"

namespace cg::py {

namespace {

Deferred& deferred(PyObject* o) { return *node_of_object(o).deferred; }

int parse_need_grad(PyObject* o) { return o == Py_None ? -1 : truth(o); }

// _setup(shape, need_grad)
void setup(PyObject* o, PyObject* const* args, Py_ssize_t n) {
  const Ints sizes = parse_ints(args[0], "shape");
  place(as_variable(o), make_deferred(Ref<Store>(new Store(sizes)), parse_need_grad(args[1])));
}

template <Ref<Array> Store::* Which>
PyObject* get_array(PyObject* o, void*) {
  return wrap_array((*deferred(o).store).*Which);
}
template <Ref<Array> Store::* Which>
void put_array(PyObject* o, PyObject* value, void* name) {
  const char* what = static_cast<const char*>(name);
  Ref<Array> a = unwrap_array(value, what);
  const auto& sizes = node_of_object(o).sizes;
  const int64_t size = c10::multiply_integers(sizes);
  if (a->numel() != size)
    fail(PyExc_RuntimeError, "%s: an array of %lld elements does not fit a Variable of %lld", what,
         static_cast<long long>(a->numel()), static_cast<long long>(size));
  if (at::IntArrayRef(a->sizes) != at::IntArrayRef(sizes)) a->follow(sizes);
  (*deferred(o).store).*Which = std::move(a);
}

PyObject* get_shape(PyObject* o, void*) { return tuple_of_ints(node_of_object(o).sizes); }
PyObject* get_ndim(PyObject* o, void*) { return PyLong_FromSize_t(node_of_object(o).sizes.size()); }
PyObject* get_size(PyObject* o, void*) { return PyLong_FromLongLong(c10::multiply_integers(node_of_object(o).sizes)); }
PyObject* get_need_grad(PyObject* o, void*) { return PyBool_FromLong(need_grad_of(node_of_object(o))); }
void put_need_grad(PyObject* o, PyObject* value, void*) {
  if (value == Py_None) fail(PyExc_TypeError, "need_grad: expected a bool, got None");
  VariableNode& n = node_of_object(o);
  n.deferred->need_grad = parse_need_grad(value);
  n.requires_grad = n.deferred->need_grad;
}
template <bool Deferred::* Flag>
PyObject* get_flag(PyObject* o, void*) {
  return PyBool_FromLong(deferred(o).*Flag);
}
template <bool Deferred::* Flag>
void put_flag(PyObject* o, PyObject* value, void*) {
  deferred(o).*Flag = truth(value);
}

// ---- graph ----------------------------------------------------------------------------------------------------------
PyObject* get_parent(PyObject* o, void*) {
  const Shown f = Shown::creator(node_of_object(o));
  return *f && (*f)->call ? view_of_function(f, as_variable(o)->frontend) : Py_NewRef(Py_None);
}
void put_parent(PyObject* o, PyObject* value, void*) {
  VariableNode& n = node_of_object(o);
  ++graph_epoch;
  if (value == Py_None) {
    n.unchain();
    n.rank = 0;
    return;
  }
  FunctionNode& f = deferred_function(value);
  size_t j = 0;
  while (j < f.call->outputs.size() && f.call->outputs[j] != n.deferred->store) ++j;
  if (j == f.call->outputs.size()) j = 0;
  n.become_output(Ref<FunctionNode>(&f), j);
}
PyObject* views(const std::vector<Shown>& functions, Frontend* frontend) {
  return list_of(functions.size(), [&](size_t k) { return view_of_function(functions[k], frontend); }).release();
}
PyObject* get_users(PyObject* o, void*) { return views(Shown::users(node_of_object(o)), as_variable(o)->frontend); }
// A variable with another shape that shares the memory.
PyObject* view(PyObject* o, PyObject* shape) {
  VariableNode& n = node_of_object(o);
  const Ints sizes = parse_ints(shape, "shape");
  Ref<Store> store(new Store(sizes));
  for (auto which : {&Store::data, &Store::grad}) {
    Array& from = *((*n.deferred->store).*which);
    if (from.touched) ((*store).*which)->put(from.read().view(sizes));
  }
  return variable_of_node(make_deferred(std::move(store), -1), as_variable(o)->frontend);
}
// _rewire_on(v): makes this variable the output of v's parent in place of v.
void rewire(PyObject* o, PyObject* other) {
  expect_variable(other, "rewire_on");
  const Ref<FunctionNode> f = *Shown::creator(node_of_object(other));
  VariableNode &to = node_of_object(o), &from = node_of_object(other);
  if (!f) fail(PyExc_RuntimeError, "rewire_on: the given Variable must have a parent function");
  if (at::IntArrayRef(to.sizes) != at::IntArrayRef(from.sizes))
    fail(PyExc_RuntimeError, "rewire_on: the shapes differ: %s",
         c10::str(at::IntArrayRef(to.sizes), ", ", at::IntArrayRef(from.sizes)).c_str());
  const uint32_t j = from.output_index;
  from.unchain();
  from.rank = 0;
  to.become_output(f, j);
  to.deferred->store = from.deferred->store;
  to.deferred->need_grad = from.deferred->need_grad;
  to.requires_grad = from.requires_grad;
  ++graph_epoch;
}
void set_shape(PyObject* o, PyObject* shape) {
  VariableNode& n = node_of_object(o);
  const Ints sizes = parse_ints(shape, "shape");
  n.sizes.assign(sizes.begin(), sizes.end());
  for (Array* a : {n.deferred->store->data.get(), n.deferred->store->grad.get()}) a->follow(sizes);
}
PyObject* order(PyObject* o, PyObject*) { return views(Shown::order(node_of_object(o)), as_variable(o)->frontend); }

// ---- passes ---------------------------------------------------------------------------------------------------------
FunctionHook hook_of(PyObject* callback, Frontend* frontend) {
  if (callback == Py_None) return {};
  return [callback, frontend](FunctionNode& f) {
    Obj view = Obj::steal(view_of_function(Shown::visited(f), frontend));
    Obj::steal(PyObject_CallOneArg(callback, view.get()));
  };
}

// Reads three arguments: before, after, finished.
DeferredOptions hooks_of(PyObject* const* args, Frontend* frontend) {
  DeferredOptions options;
  options.before = hook_of(args[0], frontend);
  options.after = hook_of(args[1], frontend);
  options.finished = hook_of(args[2], frontend);
  return options;
}
bool has_hooks(const DeferredOptions& options) { return options.before || options.after || options.finished; }

// deferred_forward(variables, clear_buffer, clear_no_need_grad, before, after, finished)
void deferred_forward(PyObject*, PyObject* const* args, Py_ssize_t n) {
  const Items variables(args[0], "variables");
  std::vector<VariableNode*> ys;
  Frontend* frontend = native_frontend;
  for (Py_ssize_t i = 0; i < variables.size(); ++i) {
    frontend = expect_variable(variables[i], "variables", i)->frontend;
    ys.push_back(&node_of_object(variables[i]));
  }
  FrontendScope scope(frontend);
  DeferredOptions options = hooks_of(args + 3, frontend);
  options.clear_buffer = truth(args[1]);
  options.clear_no_need_grad = truth(args[2]);
  const RunningPass pass(has_hooks(options));
  forward_pass(ys, options);
}
// deferred_backward(variable, grad array or None, clear_buffer, clear_initial_grad, before, after, finished)
void deferred_backward(PyObject*, PyObject* const* args, Py_ssize_t n) {
  Frontend* frontend = expect_variable(args[0], "variable")->frontend;
  FrontendScope scope(frontend);
  DeferredOptions options = hooks_of(args + 4, frontend);
  options.clear_buffer = truth(args[2]);
  options.clear_initial_grad = truth(args[3]);
  const RunningPass pass(has_hooks(options));
  backward_pass(node_of_object(args[0]), args[1] == Py_None ? Ref<Array>() : unwrap_array(args[1], "grad"), options);
}

PyObject* set_global_recompute(PyObject*, PyObject* value) {
  return PyBool_FromLong(std::exchange(global_recompute, truth(value)));
}
PyObject* get_global_recompute(PyObject*, PyObject*) { return PyBool_FromLong(global_recompute); }
PyObject* compare(PyObject* a, PyObject* b, int op) {
  if (op != Py_EQ && op != Py_NE) Py_RETURN_NOTIMPLEMENTED;
  return guarded([&]() -> PyObject* {
    if (!PyObject_TypeCheck(b, &DeferredVariableType))
      fail(PyExc_TypeError, "a Variable can only be compared with a Variable, not with %s", Py_TYPE(b)->tp_name);
    return PyBool_FromLong((deferred(a).store == deferred(b).store) == (op == Py_EQ));
  });
}
Py_hash_t hash(PyObject* o) {
  auto& n = as_variable(o)->v.node;
  return n && n->deferred ? static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(n->deferred->store.get()) >> 4) : 0;
}

char kData[] = "data", kGrad[] = "grad";
PyGetSetDef getset[] = {
    {"data", guard<get_array<&Store::data>>, guard<put_array<&Store::data>>, "The array of the values.", kData},
    {"grad", guard<get_array<&Store::grad>>, guard<put_array<&Store::grad>>, "The array of the gradient.", kGrad},
    {"shape", guard<get_shape>, nullptr, "Lengths of the axes.", nullptr},
    {"ndim", guard<get_ndim>, nullptr, "Number of axes.", nullptr},
    {"size", guard<get_size>, nullptr, "Number of elements.", nullptr},
    {"need_grad", guard<get_need_grad>, guard<put_need_grad>, "Whether backpropagation reaches this variable.",
     nullptr},
    {"persistent", guard<get_flag<&Deferred::persistent>>, guard<put_flag<&Deferred::persistent>>,
     "Whether passes that free memory keep the data of this variable.", nullptr},
    {"_recompute", guard<get_flag<&Deferred::recompute>>, guard<put_flag<&Deferred::recompute>>, nullptr, nullptr},
    {"parent", guard<get_parent>, guard<put_parent>, "The function that computes this variable, or None.", nullptr},
    {"function_references", guard<get_users>, nullptr, "The functions that use this variable.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef methods[] = {
    {"_setup", FAST(setup, 2), nullptr},
    {"_unlinked", guard<unlinked_variable>, METH_O, nullptr},
    {"_view", guard<view>, METH_O, nullptr},
    {"_rewire_on", guard<rewire>, METH_O, nullptr},
    {"_set_shape", guard<set_shape>, METH_O, nullptr},
    {"_functions", guard<order>, METH_NOARGS, "All functions this variable depends on, inputs first."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* unlinked_variable(PyObject* o, PyObject* need_grad) {
  VariableNode& n = node_of_object(o);
  auto fresh = make_deferred(n.deferred->store, parse_need_grad(need_grad));
  fresh->sizes = n.sizes;
  return variable_of_node(fresh, as_variable(o)->frontend);
}

PyMethodDef deferred_functions[] = {{"deferred_forward", FAST(deferred_forward, 6), nullptr},
                                    {"deferred_backward", FAST(deferred_backward, 7), nullptr},
                                    {"set_global_recompute", guard<set_global_recompute>, METH_O, nullptr},
                                    {"get_global_recompute", guard<get_global_recompute>, METH_NOARGS, nullptr},
                                    {nullptr, nullptr, 0, nullptr}};

PyTypeObject DeferredVariableType = [] {
  PyTypeObject t =
      type_of<PyVariable>("compatgrad._C.DeferredVariable", "A Variable whose values come later.", Py_TPFLAGS_BASETYPE);
  // everything else, including the functions for the garbage collector, is inherited from Variable
  t.tp_base = &VariableType;
  set_attributes(t, getset, methods);
  t.tp_richcompare = compare;
  t.tp_hash = hash;
  return t;
}();

}  // namespace cg::py
