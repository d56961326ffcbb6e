// The module compatgrad._C.
#include <pthread.h>
#include <unistd.h>

#include "python/scopes.h"

namespace cg::py {

Frontend* native_frontend = nullptr;
bool init_output_type();
void init_memory();
extern PyMethodDef tally_methods[], memory_methods[], version_functions[], layer_functions[], tape_functions[];
extern PyMethodDef plain_functions[], step_functions[], program_functions[];
extern PyMethodDef block_functions[];
extern PyMethodDef chain_functions[];

namespace {

PyObject* frontend_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"name", "arrays", "record_constants", nullptr};
  PyObject* name;
  const char* arrays = "tensor";
  int constants = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "U|sp:Frontend", const_cast<char**>(names), &name, &arrays,
                                   &constants))
    return nullptr;
  const std::string kind = arrays;
  if (kind != "numpy" && kind != "tensor")
    return PyErr_Format(PyExc_ValueError, "arrays: expected 'numpy' or 'tensor', got '%s'", arrays);
  auto* f = reinterpret_cast<Frontend*>(type->tp_alloc(type, 0));
  if (!f) return nullptr;
  f->name = Py_NewRef(name);
  f->numpy = kind == "numpy";
  f->record_constants = constants;
  f->variable_class = Py_NewRef(reinterpret_cast<PyObject*>(&VariableType));
  f->node_classes = PyDict_New();
  f->fallbacks = PyDict_New();
  Py_INCREF(f);  // never freed, because Variables point to it without counting
  return reinterpret_cast<PyObject*>(f);
}

template <PyObject* Frontend::* Member>
PyObject* get_member(PyObject* o, void*) {
  PyObject* v = reinterpret_cast<Frontend*>(o)->*Member;
  return Py_NewRef(v ? v : Py_None);
}
template <PyObject* Frontend::* Member, PyTypeObject* Base>
void put_class(PyObject* o, PyObject* value, void* name) {
  if (!PyType_Check(value) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(value), Base))
    fail(PyExc_TypeError, "%s: expected a subclass of %s, got %R", static_cast<const char*>(name), Base->tp_name,
         value);
  PyObject* old = std::exchange(reinterpret_cast<Frontend*>(o)->*Member, Py_NewRef(value));
  Py_XDECREF(old);
}

