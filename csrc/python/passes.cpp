// Passes, hooks, modes and the registry: what the loop asks of Python, and the module's functions.
#include <ATen/ops/ones_like.h>

#include <chrono>
#include <string_view>

#include "core/door.h"
#include "core/mode.h"
#include "ops/functions.h"
#include "python/deferred.h"

namespace cg::py {

namespace {

thread_local PyObject* thread_hooks __attribute__((tls_model("initial-exec"))) = nullptr;

// ---- hooks ----------------------------------------------------------------------------------------------------------
bool hooks_active() { return thread_hooks && PyDict_GET_SIZE(thread_hooks) > 0; }
bool observing() { return hooks_active() || mode(Mode::debug); }

Obj arrays_of(VarsRef xs, Frontend* f, bool skip_missing) {
  Obj list = Obj::steal(PyList_New(0));
  for (const Var& x : xs) {
    if (skip_missing && !x.defined() && !x.node) continue;
    PyObject* a;
    if (x.node && living_variable(*x.node) && x.node->variable->data.is_same(x.data) && x.defined() && f->numpy) {
      Obj v = Obj::steal(variable_of_node(x.node, f));
      a = PyObject_GetAttrString(v.get(), "array");
    } else {
      a = to_frontend_array(x.data, f);
    }
    Obj item = Obj::steal(a);
    if (PyList_Append(list.get(), item.get()) < 0) throw PyError();
  }
  return Obj::steal(PyList_AsTuple(list.get()));
}

// A callback of hooks. `empty`: the one that hooks inherit, with nothing to do; it is not called.
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

// What is to be called, of the thread's hooks, then of `local`, which replace those of the same name.
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
  Obj view = Obj::steal(view_of_function(&f, frontend_of(f)));
  for (const Obj& bound : calls)
    Obj::steal(PyObject_CallFunctionObjArgs(bound.get(), view.get(), in_data, out_grad, nullptr));
}
PyObject* set_hook_base(PyObject*, PyObject* base) {
  Callbacks& all = callbacks();
  for (Callback* c : {&all.forward_pre, &all.forward_post, &all.backward_pre, &all.backward_post})
    c->empty = Obj::steal(PyObject_GetAttr(base, c->name)).release();
  Py_RETURN_NONE;
}

void forward_hooks(FunctionNode& f, VarsRef in, const Callback& callback) {
  const Calls calls = calls_of(static_cast<PyObject*>(f.hooks), callback);
  if (calls.empty()) return;
  Obj data = arrays_of(in, active_frontend(), true);
  call_all(calls, f, data.get(), nullptr);
}
void before_forward(FunctionNode& f, VarsRef in) { forward_hooks(f, in, callbacks().forward_pre); }
// Also for a function that runs without the interpreter lock.
std::string label(const FunctionNode& f) {
  struct Locked {
    const PyGILState_STATE state = PyGILState_Ensure();
    ~Locked() { PyGILState_Release(state); }
  } locked;
  Obj view = Obj::steal(view_of_function(const_cast<FunctionNode*>(&f), active_frontend()));
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

void overridden_backward(FunctionNode& f, VarsRef gys, Vars& gxs, c10::ArrayRef<bool> wanted) {
  Frontend* fe = frontend_of(f);
  Obj view = Obj::steal(view_of_function(&f, fe)), grads = Obj::steal(tuple_of_variables(gys, fe));
  Obj result = Obj::steal(PyObject_CallFunctionObjArgs(static_cast<PyObject*>(f.info()->override_backward), view.get(),
                                                       grads.get(), nullptr));
  Obj list = is_variable(result.get()) || result.get() == Py_None ? Obj::steal(PyTuple_Pack(1, result.get()))
                                                                  : std::move(result);
  read_gradients(list.get(), wanted, gxs, f.info()->name);
}

// A frontend's table of backward functions, by its own names: registered_backwards(view, gradients) -> gradients, or
// None.
PyObject* registered_backwards = nullptr;
bool registered_backward(FunctionNode& f, NodesRef inputs, VarsRef gys, Vars& gxs, c10::ArrayRef<bool> wanted) {
  if (!registered_backwards) return false;
  Frontend* fe = frontend_of(f);
  Obj view = Obj::steal(view_of_function(&f, fe)), grads = Obj::steal(tuple_of_variables(gys, fe));
  Obj result = Obj::steal(PyObject_CallFunctionObjArgs(registered_backwards, view.get(), grads.get(), nullptr));
  if (result.get() == Py_None) return false;
  // Its entries are those of the inputs that were given.
  Obj all = Obj::steal(PyList_New(0));
  Py_ssize_t k = 0;
  for (auto& x : inputs) {
    Obj g = x ? Obj::steal(PySequence_GetItem(result.get(), k++)) : Obj::borrow(Py_None);
    if (PyList_Append(all.get(), g.get()) < 0) throw PyError();
  }
  read_gradients(all.get(), wanted, gxs, "registered backward");
  return true;
}
PyObject* set_registered_backwards(PyObject*, PyObject* table) {
  Py_XSETREF(registered_backwards, table == Py_None ? nullptr : Py_NewRef(table));
  Py_RETURN_NONE;
}

void check_gradient(FunctionNode& f, const VariableNode& x, size_t i, const at::Tensor& g) {
  if (!x.has_shape) return;
  const bool dtype = g.scalar_type() != x.dtype;
  if (!dtype && g.sizes() == at::IntArrayRef(x.sizes)) return;
  Frontend* fe = frontend_of(f);
  Obj view = Obj::steal(view_of_function(&f, fe));
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

// Ctrl-C, and a turn for the other threads as often as Python's own loop gives them one: a pass of small functions
// never lets go of the interpreter lock.
void check_signals() {
  using Clock = std::chrono::steady_clock;
  constexpr auto kTurn = std::chrono::milliseconds(5);
  thread_local Clock::rep last = 0;
  const auto now = Clock::now().time_since_epoch();
  if (now - Clock::duration(last) > kTurn) {
    PyEval_RestoreThread(PyEval_SaveThread());
    last = Clock::now().time_since_epoch().count();
  }
  if (PyErr_CheckSignals() < 0) throw PyError();
}

// ---- passes ---------------------------------------------------------------------------------------------------------
// `side`: Variables of a graph that runs at another time than this frontend's become the frontend's.
Vars read_variables(PyObject* o, const char* name, bool allow_none, Frontend* side = nullptr) {
  Obj seq = Obj::steal(PySequence_Fast(o, name));
  Vars r;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(seq.get()); ++i) {
    PyObject* x = PySequence_Fast_GET_ITEM(seq.get(), i);
    if (allow_none && x == Py_None) {
      r.emplace_back();
      continue;
    }
    if (!is_variable(x)) fail(PyExc_TypeError, "%s[%zd]: expected a Variable, got %s", name, i, Py_TYPE(x)->tp_name);
    Obj own = side && side->deferred != as_variable(x)->frontend->deferred ? cross(x, side) : Obj::borrow(x);
    node_of(as_variable(own.get()));
    r.push_back(var_of(as_variable(own.get())));
  }
  return r;
}

// Where a program may leave a gradient out, it means ones.
void fill_with_ones(Frontend* f, VarsRef ys, Vars& gys) {
  if (!f->on_request) return;
  for (size_t k = 0; k < gys.size(); ++k)
    if (!gys[k].defined()) gys[k] = Var(at::ones_like(ys[k].data));
}

PassOptions read_options(int retain_grad, PyObject* loss_scale, int create_graph, int release, Frontend* f) {
  PassOptions o;
  o.release = release;
  o.zeros = f->on_request;
  o.retain_grad = retain_grad;
  o.create_graph = create_graph;
  // Functions that a backward is made of are shown to hooks which look at forwards.
  o.show_functions =
      !calls_of(nullptr, callbacks().forward_pre).empty() || !calls_of(nullptr, callbacks().forward_post).empty();
  if (loss_scale && loss_scale != Py_None) {
    o.loss_scale = PyFloat_AsDouble(loss_scale);
    if (*o.loss_scale == -1 && PyErr_Occurred()) throw PyError();
  }
  return o;
}

}  // namespace
Obj result_of(Var g, Frontend* f) {
  if (!g.defined()) return Obj::borrow(Py_None);
  if (!g.node) g.node = make_node(g.data, true);
  if (static_cast<bool>(g.node->deferred) == static_cast<bool>(f->deferred)) return Obj::steal(variable_of(g, f));
  Frontend* own = g.node->creator    ? frontend_of(*g.node->creator)
                  : g.node->deferred ? deferred_frontend
                                     : native_frontend;
  Obj x = Obj::steal(variable_of(g, own));
  return cross(x.get(), f);
}
namespace {

PyObject* py_backward(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {
      "frontend", "outputs", "grad_outputs", "retain_grad", "loss_scale", "enable_double_backprop", "release", nullptr};
  PyObject *frontend, *outputs, *grads, *loss_scale = Py_None;
  int retain = 0, create_graph = 0, release = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!OO|pOpp:backward", const_cast<char**>(names), &FrontendType,
                                   &frontend, &outputs, &grads, &retain, &loss_scale, &create_graph, &release))
    return nullptr;
  auto* fe = reinterpret_cast<Frontend*>(frontend);
  FrontendScope scope(fe);
  const Vars ys = read_variables(outputs, "outputs", false, fe);
  Vars gys = read_variables(grads, "grad_outputs", true, fe);
  if (ys.size() != gys.size()) fail(PyExc_ValueError, "grad_outputs: expected %zu, got %zu", ys.size(), gys.size());
  fill_with_ones(fe, ys, gys);
  backward(ys, gys, read_options(retain, loss_scale, create_graph, release, fe));
  Py_RETURN_NONE;
}

