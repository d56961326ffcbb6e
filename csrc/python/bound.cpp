// Ops as Python callables of a frontend, with a fallback in Python that has the original's checks and messages.
#include "core/door.h"
#include "python/deferred.h"

namespace cg::py {
namespace {
// Which dtypes the fast path accepts: one floating dtype, one dtype, or any dtypes.
enum class DtypeRule : uint8_t { Float, Same, Any };

struct PyBound {
  PyObject_HEAD vectorcallfunc vectorcall;
  const OpInfo* info;  // null: only the fallback runs
  Frontend* frontend;
  PyObject *fallback, *name, *doc, *dict;
  PyObject* stored;  // for MXNet: gives results of sparse arrays their storage type
  DtypeRule rule;
};
PyBound* self_of(PyObject* o) { return reinterpret_cast<PyBound*>(o); }

// Why a call cannot take the fast path; raised as an error only if there is no fallback.
struct Refusal {
  PyObject* type = nullptr;
  std::string text;
};

std::string describe(VarsRef in) {
  std::string s = "(";
  for (const Var& x : in) {
    if (s.size() > 1) s += ", ";
    if (!x.defined())
      s += "None";
    else
      s += std::string(c10::toString(x.data.scalar_type())) + c10::str(x.data.sizes());
  }
  return s + ")";
}

// Reads the arguments of one call. Returns false, with the reason, when the fast path does not apply.
bool read_call(PyBound* b, PyObject* const* args, size_t n_args, PyObject* kwnames, FunctionNode& node, Vars& in,
               Frontend*& f, Refusal& no) {
  const OpInfo& info = *b->info;
  const auto refuse = [&](PyObject* type, std::string text) {
    no = {type, std::string(info.name) + ": " + std::move(text)};
    return false;
  };
  const bool list = info.inputs < 0;
  if (list && (n_args < 1 || !(PyList_Check(args[0]) || PyTuple_Check(args[0]))))
    return refuse(PyExc_TypeError, "expected a list or tuple of tensors as first argument");
  const auto tensors = [&] { return list ? static_cast<size_t>(PySequence_Fast_GET_SIZE(args[0])) : n_args; };
  for (size_t i = 0; i < (list ? tensors() : info.inputs); ++i) {
    in.emplace_back();
    const bool there = i < tensors(), optional = !list && info.optional.input(i);
    PyObject* x = !there ? Py_None : list ? PySequence_Fast_GET_ITEM(args[0], i) : args[i];
    if (optional && x == Py_None) continue;
    if (!there) return refuse(PyExc_TypeError, c10::str("expected ", info.inputs, " tensor(s), got ", n_args));
    if (!to_var(x, &in.back(), f))
      return refuse(PyExc_TypeError, c10::str("input ", i, ": expected a Variable, tensor or array, got ",
                                              is_variable(x) ? "an empty " : "", Py_TYPE(x)->tp_name));
  }
  if (list && in.empty()) return refuse(PyExc_ValueError, "expected at least one tensor");
  const size_t used = list ? 1 : std::min(n_args, in.size());
  // Kernels need all inputs on one device. ATen accepts 0-d CPU tensors anywhere; a deferred graph moves its arrays.
  if (!f->deferred && in.size() > 1 && in[0].defined())
    for (size_t i = 1; i < in.size(); ++i) {
      const at::Tensor &first = in[0].data, &x = in[i].data;
      if (x.defined() && x.device() != first.device() && (b->rule != DtypeRule::Any || (x.dim() && first.dim())))
        return refuse(PyExc_ValueError,
                      c10::str("inputs 0 and ", i, " are on different devices: ", first.device(), " and ", x.device()));
    }
  if (b->rule != DtypeRule::Any) {
    const at::Tensor& first = in[0].data;
    if (b->rule == DtypeRule::Float && !at::isFloatingType(first.scalar_type()))
      return refuse(PyExc_TypeError, "expected a floating-point tensor");
    for (size_t i = 1; i < in.size(); ++i) {
      if (!in[i].defined()) continue;
      if (!info.any_dtype && in[i].data.scalar_type() != first.scalar_type())
        return refuse(PyExc_TypeError, "inputs differ in dtype " + describe(in));
    }
  }
  unsigned given = 0;
  const auto take = [&](size_t k, PyObject* value) {
    // Several axes are passed as a tuple. Whether a list is accepted, too, is decided by the original's checks.
    if (b->fallback && info.params[k].kind == ParamKind::OptInts && PyList_Check(value))
      return refuse(PyExc_TypeError, "a list instead of a tuple");
    parse_param(info.params[k], value, info.params[k].address(node.params()));
    given |= 1u << k;
    return true;
  };
  for (size_t k = 0; used + k < n_args; ++k) {
    if (k >= info.params.size())
      return refuse(PyExc_TypeError, c10::str("takes at most ", used + info.params.size(), " arguments, got ", n_args));
    if (!take(k, args[used + k])) return false;
  }
  const Py_ssize_t n_kw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  for (Py_ssize_t j = 0; j < n_kw; ++j) {
    PyObject* key = PyTuple_GET_ITEM(kwnames, j);
    size_t k = 0;
    while (k < info.params.size() && PyUnicode_CompareWithASCIIString(key, info.params[k].name) != 0) ++k;
    if (k == info.params.size())
      return refuse(PyExc_TypeError, c10::str("unexpected keyword argument '", PyUnicode_AsUTF8(key), "'"));
    if (!take(k, args[n_args + j])) return false;
  }
  for (size_t k = 0; k < info.params.size(); ++k)
    if (info.params[k].required && !(given >> k & 1))
      return refuse(PyExc_TypeError, c10::str("missing argument '", info.params[k].name, "'"));
  return true;
}

// The fallback may check types and arrays: Variables of other frontends are converted, and the call starts again.
PyObject* fall_back(PyBound* b, PyObject* const* args, size_t n, PyObject* kwnames) {
  const auto foreign = [&](PyObject* o) { return b->frontend->enter && is_foreign(o, b->frontend); };
  std::vector<PyObject*> given(args, args + n + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0));
  if (std::none_of(given.begin(), given.end(), foreign)) return PyObject_Vectorcall(b->fallback, args, n, kwnames);
  std::vector<Obj> own;
  for (PyObject*& x : given) {
    if (!foreign(x)) continue;
    if (!(x = PyObject_CallOneArg(b->frontend->enter, x))) return nullptr;
    own.push_back(Obj::steal(x));
  }
  const bool left = std::any_of(given.begin(), given.end(), foreign);
  return PyObject_Vectorcall(left ? b->fallback : reinterpret_cast<PyObject*>(b), given.data(), n, kwnames);
}

// `view`: the Python function node that will represent the call, or null.
PyObject* call(PyBound* b, PyObject* const* args, size_t n, PyObject* kwnames, PyObject* view) {
  Vars in;
  const auto fall_back = [&] { return py::fall_back(b, args, n, kwnames); };
  try {
    if (!b->info) return fall_back();
    Ref<FunctionNode> node(b->info->create());
    Refusal no;
    Frontend* f = b->frontend;
    try {
      if (!read_call(b, args, n, kwnames, *node, in, f, no)) {
        if (b->fallback) return fall_back();
        PyErr_SetString(no.type, no.text.c_str());
        return nullptr;
      }
    } catch (const PyError&) {
      // A parameter has the wrong type: the fallback may convert it, or raises the original's error.
      if (!b->fallback || !PyErr_ExceptionMatches(PyExc_TypeError)) return nullptr;
      PyErr_Clear();
      return fall_back();
    }
    if (!view) return call_op(node.get(), in, f);
    adopt(view, node.get());
    PyObject* ys = call_op(node.get(), in, f);
    if (ys && node->recorded) keep_view(node.get());
    return ys;
  } catch (const c10::Error& e) {
    if (b->fallback) return fall_back();
    set_error_from_exception();
    const bool later = b->frontend->deferred, index = PyErr_ExceptionMatches(PyExc_IndexError);
    if ((later || index || PyErr_ExceptionMatches(PyExc_RuntimeError)) &&
        !PyErr_ExceptionMatches(PyExc_NotImplementedError))
      PyErr_Format(PyErr_ExceptionMatches(out_of_memory_error()) ? out_of_memory_error()
                   : later                                       ? PyExc_RuntimeError  // as all of nnabla's C++ code
                   : index                                       ? PyErr_Occurred()
                                                                 : PyExc_ValueError,
                   "%s%s: %s", b->info->name, describe(in).c_str(), e.what_without_backtrace());
    return nullptr;
  } catch (...) {
    set_error_from_exception();
    return nullptr;
  }
}

// Calls `stored(y, *inputs)` if an input is of a subclass of the frontend's class and `y` is not a passed output array.
PyObject* with_storage(PyBound* b, PyObject* const* args, size_t n, PyObject* kwnames, PyObject* y) {
  const size_t all = n + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
  bool special = false;
  for (size_t i = 0; i < all; ++i) {
    if (args[i] == y) return y;
    special |= is_variable(args[i]) && as_variable(args[i])->frontend == b->frontend &&
               reinterpret_cast<PyObject*>(Py_TYPE(args[i])) != b->frontend->variable_class;
  }
  if (!special) return y;
  std::vector<PyObject*> given{y};
  given.insert(given.end(), args, args + n);
  PyObject* result = PyObject_Vectorcall(b->stored, given.data(), given.size(), nullptr);
  Py_DECREF(y);
  return result;
}

PyObject* bound_call(PyObject* o, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  PyBound* b = self_of(o);
  const size_t n = PyVectorcall_NARGS(nargsf);
  PyObject* y = call(b, args, n, kwnames, nullptr);
  return y && b->stored ? with_storage(b, args, n, kwnames, y) : y;
}
// _apply_as(node, *args, **kwargs): calls the op, represented by a function node that the caller made
PyObject* apply_as(PyObject* o, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  if (n < 1 || !is_function(args[0]) || !self_of(o)->info) {
    PyErr_SetString(PyExc_TypeError, "_apply_as: expected an op, and a FunctionNode as first argument");
    return nullptr;
  }
  return call(self_of(o), args + 1, n - 1, kwnames, args[0]);
}

PyObject* make_bound(const OpInfo* info, Frontend* f) {
  auto* b = reinterpret_cast<PyBound*>(BoundType.tp_alloc(&BoundType, 0));
  if (!b) throw PyError();
  b->vectorcall = bound_call;
  b->info = info;
  b->frontend = f;
  b->name = PyUnicode_FromString(info ? info->name : "");
  b->doc = PyUnicode_FromString(info ? info->doc : "");
  b->rule = DtypeRule::Any;
  return reinterpret_cast<PyObject*>(b);
}

int bound_traverse(PyObject* o, visitproc visit, void* arg) {
  Py_VISIT(self_of(o)->fallback);
  Py_VISIT(self_of(o)->stored);
  Py_VISIT(self_of(o)->dict);
  return 0;
}
int bound_clear(PyObject* o) {
  Py_CLEAR(self_of(o)->fallback);
  Py_CLEAR(self_of(o)->stored);
  Py_CLEAR(self_of(o)->dict);
  return 0;
}
void bound_dealloc(PyObject* o) {
  PyObject_GC_UnTrack(o);
  bound_clear(o);
  Py_CLEAR(self_of(o)->name);
  Py_CLEAR(self_of(o)->doc);
  Py_TYPE(o)->tp_free(o);
}
PyObject* bound_repr(PyObject* o) {
  return PyUnicode_FromFormat("<op %U of %U>", self_of(o)->name, self_of(o)->frontend->name);
}
// A bound op is pickled and deep-copied by its name, like a Python function.
PyObject* bound_reduce(PyObject* o, PyObject*) { return Py_NewRef(self_of(o)->name); }

PyMemberDef members[] = {{"__name__", T_OBJECT, offsetof(PyBound, name), 0, nullptr},
                         {"__qualname__", T_OBJECT, offsetof(PyBound, name), READONLY, nullptr},
                         {"__doc__", T_OBJECT, offsetof(PyBound, doc), 0, nullptr},
                         {"fallback", T_OBJECT, offsetof(PyBound, fallback), READONLY, nullptr},
                         {"stored", T_OBJECT, offsetof(PyBound, stored), 0, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};
PyMethodDef bound_methods[] = {{"__reduce__", bound_reduce, METH_NOARGS, nullptr},
                               {"_apply_as", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(apply_as)),
                                METH_FASTCALL | METH_KEYWORDS, nullptr},
                               {nullptr, nullptr, 0, nullptr}};
// The attribute that inspect.signature reads: some programs inspect the arguments of functions that they are given.
PyObject* get_signature(PyObject* o, void*) {
  return call_python("compatgrad.core.signatures", "signature_of", "O", o).release();
}
PyGetSetDef bound_getset[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                              {"__signature__", guard<get_signature>, nullptr, nullptr, nullptr},
                              {nullptr, nullptr, nullptr, nullptr, nullptr}};

}  // namespace