char kVariableClass[] = "variable_class", kNodeClass[] = "node_class", kVariableNodeClass[] = "variable_node_class";
PyGetSetDef frontend_getset[] = {
    {"variable_class", get_member<&Frontend::variable_class>,
     guard<put_class<&Frontend::variable_class, &VariableType>>, nullptr, kVariableClass},
    {"variable_node_class", get_member<&Frontend::variable_node_class>,
     guard<put_class<&Frontend::variable_node_class, &VariableNodeType>>, nullptr, kVariableNodeClass},
    {"node_class", get_member<&Frontend::node_class>, guard<put_class<&Frontend::node_class, &FunctionNodeType>>,
     nullptr, kNodeClass},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMemberDef frontend_members[] = {{"name", T_OBJECT, offsetof(Frontend, name), READONLY, nullptr},
                                  {"node_classes", T_OBJECT, offsetof(Frontend, node_classes), 0, nullptr},
                                  {"fallbacks", T_OBJECT, offsetof(Frontend, fallbacks), 0, nullptr},
                                  {"on_grad_error", T_OBJECT, offsetof(Frontend, on_grad_error), 0, nullptr},
                                  {"enter", T_OBJECT, offsetof(Frontend, enter), 0, nullptr},
                                  {"deferred", T_BOOL, offsetof(Frontend, deferred), 0, nullptr},
                                  {"on_request", T_BOOL, offsetof(Frontend, on_request), 0, nullptr},
                                  {"base", T_OBJECT, offsetof(Frontend, base), 0, nullptr},
                                  {"record_constants", T_BOOL, offsetof(Frontend, record_constants), 0, nullptr},
                                  {nullptr, 0, 0, 0, nullptr}};
PyMethodDef frontend_methods[] = {
    {"bind", KEYWORDS(frontend_bind),
     "bind(op, fallback=None, dtype='float', name=None, doc=None, module=None): the op as a callable of this "
     "frontend; if op is None, the callable only runs the fallback."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef module_def = {PyModuleDef_HEAD_INIT, "compatgrad._C", "compatgrad's engine.", -1, pass_methods};

struct Attribute {
  PyGetSetDef own;
  static const PyGetSetDef& of(void* closure) { return static_cast<Attribute*>(closure)->own; }
  static PyObject* get(PyObject* o, void* closure) { return of(closure).get(o, of(closure).closure); }
  static int set(PyObject* o, PyObject* value, void* closure) {
    if (value) return of(closure).set(o, value, of(closure).closure);
    PyErr_Format(PyExc_AttributeError, "%s.%s cannot be deleted", Py_TYPE(o)->tp_name, of(closure).name);
    return -1;
  }
};
// At exit CPython ends a daemon thread by unwinding its stack when the thread requests the interpreter lock.
// Destructors, including torch's, request it, and unwinding out of a destructor aborts the process. Such a thread is
// made to wait for the end of the process instead.
void let_threads_wait_at_exit() {
  static const pthread_t main = pthread_self();
  static const std::terminate_handler usual = std::set_terminate([] {
    while (!Py_IsInitialized() && !pthread_equal(main, pthread_self())) pause();
    usual();
  });
}
}  // namespace

void refuse_deletion(PyTypeObject& type) {
  for (PyGetSetDef* d = type.tp_getset; d && d->name; ++d) {
    if (!d->set) continue;
    auto* a = new Attribute{*d};  // never freed, like the type
    *d = {d->name, Attribute::get, Attribute::set, d->doc, a};
  }
}

PyTypeObject FrontendType = [] {
  PyTypeObject t = type_of<Frontend>("compatgrad._C.Frontend",
                                     "The classes and fallbacks of one framework's API on top of the engine.");
  t.tp_new = frontend_new;
  t.tp_getset = frontend_getset;
  t.tp_members = frontend_members;
  t.tp_methods = frontend_methods;
  return t;
}();

}  // namespace cg::py

PyMODINIT_FUNC PyInit__C() {
  using namespace cg::py;
  return guarded([]() -> PyObject* {
    Obj m = Obj::steal(PyModule_Create(&module_def));
    for (PyTypeObject* t : {&VariableType, &VariableNodeType, &FunctionNodeType, &FrontendType, &BoundType, &ArrayType,
                            &DeferredVariableType, &ScopeType, &HookBlockType}) {
      refuse_deletion(*t);
      if (PyModule_AddType(m.get(), t) < 0) throw PyError();
    }
    if (!init_output_type()) throw PyError();
    if (PyModule_AddObjectRef(m.get(), "OutOfMemoryError", out_of_memory_error()) < 0) throw PyError();
    // Makes `ndarray * Variable` call the Variable's method.
    Obj priority = Obj::steal(PyLong_FromLong(200));
    if (PyDict_SetItemString(VariableType.tp_dict, "__array_priority__", priority.get()) < 0) throw PyError();
    if (PyDict_SetItemString(FunctionNodeType.tp_dict, "_accumulates", Py_False) < 0) throw PyError();
    let_threads_wait_at_exit();
    init_convert();
    init_binding();
    init_collect();
    Obj native =
        Obj::steal(PyObject_CallFunction(reinterpret_cast<PyObject*>(&FrontendType), "ss", "compatgrad", "tensor"));
    native_frontend = reinterpret_cast<Frontend*>(native.get());
    if (PyModule_AddObjectRef(m.get(), "native_frontend", native.get()) < 0) throw PyError();
    for (PyMethodDef* functions :
         {hook_methods,      registry_methods,   optim_methods,    parameter_methods, kernel_methods,  array_functions,
          mark_functions,    deferred_functions, graph_functions,  torch_functions,   tally_methods,   memory_methods,
          version_functions, layer_functions,    scope_functions,  tape_functions,    plain_functions, block_functions,
          chain_functions,   step_functions,     program_functions})
      if (PyModule_AddFunctions(m.get(), functions) < 0) throw PyError();
    init_kernels();
    init_memory();
    init_torch_graph();
    return m.release();
  });
}
