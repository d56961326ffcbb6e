// Numbers, shapes, indices and the parameters of ops: between Python and C++.
#include "kernels/trace.h"
#include "ops/index.h"
#include "python/common.h"

namespace cg::py {
bool parse_scalar(PyObject* o, c10::Scalar* out) {
  if (PyFloat_Check(o)) {
    *out = c10::Scalar(PyFloat_AS_DOUBLE(o));
    return true;
  }
  if (PyBool_Check(o)) {
    *out = c10::Scalar(o == Py_True);
    return true;
  }
  if (PyLong_Check(o)) {
    int overflow = 0;
    const long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow) return false;
    *out = c10::Scalar(static_cast<int64_t>(v));
    return true;
  }
  return false;
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
    item = IndexItem::array(kernels::untraced(
        [&] { return tensor_of_array(o, &aliases).clone(); }));  // the caller may change its array before backward
  } else if (PyIndex_Check(o) && !PyBool_Check(o)) {
    item = IndexItem::integer(PyNumber_AsSsize_t(o, PyExc_IndexError));
  } else if (at::Tensor t = tensor_of_device_array(o, "index"); t.defined()) {
    item = IndexItem::array(kernels::untraced([&] { return t.clone(); }));
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
  switch (item.kind) {
    case IndexItem::Kind::None:
      Py_RETURN_NONE;
    case IndexItem::Kind::Ellipsis:
      return Py_NewRef(Py_Ellipsis);
    case IndexItem::Kind::Int:
      return part(item.start).release();
    case IndexItem::Kind::Tensor:
      return wrap_tensor(item.tensor);
    case IndexItem::Kind::Slice:
      break;
  }
  Obj start = part(item.start), stop = part(item.stop),
      step = part(item.step == 1 ? std::nullopt : std::optional(item.step));
  return PySlice_New(start.get(), stop.get(), step.get());
}
}  // namespace

void parse_param(const ParamInfo& p, PyObject* value, void* address) {
  const auto number = [&] {
    const double d = PyFloat_AsDouble(value);
    if (d == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      fail(PyExc_TypeError, "%s: expected a number, got %s", p.name, Py_TYPE(value)->tp_name);
    }
    return d;
  };
  const auto integer = [&]() -> int64_t {
    const Py_ssize_t v = PyNumber_AsSsize_t(value, PyExc_OverflowError);
    if (v == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      fail(PyExc_TypeError, "%s: expected an integer, got %s", p.name, Py_TYPE(value)->tp_name);
    }
    return v;
  };
  const auto tensor = [&]() -> at::Tensor {
    bool aliases;
    if (is_variable(value)) return tensor_of(as_variable(value));
    if (is_tensor(value)) return unwrap_tensor(value, p.name);
    if (is_ndarray(value)) return tensor_of_array(value, &aliases);
    if (at::Tensor t = tensor_of_device_array(value, p.name); t.defined()) return t;
    fail(PyExc_TypeError, "%s: expected a tensor or an array, got %s", p.name, Py_TYPE(value)->tp_name);
  };
  const bool none = value == Py_None;
  const auto set = [address](auto v) { *static_cast<decltype(v)*>(address) = std::move(v); };
  switch (p.kind) {
    case ParamKind::Bool:
      return set(truth(value));
    case ParamKind::Int:
      return set(integer());
    case ParamKind::Float:
      return set(number());
    case ParamKind::Str: {
      const char* s = PyUnicode_Check(value) ? PyUnicode_AsUTF8(value) : nullptr;
      if (!s) fail(PyExc_TypeError, "%s: expected a string, got %s", p.name, Py_TYPE(value)->tp_name);
      return set(std::string(s));
    }
    case ParamKind::Ints:
      return set(parse_ints(value, p.name));
    case ParamKind::OptInt:
      return set(none ? std::nullopt : std::optional(integer()));
    case ParamKind::OptFloat:
      return set(none ? std::nullopt : std::optional(number()));
    case ParamKind::OptInts:
      return set(none ? std::nullopt : std::optional(parse_ints(value, p.name)));
    case ParamKind::Scalar: {
      c10::Scalar s;
      return set(parse_scalar(value, &s) ? s : c10::Scalar(number()));
    }
    case ParamKind::Tensor:
      return set(tensor());
    case ParamKind::OptTensor:
      return set(none ? std::nullopt : std::optional(tensor()));
    case ParamKind::DType:
      return set(parse_dtype(value));
    case ParamKind::Index:
      return set(parse_index(value));
  }
}

PyObject* tuple_of_ints(at::IntArrayRef a) {
  return tuple_of(a.size(), [&](size_t i) { return PyLong_FromLongLong(a[i]); }).release();
}

PyObject* format_param(const ParamInfo& p, const void* address) {
  const auto optional = [](const auto* v, auto&& format) { return *v ? format(**v) : Py_NewRef(Py_None); };
  switch (p.kind) {
    case ParamKind::Bool:
      return PyBool_FromLong(*static_cast<const bool*>(address));
    case ParamKind::Int:
      return PyLong_FromLongLong(*static_cast<const int64_t*>(address));
    case ParamKind::Float:
      return PyFloat_FromDouble(*static_cast<const double*>(address));
    case ParamKind::Str:
      return PyUnicode_FromString(static_cast<const std::string*>(address)->c_str());
    case ParamKind::Ints:
      return tuple_of_ints(*static_cast<const Ints*>(address));
    case ParamKind::OptInt:
      return optional(static_cast<const std::optional<int64_t>*>(address), PyLong_FromLongLong);
    case ParamKind::OptFloat:
      return optional(static_cast<const std::optional<double>*>(address), PyFloat_FromDouble);
    case ParamKind::OptInts:
      return optional(static_cast<const std::optional<Ints>*>(address), tuple_of_ints);
    case ParamKind::Scalar: {
      auto& v = *static_cast<const c10::Scalar*>(address);
      if (v.isBoolean()) return PyBool_FromLong(v.toBool());
      return v.isIntegral(false) ? PyLong_FromLongLong(v.toLong()) : PyFloat_FromDouble(v.toDouble());
    }
    case ParamKind::Tensor: {
      auto& v = *static_cast<const at::Tensor*>(address);
      return v.defined() ? wrap_tensor(v) : Py_NewRef(Py_None);
    }
    case ParamKind::OptTensor:
      return optional(static_cast<const std::optional<at::Tensor>*>(address), wrap_tensor);
    case ParamKind::DType:
      return Py_NewRef(dtype_object(*static_cast<const at::ScalarType*>(address), native_frontend));
    case ParamKind::Index: {
      auto& items = *static_cast<const Index*>(address);
      return tuple_of(items.size(), [&](size_t i) { return format_index_item(items[i]); }).release();
    }
  }
  Py_RETURN_NONE;
}

}  // namespace cg::py
