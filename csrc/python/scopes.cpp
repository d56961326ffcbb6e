// `with` blocks that set modes and attributes. Python may run signal handlers at any point of a method written in
// Python, so that Ctrl-C in its `__enter__` or `__exit__` could leave the setting behind. Here each of the two is a
// single call.
#include "python/scopes.h"

#include <optional>

#include "core/deferred.h"
#include "core/mode.h"

namespace cg::py {
namespace {

// What a block sets; after entering, the old values.
struct Settings {
  c10::SmallVector<std::pair<int, int8_t>, 4> modes;
  std::optional<at::ScalarType> dtype;  // of nnabla's context
  std::optional<at::Device> device;
  std::optional<int8_t> auto_forward;  // these two hold for the whole process
  std::optional<bool> recompute;
  Obj attributes;                // triples (object, name, value)
  c10::SmallVector<Obj, 2> old;  // their old values; null: the attribute did not exist
};

struct Scope {
  // A dict of modes, a callable that returns the settings, or null: the method `_settings` returns them
  PyObject_HEAD PyObject* settings;
  std::vector<Settings>* entered;  // an object may be entered again inside its own block; null before the first time
};
Scope* as_scope(PyObject* o) { return reinterpret_cast<Scope*>(o); }

int scope_init(PyObject* self, PyObject* args, PyObject*) {
  PyObject* settings = nullptr;
  if (!PyArg_UnpackTuple(args, "Scope", 0, 1, &settings)) throw PyError();
  if (settings && !PyDict_Check(settings) && !PyCallable_Check(settings))
    fail(PyExc_TypeError, "Scope: expected a dict of modes or a callable, got %s", Py_TYPE(settings)->tp_name);
  Py_XSETREF(as_scope(self)->settings, Py_XNewRef(settings));
  return 0;
}

void swap_modes(Settings& s) {
  for (auto& [index, value] : s.modes) std::swap(thread_modes.value[index], value);
  if (s.dtype) std::swap(real_dtype, *s.dtype);
  if (s.device) std::swap(real_device, *s.device);
  if (s.auto_forward) std::swap(default_modes[static_cast<int>(Mode::auto_forward)], *s.auto_forward);
  if (s.recompute) std::swap(global_recompute, *s.recompute);
}

void restore(Settings s) {
  swap_modes(s);
  for (size_t i = s.old.size(); i-- > 0;) {
    PyObject* const a = PyTuple_GET_ITEM(s.attributes.get(), i);
    if (PyObject_SetAttr(PyTuple_GET_ITEM(a, 0), PyTuple_GET_ITEM(a, 1), s.old[i].get()) < 0) throw PyError();
  }
}

void set_attribute(Settings& s, PyObject* triple) {
  PyObject *object, *name, *value;
  if (!PyArg_ParseTuple(triple, "OUO", &object, &name, &value)) throw PyError();
  Obj old;
  if (PyObject* found = PyObject_GetAttr(object, name))
    old = Obj::steal(found);
  else if (PyErr_ExceptionMatches(PyExc_AttributeError))
    PyErr_Clear();
  else
    throw PyError();
  if (PyObject_SetAttr(object, name, value) < 0) throw PyError();
  s.old.push_back(std::move(old));
}

void read_modes(Settings& s, PyObject* modes) {
  PyObject *name, *value;
  for (Py_ssize_t at = 0; PyDict_Next(modes, &at, &name, &value);) {
    const auto is = [name](const char* word) {
      return PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, word) == 0;
    };
    if (is("real_dtype"))
      s.dtype = parse_dtype(value);
    else if (is("real_device"))
      s.device = parse_device(value);
    else if (is("process_auto_forward"))
      s.auto_forward = truth(value);
    else if (is("process_recompute"))
      s.recompute = truth(value);
    else
      s.modes.emplace_back(mode_index(name), mode_setting(value));
  }
}

PyObject* scope_enter(PyObject* self, PyObject*) {
  Scope* const scope = as_scope(self);
  Settings s;
  Obj result = Obj::borrow(self);
  if (scope->settings && PyDict_Check(scope->settings)) {
    read_modes(s, scope->settings);
    swap_modes(s);
  } else {  // everything that may fail or be interrupted comes first
    Obj told = Obj::steal(scope->settings ? PyObject_CallNoArgs(scope->settings)
                                          : PyObject_CallMethod(self, "_settings", nullptr));
    PyObject *modes, *attributes, *given;
    if (!PyTuple_Check(told.get()) ||
        !PyArg_ParseTuple(told.get(), "O!O!O", &PyDict_Type, &modes, &PyTuple_Type, &attributes, &given))
      fail(PyExc_TypeError, "Scope: expected (modes, attributes, result) from the settings, got %R", told.get());
    read_modes(s, modes);
    s.attributes = Obj::borrow(attributes);
    result = Obj::borrow(given);
    swap_modes(s);
    try {
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(attributes); ++i) set_attribute(s, PyTuple_GET_ITEM(attributes, i));
    } catch (const PyError&) {
      PyObject *type, *error, *trace;
      PyErr_Fetch(&type, &error, &trace);
      restore(std::move(s));
      PyErr_Restore(type, error, trace);
      throw;
    }
  }
  if (!scope->entered) scope->entered = new std::vector<Settings>;
  scope->entered->push_back(std::move(s));
  return result.release();
}

