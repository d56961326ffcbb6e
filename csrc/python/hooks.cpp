// What the backprop loop calls in Python: hooks, backwards written in Python, signal handlers.
#include <chrono>

#include "core/arithmetic.h"
#include "core/door.h"
#include "core/mode.h"
#include "python/joined.h"

namespace cg::py {
namespace {

thread_local PyObject* thread_hooks __attribute__((tls_model("initial-exec"))) = nullptr;

// ---- hooks ----------------------------------------------------------------------------------------------------------
bool hooks_active() { return thread_hooks && PyDict_GET_SIZE(thread_hooks) > 0; }
bool observing() { return hooks_active() || mode(Mode::debug); }

Obj arrays_of(VarsRef xs, Frontend* f, bool skip_missing) {
  const auto array = [f](const Var& x) {
    if (!x.node || !living_variable(*x.node) || !x.node->variable->data.is_same(x.data) || !x.defined() || !f->numpy)
      return to_frontend_array(x.data, f);
    Obj v = Obj::steal(variable_of_node(x.node, f));
    return PyObject_GetAttrString(v.get(), "array");
  };
  List list;
  for (const Var& x : xs)
    if (!skip_missing || x.defined() || x.node) list.add(array(x));
  return Obj::steal(PyList_AsTuple(list.get()));
}

// A method of hooks. `empty`: the method of the hooks' base class, which does nothing and is not called.
struct Callback {
  PyObject* name;
  PyObject* empty = nullptr;
  explicit Callback(const char* n) : name(PyUnicode_InternFromString(n)) {}
};
struct Callbacks {
  Callback forward_pre{"forward_preprocess"}, forward_post{"forward_postprocess"};
  Callback backward_pre{"backward_preprocess"}, backward_post{"backward_postprocess"};
};
Callbacks& callbacks() {
  static auto* all = new Callbacks;
  return *all;
}

// The methods to call: of the thread's hooks, then of the hooks in `local`, which replace thread hooks of the same
// name.
using Calls = c10::SmallVector<Obj, 2>;
Calls calls_of(PyObject* local, const Callback& callback) {
  Calls calls;
  const bool own = local && PyDict_GET_SIZE(local);
  if (!hooks_active() && !own) return calls;
  Obj all = Obj::steal(thread_hooks ? PyDict_Copy(thread_hooks) : PyDict_New());
  if (own && PyDict_Update(all.get(), local) < 0) throw PyError();
  Obj hooks = Obj::steal(PyDict_Values(all.get()));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(hooks.get()); ++i) {
    Obj bound = Obj::steal(PyObject_GetAttr(PyList_GET_ITEM(hooks.get(), i), callback.name));
    if (!PyMethod_Check(bound.get()) || PyMethod_GET_FUNCTION(bound.get()) != callback.empty)
      calls.push_back(std::move(bound));
  }
  return calls;
}
void call_all(const Calls& calls, FunctionNode& f, PyObject* in_data, PyObject* out_grad) {
  Obj view = Obj::steal(view_of_function(Shown::visited(f), frontend_of(f)));
  for (const Obj& bound : calls)
    Obj::steal(PyObject_CallFunctionObjArgs(bound.get(), view.get(), in_data, out_grad, nullptr));
}
void set_hook_base(PyObject*, PyObject* base) {
  Callbacks& all = callbacks();
  for (Callback* c : {&all.forward_pre, &all.forward_post, &all.backward_pre, &all.backward_post})
    c->empty = Obj::steal(PyObject_GetAttr(base, c->name)).release();
}

void forward_hooks(FunctionNode& f, VarsRef in, const Callback& callback) {
  const Calls calls = calls_of(static_cast<PyObject*>(f.hooks), callback);
  if (calls.empty()) return;
  Obj data = arrays_of(in, active_frontend(), true);
  call_all(calls, f, data.get(), nullptr);
}
void before_forward(FunctionNode& f, VarsRef in) { forward_hooks(f, in, callbacks().forward_pre); }
// This may be called for a function that runs without the interpreter lock.
std::string label(const FunctionNode& f) {
  const Locked locked;
  Obj view = Obj::steal(view_of_function(Shown::visited(const_cast<FunctionNode&>(f)), active_frontend()));
  PyObject* text = PyObject_GetAttrString(view.get(), "label");
  if (!text) {
    PyErr_Clear();
    return f.info() ? f.info()->name : Py_TYPE(view.get())->tp_name;
  }
  Obj owned = Obj::steal(text);
  const char* s = PyUnicode_AsUTF8(text);
  return s ? s : "";
}
void after_forward(FunctionNode& f, VarsRef in, const Tensors& out) {
  forward_hooks(f, in, callbacks().forward_post);
  if (!mode(Mode::debug)) return;
  for (const at::Tensor& y : out)
    if (has_nan(y)) throw std::runtime_error("NaN is detected on forward computation of " + label(f));
}

Vars retained(FunctionNode& f) {
  Vars in;
  for (size_t i = 0; i < f.inputs.size(); ++i)
    if (f.inputs[i]) in.push_back(f.input(i));
  return in;
}
void backward_hooks(FunctionNode& f, VarsRef gys, const Callback& callback) {
  const Calls calls = calls_of(static_cast<PyObject*>(f.hooks), callback);
  if (calls.empty()) return;
  Frontend* fe = frontend_of(f);
  Obj data = arrays_of(retained(f), fe, false), grads = arrays_of(gys, fe, false);
  call_all(calls, f, data.get(), grads.get());
}
void before_backward(FunctionNode& f, VarsRef gys) { backward_hooks(f, gys, callbacks().backward_pre); }
void after_backward(FunctionNode& f, VarsRef gys) { backward_hooks(f, gys, callbacks().backward_post); }

Obj ask_backward(void* callable, FunctionNode& f, VarsRef gys) {
  Frontend* fe = frontend_of(f);
  Obj view = Obj::steal(view_of_function(Shown::visited(f), fe)), grads = Obj::steal(tuple_of_variables(gys, fe));
  return Obj::steal(PyObject_CallFunctionObjArgs(static_cast<PyObject*>(callable), view.get(), grads.get(), nullptr));
}

void overridden_backward(FunctionNode& f, VarsRef gys, Vars& gxs, c10::ArrayRef<bool> wanted) {
  Obj result = ask_backward(f.info()->override_backward, f, gys);
  Obj list = is_variable(result.get()) || result.get() == Py_None ? Obj::steal(PyTuple_Pack(1, result.get()))
                                                                  : std::move(result);
  read_gradients(list.get(), wanted, gxs, f.info()->name);
}

// Calls the backward that is registered for a function under a frontend's own name: registered_backwards(view,
// gradients) returns gradients, or None if none is registered.
PyObject* registered_backwards = nullptr;
bool registered_backward(FunctionNode& f, NodesRef inputs, VarsRef gys, Vars& gxs, c10::ArrayRef<bool> wanted) {
  if (!registered_backwards) return false;
  Obj result = ask_backward(registered_backwards, f, gys);
  if (result.get() == Py_None) return false;
  // the result has an entry for each input that was not omitted
  Py_ssize_t k = 0;
  const auto gradient = [&](size_t i) {
    return inputs[i] ? PySequence_GetItem(result.get(), k++) : Py_NewRef(Py_None);
  };
  Obj all = list_of(inputs.size(), gradient);
  read_gradients(all.get(), wanted, gxs, "registered backward");
  return true;
}
void set_registered_backwards(PyObject*, PyObject* table) {
  Py_XSETREF(registered_backwards, table == Py_None ? nullptr : Py_NewRef(table));
}

void check_gradient(FunctionNode& f, const VariableNode& x, size_t i, const at::Tensor& g) {
  if (!x.has_shape) return;
  const bool dtype = g.scalar_type() != x.dtype;
  if (!dtype && g.sizes() == at::IntArrayRef(x.sizes)) return;
  Frontend* fe = frontend_of(f);
  Obj view = Obj::steal(view_of_function(Shown::visited(f), fe));
  Obj expected = dtype ? Obj::borrow(dtype_object(x.dtype, fe)) : Obj::steal(tuple_of_ints(x.sizes));
  Obj actual = dtype ? Obj::borrow(dtype_object(g.scalar_type(), fe)) : Obj::steal(tuple_of_ints(g.sizes()));
  if (fe->on_grad_error) {
    Obj error = Obj::steal(PyObject_CallFunction(fe->on_grad_error, "sOnOO", dtype ? "dtype" : "shape", view.get(),
                                                 static_cast<Py_ssize_t>(i), expected.get(), actual.get()));
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
    throw PyError();
  }
  fail(dtype ? PyExc_TypeError : PyExc_ValueError, "%s of %s: gradient of input %zu has %s %R, expected %R", "backward",
       Py_TYPE(view.get())->tp_name, i, dtype ? "dtype" : "shape", actual.get(), expected.get());
}

// Checks for Ctrl-C and lets other threads run, because a pass of small functions never releases the interpreter lock
// otherwise. A thread that waits for the lock requests it after 5 ms without a release, and CPython hands it only to a
// thread that has requested it. If the lock were released every 5 ms or more often, each release would wake the waiting
// thread just before its request, and it would never get the lock.
void check_signals() {
  using Clock = std::chrono::steady_clock;
  constexpr auto kTurn = std::chrono::milliseconds(8);
  thread_local Clock::rep last = 0;
  const auto now = Clock::now().time_since_epoch();
  if (now - Clock::duration(last) > kTurn) {
    settle_quietly();  // another thread may write into arrays that functions wait to read
    PyEval_RestoreThread(PyEval_SaveThread());
    last = Clock::now().time_since_epoch().count();
  }
  if (user_code(PyErr_CheckSignals) < 0) throw PyError();
}

PyObject* py_function_hooks(PyObject*, PyObject*) { return Py_XNewRef(function_hooks()); }
}  // namespace

