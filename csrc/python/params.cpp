// Converts numbers, shapes, indices and parameters of ops between Python and C++.
#include "kernels/trace.h"
#include "ops/index.h"
#include "python/steps.h"

namespace cg::py {
bool parse_scalar(PyObject* o, c10::Scalar* out) {
  int overflow = 0;
  if (PyFloat_Check(o))
    *out = c10::Scalar(PyFloat_AS_DOUBLE(o));
  else if (PyBool_Check(o))
    *out = c10::Scalar(o == Py_True);
  else if (PyLong_Check(o))
    *out = c10::Scalar(static_cast<int64_t>(PyLong_AsLongLongAndOverflow(o, &overflow)));
  else
    return false;
  return !overflow;
}

Ints parse_ints(PyObject* o, const char* name) {
  Ints r;
  if (PyIndex_Check(o) && !PySequence_Check(o)) {
    r.push_back(PyNumber_AsSsize_t(o, PyExc_OverflowError));
  } else if (PyTuple_Check(o) || PyList_Check(o) || PySequence_Check(o)) {
    for (PyObject* item : Items(o, name)) {
      r.push_back(PyNumber_AsSsize_t(item, PyExc_OverflowError));
      if (r.back() == -1 && PyErr_Occurred()) break;
    }
  } else {
    fail(PyExc_TypeError, "%s: expected an integer or a sequence of integers, got %s", name, Py_TYPE(o)->tp_name);
  }
  if (PyErr_Occurred()) throw PyError();
  return r;
}

namespace {
std::optional<int64_t> slice_part(PyObject* o) {
  if (o == Py_None) return std::nullopt;
  return PyNumber_AsSsize_t(o, nullptr);
}

IndexItem parse_index_item(PyObject* o) {
  bool aliases;
  IndexItem item;
  if (o == Py_None) {
    item = IndexItem::none();
  } else if (o == Py_Ellipsis) {
    item = IndexItem::ellipsis();
  } else if (PySlice_Check(o)) {
    auto* s = reinterpret_cast<PySliceObject*>(o);
    const int64_t step = slice_part(s->step).value_or(1);
    if (step == 0 && !PyErr_Occurred()) fail(PyExc_ValueError, "slice step cannot be zero");
    item = IndexItem::slice(slice_part(s->start), slice_part(s->stop), step);
  } else if (is_tensor(o)) {
    item = IndexItem::array(unwrap_tensor(o, "index"));
  } else if (is_ndarray(o)) {
    // a copy, because the caller may change the array before backward
    item = IndexItem::array(kernels::untraced([&] { return tensor_of_array(o, &aliases).clone(); }));
  } else if (PyIndex_Check(o) && !PyBool_Check(o)) {
    item = IndexItem::integer(PyNumber_AsSsize_t(o, PyExc_IndexError));
  } else if (at::Tensor t = tensor_of_device_array(o, "index"); t.defined()) {
    item = IndexItem::array(kernels::untraced([&] { return t.clone(); }));
  } else if (PyUnicode_Check(o) || PyBytes_Check(o) || PyDict_Check(o)) {
    fail(PyExc_TypeError, "index: expected integers, slices, None, ... or arrays of these, got %s",
         Py_TYPE(o)->tp_name);
  } else {
    Obj a = Obj::steal(new_ndarray(o));
    item = IndexItem::array(tensor_of_array(a.get(), &aliases));
    if (item.tensor.numel() == 0) item.tensor = kernels::untraced([&] { return item.tensor.to(at::kLong); });  // x[[]]
  }
  if (PyErr_Occurred()) throw PyError();
  return item;
}

Index parse_index(PyObject* o) {
  Index r;
  if (PyTuple_Check(o)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i) r.push_back(parse_index_item(PyTuple_GET_ITEM(o, i)));
  } else {
    r.push_back(parse_index_item(o));
  }
  return r;
}

PyObject* format_index_item(const IndexItem& item) {
  const auto part = [](std::optional<int64_t> v) {
    return v ? Obj::steal(PyLong_FromLongLong(*v)) : Obj::borrow(Py_None);
  };
  using Kind = IndexItem::Kind;
  if (item.kind == Kind::None) Py_RETURN_NONE;
  if (item.kind == Kind::Ellipsis) return Py_NewRef(Py_Ellipsis);
  if (item.kind == Kind::Int) return part(item.start).release();
  if (item.kind == Kind::Tensor) return wrap_tensor(item.tensor);
  Obj start = part(item.start), stop = part(item.stop),
      step = part(item.step == 1 ? std::nullopt : std::optional(item.step));
  return PySlice_New(start.get(), stop.get(), step.get());
}
template <class T>
T converted(T v, PyObject* o, const char* name, const char* kind) {
  if (v != T(-1) || !PyErr_Occurred()) return v;
  PyErr_Clear();
  fail(PyExc_TypeError, "%s: expected %s, got %s", name, kind, Py_TYPE(o)->tp_name);
}
void read(PyObject* o, const char*, bool& v) { v = truth(o); }
void read(PyObject* o, const char* name, int64_t& v) {
  v = converted<int64_t>(PyNumber_AsSsize_t(o, PyExc_OverflowError), o, name, "an integer");
}
void read(PyObject* o, const char* name, double& v) { v = converted(PyFloat_AsDouble(o), o, name, "a number"); }
void read(PyObject* o, const char* name, std::string& v) {
  const char* s = PyUnicode_Check(o) ? PyUnicode_AsUTF8(o) : nullptr;
  if (!s) fail(PyExc_TypeError, "%s: expected a string, got %s", name, Py_TYPE(o)->tp_name);
  v = s;
}
void read(PyObject* o, const char* name, Ints& v) { v = parse_ints(o, name); }
void read(PyObject* o, const char* name, c10::Scalar& v) {
  if (double number; !parse_scalar(o, &v)) {
    read(o, name, number);
    v = number;
  }
}
void read(PyObject* o, const char* name, at::Tensor& v) {
  bool aliases;
  v = is_variable(o)  ? tensor_of(as_variable(o))
      : is_tensor(o)  ? unwrap_tensor(o, name)
      : is_ndarray(o) ? tensor_of_array(o, &aliases)
                      : tensor_of_device_array(o, name);
  if (!v.defined() && !is_variable(o))
    fail(PyExc_TypeError, "%s: expected a tensor or an array, got %s", name, Py_TYPE(o)->tp_name);
}
void read(PyObject* o, const char*, at::ScalarType& v) { v = parse_dtype(o); }
void read(PyObject* o, const char*, Index& v) { v = parse_index(o); }
template <class T>
void read(PyObject* o, const char* name, std::optional<T>& v) {
  if (o != Py_None)
    read(o, name, v.emplace());
  else
    v.reset();
}

PyObject* format(bool v) { return PyBool_FromLong(v); }
PyObject* format(int64_t v) { return PyLong_FromLongLong(v); }
PyObject* format(double v) { return PyFloat_FromDouble(v); }
PyObject* format(const std::string& v) { return PyUnicode_FromString(v.c_str()); }
PyObject* format(const Ints& v) { return tuple_of_ints(v); }
PyObject* format(const c10::Scalar& v) {
  if (v.isBoolean()) return format(v.toBool());
  return v.isIntegral(false) ? format(v.toLong()) : format(v.toDouble());
}
PyObject* format(const at::Tensor& v) { return wrap_tensor(v); }
PyObject* format(at::ScalarType v) { return Py_NewRef(dtype_object(v, native_frontend)); }
PyObject* format(const Index& v) {
  return tuple_of(v.size(), [&](size_t i) { return format_index_item(v[i]); }).release();
}
template <class T>
PyObject* format(const std::optional<T>& v) {
  return v ? format(*v) : Py_NewRef(Py_None);
}

// Calls f with the parameter, in its type.
template <class F>
auto with_param(const ParamInfo& p, void* address, F&& f) {
  switch (p.kind) {
#define CG_KIND(KIND, TYPE, NAME) \
  case ParamKind::KIND:           \
    return f(*static_cast<TYPE*>(address));
    CG_PARAM_KINDS(CG_KIND)
#undef CG_KIND
  }
  throw std::logic_error("unknown kind of parameter");
}
}  // namespace

void parse_param(const ParamInfo& p, PyObject* value, void* address) {
  with_param(p, address, [&](auto& v) { read(value, p.name, v); });
}
PyObject* format_param(const ParamInfo& p, const void* address) {
  return with_param(p, const_cast<void*>(address), [](const auto& v) { return format(v); });
}

void copy_params(const OpInfo& op, void* from, void* to) {
  for (const ParamInfo& p : op.params)
    with_param(p, p.address(to),
               [&](auto& v) { v = *static_cast<std::remove_reference_t<decltype(v)>*>(p.address(from)); });
}

PyObject* tuple_of_ints(at::IntArrayRef a) {
  return tuple_of(a.size(), [&](size_t i) { return PyLong_FromLongLong(a[i]); }).release();
}

}  // namespace cg::py