// `grad`, where an input of a deferred graph stands for all that share its arrays there, unless the frontend has looked
// for them itself.
Vars grad_of_places(VarsRef ys, VarsRef xs, VarsRef gys, VarsRef initial, const PassOptions& options, Frontend* f) {
  const auto deferred = [](const Var& x) { return x.node->deferred != nullptr; };
  if (f->deferred || std::none_of(xs.begin(), xs.end(), deferred)) return grad(ys, xs, gys, initial, options);
  Vars all, starts, result;
  std::vector<size_t> counts;
  for (size_t i = 0; auto& nodes : places_of(xs, ys)) {
    if (nodes.empty()) nodes.push_back(xs[i].node);
    counts.push_back(nodes.size());
    for (size_t k = 0; k < nodes.size(); ++k) {
      all.emplace_back(nodes[k], xs[i].data);
      if (!initial.empty()) starts.push_back(k ? Var() : initial[i]);
    }
    ++i;
  }
  const Vars found = grad(ys, all, gys, starts, options);
  size_t next = 0;
  for (size_t i = 0; i < xs.size(); ++i) {
    Vars parts;
    for (size_t k = 0; k < counts[i]; ++k, ++next)
      if (found[next].defined()) parts.push_back(found[next]);
    const ModeScope side(Mode::deferred, options.create_graph), enabled(Mode::enable_backprop, options.create_graph);
    const EngineScope engine;
    result.push_back(parts.empty() ? Var() : parts.size() == 1 ? parts[0] : add_n(VarsRef(parts)));
  }
  return result;
}