void scope_exit(PyObject* self, PyObject* const*, Py_ssize_t) {
  Scope* const scope = as_scope(self);
  if (!scope->entered || scope->entered->empty())
    fail(PyExc_RuntimeError, "%s: left without being entered", Py_TYPE(self)->tp_name);
  Settings s = std::move(scope->entered->back());
  scope->entered->pop_back();
  restore(std::move(s));
}

// call_within((object, name, value), f, args, kwargs): f(*args, **kwargs) while the attribute has the value
PyObject* call_within(PyObject*, PyObject* const* args, Py_ssize_t) {
  PyObject *object, *name, *value;
  if (!PyArg_ParseTuple(args[0], "OUO", &object, &name, &value)) throw PyError();
  return call_with_attribute(object, name, value, args[1], args[2], args[3]);
}

int scope_traverse(PyObject* self, visitproc visit, void* arg) {
  Scope* const scope = as_scope(self);
  Py_VISIT(scope->settings);
  if (!scope->entered) return 0;
  for (const Settings& s : *scope->entered) {
    Py_VISIT(s.attributes.get());
    for (const Obj& value : s.old) Py_VISIT(value.get());
  }
  return 0;
}
int scope_clear(PyObject* self) {
  Py_CLEAR(as_scope(self)->settings);
  delete std::exchange(as_scope(self)->entered, nullptr);
  return 0;
}
void scope_dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  scope_clear(self);
  Py_TYPE(self)->tp_free(self);
}

PyMethodDef scope_methods[] = {{"__enter__", guard<scope_enter>, METH_NOARGS, nullptr},
                               {"__exit__", FAST(scope_exit, 0, 3), nullptr},
                               {nullptr, nullptr, 0, nullptr}};

// Ends the `with` block of a function hook, or of another hook, whose class keeps the dict of a thread in the attribute
// `hooks` of its attribute `_hooks_of_thread`, a threading.local. HookBlock is a base class of the hooks, which are
// Python objects without a C layout.
void hook_exit(PyObject* self, PyObject* const*, Py_ssize_t) {
  Obj name = Obj::steal(PyObject_GetAttrString(self, "name")), own;
  if (PyObject_HasAttrString(self, "_hooks_of_thread")) {
    own =
        Obj::steal(PyObject_GetAttrString(Obj::steal(PyObject_GetAttrString(self, "_hooks_of_thread")).get(), "hooks"));
    if (!PyDict_Check(own.get())) fail(PyExc_RuntimeError, "hook %S: left without being entered", name.get());
  }
  PyObject* const hooks = own ? own.get() : function_hooks();
  Obj hook = Obj::borrow(PyDict_GetItemWithError(hooks, name.get()));
  if (!hook && !PyErr_Occurred()) PyErr_SetObject(PyExc_KeyError, name.get());
  if (!hook || PyObject_DelItem(hooks, name.get()) < 0) throw PyError();
  Obj::steal(PyObject_CallMethod(hook.get(), "deleted", "O", Py_None));
}
PyMethodDef hook_block_methods[] = {{"__exit__", FAST(hook_exit, 0, 3), nullptr}, {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* call_with_attribute(PyObject* object, PyObject* name, PyObject* value, PyObject* f, PyObject* args,
                              PyObject* kwargs) {
  const Obj old = Obj::steal(PyObject_GetAttr(object, name)), now = Obj::borrow(value);
  if (PyObject_SetAttr(object, name, now.get()) < 0) throw PyError();
  Obj result;
  if (PyObject* const y = PyObject_Call(f, args, kwargs)) result = Obj::steal(y);
  PyObject *type, *error, *trace;
  PyErr_Fetch(&type, &error, &trace);
  if (PyObject_SetAttr(object, name, old.get()) < 0) {
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(trace);
    throw PyError();
  }
  PyErr_Restore(type, error, trace);
  return result.release();
}

PyMethodDef scope_functions[] = {{"call_within", FAST(call_within, 4), nullptr}, {nullptr, nullptr, 0, nullptr}};

PyTypeObject ScopeType = [] {
  PyTypeObject t =
      type_of<Scope>("compatgrad._C.Scope",
                     "Scope(settings=None): a `with` block that sets modes of the thread, and attributes of objects. "
                     "Afterwards they have their old values, even if Ctrl-C arrives at any point. `settings`: a dict "
                     "of modes, or a callable that returns a dict of modes, a tuple of triples (object, name, value), "
                     "and the value for `as`; a subclass has a method `_settings` instead.",
                     Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC);
  t.tp_new = PyType_GenericNew;
  t.tp_init = guard<scope_init>;
  t.tp_dealloc = scope_dealloc;
  t.tp_traverse = scope_traverse;
  t.tp_clear = scope_clear;
  t.tp_methods = scope_methods;
  return t;
}();

PyTypeObject HookBlockType = [] {
  PyTypeObject t = type_of<PyObject>("compatgrad._C.HookBlock", "The end of the `with` block of a function hook.",
                                     Py_TPFLAGS_BASETYPE);
  t.tp_new = PyType_GenericNew;
  t.tp_methods = hook_block_methods;
  return t;
}();

}  // namespace cg::py