// Hooks with a method for forward also see the functions that a backward consists of.
bool forwards_observed() {
  return !calls_of(nullptr, callbacks().forward_pre).empty() || !calls_of(nullptr, callbacks().forward_post).empty();
}

PyObject* function_hooks() {
  struct AtThreadEnd {
    ~AtThreadEnd() {
      if (!thread_hooks || !Py_IsInitialized()) return;
      const Locked locked;
      Py_CLEAR(thread_hooks);
    }
  };
  static thread_local AtThreadEnd release;
  if (!thread_hooks) thread_hooks = PyDict_New();
  (void)&release;
  return thread_hooks;
}

void init_binding() {
  binding.incref = [](void* o) { Py_INCREF(static_cast<PyObject*>(o)); };
  binding.decref = [](void* o) { user_code(Py_DecRef, static_cast<PyObject*>(o)); };
  binding.shared = [](void* o) { return Py_REFCNT(static_cast<PyObject*>(o)) > 1; };
  binding.observing = observing;
  binding.before_forward = before_forward;
  binding.after_forward = after_forward;
  binding.before_backward = before_backward;
  binding.after_backward = after_backward;
  binding.overridden_backward = overridden_backward;
  binding.registered_backward = registered_backward;
  binding.python_backward = python_backward;
  binding.check_gradient = check_gradient;
  binding.label = label;
  binding.check_signals = check_signals;
  binding.unlock = []() -> void* { return PyEval_SaveThread(); };
  binding.relock = [](void* s) { PyEval_RestoreThread(static_cast<PyThreadState*>(s)); };
}

PyMethodDef hook_methods[] = {
    {"set_registered_backwards", guard<set_registered_backwards>, METH_O, nullptr},
    {"set_hook_base", guard<set_hook_base>, METH_O, "Sets the base class of hooks, whose methods are empty."},
    {"function_hooks", py_function_hooks, METH_NOARGS, "This thread's function hooks, by name."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace cg::py