PyObject* py_grad(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"frontend",    "outputs",     "inputs",     "grad_outputs",
                                "grad_inputs", "retain_grad", "loss_scale", "enable_double_backprop",
                                "release",     nullptr};
  PyObject *frontend, *outputs, *inputs, *grads, *initial = Py_None, *loss_scale = Py_None;
  int retain = 0, create_graph = 0, release = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!OOO|OpOpp:grad", const_cast<char**>(names), &FrontendType,
                                   &frontend, &outputs, &inputs, &grads, &initial, &retain, &loss_scale, &create_graph,
                                   &release))
    return nullptr;
  auto* fe = reinterpret_cast<Frontend*>(frontend);
  FrontendScope scope(fe);
  ModeScope style(Mode::deferred, fe->deferred);
  const Vars ys = read_variables(outputs, "outputs", false, fe), xs = read_variables(inputs, "inputs", false);
  Vars gys = read_variables(grads, "grad_outputs", true, fe);
  if (ys.size() != gys.size()) fail(PyExc_ValueError, "grad_outputs: expected %zu, got %zu", ys.size(), gys.size());
  fill_with_ones(fe, ys, gys);
  const Vars gxs = initial == Py_None ? Vars() : read_variables(initial, "grad_inputs", true);
  if (!gxs.empty() && gxs.size() != xs.size())
    fail(PyExc_ValueError, "grad_inputs: expected %zu, got %zu", xs.size(), gxs.size());
  Vars result = grad_of_places(ys, xs, gys, gxs, read_options(retain, loss_scale, create_graph, release, fe), fe);
  Obj list = Obj::steal(PyList_New(result.size()));
  for (size_t i = 0; i < result.size(); ++i)
    PyList_SET_ITEM(list.get(), i, result_of(std::move(result[i]), fe).release());
  return list.release();
}