PyObject* raw_op(const OpInfo* info) { return make_bound(info, native_frontend); }

// bind(op, fallback=None, dtype="float", name=None, doc=None, module=None); without an op only the fallback runs.
PyObject* frontend_bind(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"op", "fallback", "dtype", "name", "doc", "module", nullptr};
  const char *op, *dtype = "float";
  PyObject *fallback = Py_None, *name = Py_None, *doc = Py_None, *module = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "z|OsOOO:bind", const_cast<char**>(names), &op, &fallback, &dtype,
                                   &name, &doc, &module))
    return nullptr;
  const OpInfo* info = op ? find_op(op) : nullptr;
  if (!info && (op || fallback == Py_None)) fail(PyExc_ValueError, "bind: there is no op '%s'", op ? op : "None");
  Obj o = Obj::steal(make_bound(info, reinterpret_cast<Frontend*>(self)));
  PyBound* b = self_of(o.get());
  const std::string rule = dtype;
  if (rule == "float")
    b->rule = DtypeRule::Float;
  else if (rule == "same")
    b->rule = DtypeRule::Same;
  else if (rule != "any")
    fail(PyExc_ValueError, "bind: dtype is one of 'float', 'same', 'any', not '%s'", dtype);
  if (fallback != Py_None) b->fallback = Py_NewRef(fallback);
  if (name != Py_None) Py_SETREF(b->name, Py_NewRef(name));
  if (doc != Py_None) Py_SETREF(b->doc, Py_NewRef(doc));
  if (module != Py_None && PyObject_SetAttrString(o.get(), "__module__", module) < 0) throw PyError();
  return o.release();
}

PyTypeObject BoundType = [] {
  PyTypeObject t = type_of<PyBound>(
      "compatgrad._C.Op", nullptr, Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION);
  t.tp_vectorcall_offset = offsetof(PyBound, vectorcall);
  t.tp_call = PyVectorcall_Call;
  t.tp_dealloc = bound_dealloc;
  t.tp_traverse = bound_traverse;
  t.tp_clear = bound_clear;
  t.tp_repr = bound_repr;
  t.tp_members = members;
  t.tp_methods = bound_methods;
  t.tp_getset = bound_getset;
  return t;
}();

}  // namespace cg::py