// ---- modes ----------------------------------------------------------------------------------------------------------
constexpr std::string_view kModes[] = {"enable_backprop", "debug",        "type_check", "lazy_grad_sum", "train",
                                       "deferred",        "auto_forward", "plain",      "recording",     "training"};
int mode_index(PyObject* name) {
  const char* s = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  for (int i = 0; s && i < static_cast<int>(Mode::count); ++i)
    if (kModes[i] == s) return i;
  fail(PyExc_ValueError,
       "mode: expected one of enable_backprop, debug, type_check, lazy_grad_sum, train, deferred, auto_forward, plain, "
       "recording, training, got %R",
       name);
}
PyObject* mode_value(int8_t v) {
  if (v == kUnset) Py_RETURN_NONE;
  return PyBool_FromLong(v);
}
PyObject* get_mode(PyObject*, PyObject* name) { return PyBool_FromLong(mode(static_cast<Mode>(mode_index(name)))); }
PyObject* get_mode_raw(PyObject*, PyObject* name) { return mode_value(thread_modes.value[mode_index(name)]); }
PyObject* set_mode(PyObject*, PyObject* const* args, Py_ssize_t n) {
  int8_t& slot = thread_modes.value[mode_index(args[0])];
  const int8_t value = args[1] == Py_None ? kUnset : truth(args[1]);
  return mode_value(std::exchange(slot, value));
}
PyObject* get_default_mode(PyObject*, PyObject* name) { return mode_value(default_modes[mode_index(name)]); }
PyObject* set_default_mode(PyObject*, PyObject* const* args, Py_ssize_t n) {
  default_modes[mode_index(args[0])] = truth(args[1]);
  Py_RETURN_NONE;
}

// ---- ops and registry -----------------------------------------------------------------------------------------------
const OpInfo* op_of(PyObject* name) {
  const char* s = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  const OpInfo* info = s ? find_op(s) : nullptr;
  if (!info) fail(PyExc_ValueError, "there is no op %R", name);
  return info;
}
PyObject* py_op(PyObject*, PyObject* name) { return raw_op(op_of(name)); }
PyObject* op_names(PyObject*, PyObject*) {
  Obj list = Obj::steal(PyList_New(0));
  for (const OpInfo* info : all_ops()) {
    Obj name = Obj::steal(PyUnicode_FromString(info->name));
    if (PyList_Append(list.get(), name.get()) < 0) throw PyError();
  }
  return list.release();
}
PyObject* op_info(PyObject*, PyObject* name) {
  static const char* kinds[] = {"bool",  "int",    "float",  "str",     "ints",  "int?", "float?",
                                "ints?", "scalar", "tensor", "tensor?", "dtype", "index"};
  const OpInfo* info = op_of(name);
  Obj params = Obj::steal(PyList_New(0)), optional = Obj::steal(PyList_New(0));
  Ref<FunctionNode> sample(info->create());
  for (const ParamInfo& p : info->params) {
    Obj value = p.required ? Obj::borrow(Py_Ellipsis) : Obj::steal(format_param(p, p.address(sample->params())));
    Obj entry = Obj::steal(Py_BuildValue("(ssO)", p.name, kinds[static_cast<int>(p.kind)], value.get()));
    if (PyList_Append(params.get(), entry.get()) < 0) throw PyError();
  }
  for (int i = 0; i < info->inputs; ++i) {
    if (!info->optional.input(i)) continue;
    Obj index = Obj::steal(PyLong_FromLong(i));
    if (PyList_Append(optional.get(), index.get()) < 0) throw PyError();
  }
  return Py_BuildValue("{s:s,s:i,s:O,s:O,s:s,s:O}", "name", info->name, "inputs", info->inputs, "optional",
                       optional.get(), "params", params.get(), "doc", info->doc, "any_dtype",
                       info->any_dtype ? Py_True : Py_False);
}
PyObject* py_register(PyObject*, PyObject* const* args, Py_ssize_t n) {
  const OpInfo* info = op_of(args[0]);
  if (args[1] != Py_None && !PyCallable_Check(args[1]))
    fail(PyExc_TypeError, "register: expected a callable or None, got %s", Py_TYPE(args[1])->tp_name);
  auto* old =
      static_cast<PyObject*>(std::exchange(info->override_backward, args[1] == Py_None ? nullptr : Py_NewRef(args[1])));
  Py_XDECREF(old);
  Py_RETURN_NONE;
}
PyObject* registry(PyObject*, PyObject*) {
  Obj d = Obj::steal(PyDict_New());
  for (const OpInfo* info : all_ops()) {
    auto* fn = static_cast<PyObject*>(info->override_backward);
    if (PyDict_SetItemString(d.get(), info->name, fn ? fn : Py_None) < 0) throw PyError();
  }
  return d.release();
}
PyObject* py_function_hooks(PyObject*, PyObject*) { return Py_XNewRef(function_hooks()); }

}  // namespace

PyObject* function_hooks() {
  struct AtThreadEnd {
    ~AtThreadEnd() {
      if (!thread_hooks || !Py_IsInitialized()) return;
      const PyGILState_STATE state = PyGILState_Ensure();
      Py_CLEAR(thread_hooks);
      PyGILState_Release(state);
    }
  };
  static thread_local AtThreadEnd release;
  if (!thread_hooks) thread_hooks = PyDict_New();
  (void)&release;
  return thread_hooks;
}

void init_binding() {
  binding.incref = [](void* o) { Py_INCREF(static_cast<PyObject*>(o)); };
  binding.decref = [](void* o) { Py_DECREF(static_cast<PyObject*>(o)); };
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

PyMethodDef module_methods[] = {
    {"backward", KEYWORDS(py_backward), "Backpropagates from outputs to all leaves."},
    {"grad", KEYWORDS(py_grad), "Gradients of inputs."},
    {"get_mode", guard<get_mode>, METH_O, nullptr},
    {"get_mode_raw", guard<get_mode_raw>, METH_O, nullptr},
    {"set_mode", FAST(set_mode, 2), nullptr},
    {"get_default_mode", guard<get_default_mode>, METH_O, nullptr},
    {"set_default_mode", FAST(set_default_mode, 2), nullptr},
    {"op", guard<py_op>, METH_O, "The op of that name, for the native API."},
    {"op_names", guard<op_names>, METH_NOARGS, nullptr},
    {"op_info", guard<op_info>, METH_O, nullptr},
    {"register", FAST(py_register, 2), "Replaces the backward of an op; None restores it."},
    {"registry", guard<registry>, METH_NOARGS, nullptr},
    {"set_registered_backwards", set_registered_backwards, METH_O, nullptr},
    {"set_hook_base", guard<set_hook_base>, METH_O, "The class whose callbacks are empty."},
    {"function_hooks", py_function_hooks, METH_NOARGS, "This thread's function hooks, by name."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace cg::py
