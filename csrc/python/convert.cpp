// Tensors, arrays, dtypes and parameters: between Python and C++.
#include "kernels/trace.h"
#include "python/common.h"

#include <ATen/ops/from_blob.h>
#include <torch/csrc/autograd/python_variable.h>

#include <cstdarg>

#include "ops/index.h"

namespace cg::py {
namespace {
PyTypeObject* ndarray_type;
PyObject *numpy_dtype, *new_array;
constexpr int kTypes = static_cast<int>(at::ScalarType::NumOptions);
PyObject *torch_dtypes[kTypes], *numpy_dtypes[kTypes];

struct DtypeName {
  at::ScalarType type;
  const char *torch, *numpy;
};
constexpr DtypeName kDtypes[] = {{at::kBool, "bool", "bool"},
                                 {at::kByte, "uint8", "uint8"},
                                 {at::kChar, "int8", "int8"},
                                 {at::kShort, "int16", "int16"},
                                 {at::kInt, "int32", "int32"},
                                 {at::kLong, "int64", "int64"},
                                 {at::kHalf, "float16", "float16"},
                                 {at::kFloat, "float32", "float32"},
                                 {at::kDouble, "float64", "float64"},
                                 {at::kBFloat16, "bfloat16", nullptr},
                                 {at::kComplexFloat, "complex64", "complex64"},
                                 {at::kComplexDouble, "complex128", "complex128"},
                                 {at::kUInt16, "uint16", "uint16"},
                                 {at::kUInt32, "uint32", "uint32"},
                                 {at::kUInt64, "uint64", "uint64"}};
}  // namespace

void init_convert() {
  Obj torch = Obj::steal(PyImport_ImportModule("torch"));
  Obj numpy = Obj::steal(PyImport_ImportModule("numpy"));
  numpy_dtype = PyObject_GetAttrString(numpy.get(), "dtype");
  new_array = PyObject_GetAttrString(numpy.get(), "array");
  ndarray_type = reinterpret_cast<PyTypeObject*>(PyObject_GetAttrString(numpy.get(), "ndarray"));
  if (!numpy_dtype || !new_array || !ndarray_type) throw PyError();
  for (const auto& d : kDtypes) {
    const int i = static_cast<int>(d.type);
    torch_dtypes[i] = PyObject_GetAttrString(torch.get(), d.torch);
    if (!torch_dtypes[i]) throw PyError();
    if (d.numpy) numpy_dtypes[i] = Obj::steal(PyObject_CallFunction(numpy_dtype, "s", d.numpy)).release();
  }
}

bool is_tensor(PyObject* o) { return THPVariable_Check(o); }
bool is_ndarray(PyObject* o) { return PyObject_TypeCheck(o, ndarray_type); }
PyObject* wrap_tensor(const at::Tensor& t) { return Obj::steal(THPVariable_Wrap(t)).release(); }

namespace {
// The engine's sizes are numbers, and asking a tensor of a symbolic trace for them would end the process.
const at::Tensor& of_known_sizes(const at::Tensor& t) {
  if (t.unsafeGetTensorImpl()->has_symbolic_sizes_strides())
    fail(PyExc_NotImplementedError,
         "the tensor's sizes are symbols, and compatgrad computes with numbers. For a graph of any batch size use "
         "compatgrad.interop.export or compile; make_fx needs tracing_mode='fake' or 'real'.");
  return t;
}
}  // namespace
at::Tensor torch_tensor(PyObject* o) { return of_known_sizes(THPVariable_Unpack(o)); }
bool in_torch_graph(PyObject* o) { return is_tensor(o) && THPVariable_Unpack(o).requires_grad(); }

at::Tensor unwrap_tensor(PyObject* o, const char* what) {
  const at::Tensor& t = of_known_sizes(THPVariable_Unpack(o));
  if (t.requires_grad())
    fail(PyExc_ValueError,
         "%s: the tensor requires torch's grad, and its history would be cut silently. Pass tensor.detach(), or make a "
         "Variable of it, which keeps its history.",
         what);
  return t;
}

namespace {

// The memory of a NumPy array as torch would lay it out; no type where torch has no such layout.
struct Layout {
  void* data = nullptr;
  std::optional<at::ScalarType> type;
  c10::SmallVector<int64_t, 6> sizes, strides;

  explicit Layout(PyObject* array) {
    Py_buffer view;
    if (PyObject_GetBuffer(array, &view, PyBUF_STRIDES | PyBUF_FORMAT) < 0) {
      PyErr_Clear();
      return;
    }
    data = view.buf;
    type = type_of(view);
    for (int i = 0; i < view.ndim && type; ++i) {
      if (view.strides[i] < 0 || view.strides[i] % view.itemsize != 0) type.reset();
      sizes.push_back(view.shape[i]);
      strides.push_back(view.strides[i] / view.itemsize);
    }
    PyBuffer_Release(&view);
  }
  bool is_that_of(const at::Tensor& t) const {
    return type == t.scalar_type() && data == t.const_data_ptr() && t.sizes() == at::IntArrayRef(sizes) &&
           t.strides() == at::IntArrayRef(strides);
  }

 private:
  static std::optional<at::ScalarType> type_of(const Py_buffer& view) {
    std::string_view f = view.format ? view.format : "B";
    if (!f.empty() && (f[0] == '@' || f[0] == '=' || f[0] == '<')) f.remove_prefix(1);  // little-endian hosts only
    if (f == "Zf") return at::kComplexFloat;
    if (f == "Zd") return at::kComplexDouble;
    if (f.size() != 1) return std::nullopt;
    const int size = view.itemsize;
    switch (f[0]) {
      case 'f':
        return at::kFloat;
      case 'd':
        return at::kDouble;
      case 'e':
        return at::kHalf;
      case '?':
        return at::kBool;
      case 'b':
      case 'h':
      case 'i':
      case 'l':
      case 'q':
        return size == 1 ? at::kChar : size == 2 ? at::kShort : size == 4 ? at::kInt : at::kLong;
      case 'B':
      case 'H':
      case 'I':
      case 'L':
      case 'Q':
        return size == 1 ? at::kByte : size == 2 ? at::kUInt16 : size == 4 ? at::kUInt32 : at::kUInt64;
      default:
        return std::nullopt;
    }
  }
};

void drop_array(void* array) {
  if (!Py_IsInitialized()) return;
  PyGILState_STATE state = PyGILState_Ensure();
  Py_DECREF(static_cast<PyObject*>(array));
  PyGILState_Release(state);
}

// A tensor over the memory of an array; undefined where torch has no such layout. Goes past torch.from_numpy because
// that warns of read-only arrays.
at::Tensor alias_array(PyObject* array) {
  const Layout l(array);
  if (!l.type) return {};
  return at::for_blob(l.data, l.sizes)
      .strides(l.strides)
      .context(Py_NewRef(array), drop_array)
      .options(at::TensorOptions(*l.type))
      .make_tensor();
}

// The array that a program gave and `t` is; null where there is none.
PyObject* array_behind(const at::Tensor& t) {
  if (!t.has_storage()) return nullptr;
  const at::DataPtr& memory = t.storage().data_ptr();
  if (memory.get_deleter() != drop_array) return nullptr;
  auto* array = static_cast<PyObject*>(memory.get_context());
  return Py_IS_TYPE(array, ndarray_type) && Layout(array).is_that_of(t) ? array : nullptr;
}

}  // namespace

at::Tensor tensor_of_array(PyObject* array, bool* aliases) {
  at::Tensor t = alias_array(array);
  *aliases = t.defined();
  if (*aliases) return t;
  // Negative strides, foreign byte order or a dtype without counterpart.
  Obj dtype = Obj::steal(PyObject_GetAttrString(array, "dtype"));
  Obj native = Obj::steal(PyObject_CallMethod(dtype.get(), "newbyteorder", "s", "="));
  Obj kwargs = Obj::steal(Py_BuildValue("{s:O,s:s}", "dtype", native.get(), "order", "C"));
  Obj args = Obj::steal(PyTuple_Pack(1, array));
  Obj copy = Obj::steal(PyObject_Call(new_array, args.get(), kwargs.get()));
  t = alias_array(copy.get());
  if (!t.defined()) fail(PyExc_TypeError, "there is no torch counterpart of arrays with dtype %S", dtype.get());
  return t;
}

at::Tensor tensor_of_device_array(PyObject* o, const char* what) {
  static PyObject* mark = PyUnicode_InternFromString("__cuda_array_interface__");
  if (!PyObject_HasAttr(o, mark)) return {};
  Obj arrays = Obj::steal(PyImport_ImportModule("compatgrad.core.arrays"));
  Obj t = Obj::steal(PyObject_CallMethod(arrays.get(), "tensor_of_device_array", "Os", o, what));
  return unwrap_tensor(t.get(), what);
}

PyObject* array_of_tensor(const at::Tensor& t) {
  if (PyObject* array = array_behind(t)) return Py_NewRef(array);
  Obj o = Obj::steal(THPVariable_Wrap(t));
  if (t.is_cpu()) {
    static PyObject* name = PyUnicode_InternFromString("numpy");
    return Obj::steal(PyObject_CallMethodNoArgs(o.get(), name)).release();
  }
  Obj arrays = Obj::steal(PyImport_ImportModule("compatgrad.core.arrays"));
  return Obj::steal(PyObject_CallMethod(arrays.get(), "device_array", "O", o.get())).release();
}

PyObject* to_frontend_array(const at::Tensor& t, Frontend* f) {
  if (!t.defined()) Py_RETURN_NONE;
  return f->numpy ? array_of_tensor(t) : wrap_tensor(t);
}

PyObject* dtype_object(at::ScalarType t, Frontend* f) {
  const int i = static_cast<int>(t);
  if (i >= kTypes) return Py_None;
  PyObject* o = f->numpy && numpy_dtypes[i] ? numpy_dtypes[i] : torch_dtypes[i];
  return o ? o : Py_None;
}

at::ScalarType parse_dtype(PyObject* o) {
  for (int i = 0; i < kTypes; ++i)
    if (o == torch_dtypes[i] || o == numpy_dtypes[i]) return static_cast<at::ScalarType>(i);
  Obj d = Obj::steal(PyObject_CallOneArg(numpy_dtype, o));
  for (int i = 0; i < kTypes; ++i)
    if (numpy_dtypes[i] && PyObject_RichCompareBool(d.get(), numpy_dtypes[i], Py_EQ) == 1)
      return static_cast<at::ScalarType>(i);
  fail(PyExc_TypeError, "dtype: no torch counterpart of %R", o);
}

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
    Obj seq = Obj::steal(PySequence_Fast(o, "expected a sequence of integers"));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(seq.get()); ++i) {
      const Py_ssize_t v = PyNumber_AsSsize_t(PySequence_Fast_GET_ITEM(seq.get(), i), PyExc_OverflowError);
      if (v == -1 && PyErr_Occurred()) break;
      r.push_back(v);
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
    Obj a = Obj::steal(PyObject_CallOneArg(new_array, o));
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
  switch (p.kind) {
    case ParamKind::Bool:
      *static_cast<bool*>(address) = truth(value);
      break;
    case ParamKind::Int:
      *static_cast<int64_t*>(address) = integer();
      break;
    case ParamKind::Float:
      *static_cast<double*>(address) = number();
      break;
    case ParamKind::Str: {
      const char* s = PyUnicode_Check(value) ? PyUnicode_AsUTF8(value) : nullptr;
      if (!s) fail(PyExc_TypeError, "%s: expected a string, got %s", p.name, Py_TYPE(value)->tp_name);
      *static_cast<std::string*>(address) = s;
      break;
    }
    case ParamKind::Ints:
      *static_cast<Ints*>(address) = parse_ints(value, p.name);
      break;
    case ParamKind::OptInt:
      if (none)
        static_cast<std::optional<int64_t>*>(address)->reset();
      else
        *static_cast<std::optional<int64_t>*>(address) = integer();
      break;
    case ParamKind::OptFloat:
      if (none)
        static_cast<std::optional<double>*>(address)->reset();
      else
        *static_cast<std::optional<double>*>(address) = number();
      break;
    case ParamKind::OptInts:
      if (none)
        static_cast<std::optional<Ints>*>(address)->reset();
      else
        *static_cast<std::optional<Ints>*>(address) = parse_ints(value, p.name);
      break;
    case ParamKind::Scalar:
      if (!parse_scalar(value, static_cast<c10::Scalar*>(address))) *static_cast<c10::Scalar*>(address) = number();
      break;
    case ParamKind::Tensor:
      *static_cast<at::Tensor*>(address) = tensor();
      break;
    case ParamKind::OptTensor:
      if (none)
        static_cast<std::optional<at::Tensor>*>(address)->reset();
      else
        *static_cast<std::optional<at::Tensor>*>(address) = tensor();
      break;
    case ParamKind::DType:
      *static_cast<at::ScalarType*>(address) = parse_dtype(value);
      break;
    case ParamKind::Index:
      *static_cast<Index*>(address) = parse_index(value);
      break;
  }
}

PyObject* tuple_of_ints(at::IntArrayRef a) {
  Obj t = Obj::steal(PyTuple_New(a.size()));
  for (size_t i = 0; i < a.size(); ++i) PyTuple_SET_ITEM(t.get(), i, PyLong_FromLongLong(a[i]));
  return t.release();
}

PyObject* format_param(const ParamInfo& p, const void* address) {
  const auto none = [] { return Py_NewRef(Py_None); };
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
    case ParamKind::OptInt: {
      auto& v = *static_cast<const std::optional<int64_t>*>(address);
      return v ? PyLong_FromLongLong(*v) : none();
    }
    case ParamKind::OptFloat: {
      auto& v = *static_cast<const std::optional<double>*>(address);
      return v ? PyFloat_FromDouble(*v) : none();
    }
    case ParamKind::OptInts: {
      auto& v = *static_cast<const std::optional<Ints>*>(address);
      return v ? tuple_of_ints(*v) : none();
    }
    case ParamKind::Scalar: {
      auto& v = *static_cast<const c10::Scalar*>(address);
      if (v.isBoolean()) return PyBool_FromLong(v.toBool());
      return v.isIntegral(false) ? PyLong_FromLongLong(v.toLong()) : PyFloat_FromDouble(v.toDouble());
    }
    case ParamKind::Tensor: {
      auto& v = *static_cast<const at::Tensor*>(address);
      return v.defined() ? wrap_tensor(v) : none();
    }
    case ParamKind::OptTensor: {
      auto& v = *static_cast<const std::optional<at::Tensor>*>(address);
      return v ? wrap_tensor(*v) : none();
    }
    case ParamKind::DType: {
      return Py_NewRef(torch_dtypes[static_cast<int>(*static_cast<const at::ScalarType*>(address))]);
    }
    case ParamKind::Index: {
      auto& items = *static_cast<const Index*>(address);
      Obj t = Obj::steal(PyTuple_New(items.size()));
      for (size_t i = 0; i < items.size(); ++i) PyTuple_SET_ITEM(t.get(), i, format_index_item(items[i]));
      return t.release();
    }
  }
  return none();
}

void fail(PyObject* type, const char* format, ...) {
  va_list args;
  va_start(args, format);
  PyErr_FormatV(type, format, args);
  va_end(args);
  throw PyError();
}

PyObject* call_fast(Fast* f, const char* name, PyObject* self, PyObject* const* args, Py_ssize_t n, Py_ssize_t least,
                    Py_ssize_t most) {
  return guarded([&] {
    if (least && (n < least || n > std::max(least, most)))
      fail(PyExc_TypeError, "%s: %zd to %zd arguments were expected, got %zd", name, least, std::max(least, most), n);
    return f(self, args, n);
  });
}

void set_error_from_exception() {
  try {
    throw;
  } catch (const PyError&) {
  } catch (const c10::IndexError& e) {
    PyErr_SetString(PyExc_IndexError, e.what_without_backtrace());
  } catch (const c10::ValueError& e) {
    PyErr_SetString(PyExc_ValueError, e.what_without_backtrace());
  } catch (const c10::TypeError& e) {
    PyErr_SetString(PyExc_TypeError, e.what_without_backtrace());
  } catch (const c10::NotImplementedError& e) {
    PyErr_SetString(PyExc_NotImplementedError, e.what_without_backtrace());
  } catch (const c10::Error& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what_without_backtrace());
  } catch (const python_error& e) {
    const_cast<python_error&>(e).restore();
  } catch (const MissingGradient& e) {
    PyErr_SetString(PyExc_AttributeError, e.what());
  } catch (const std::invalid_argument& e) {
    PyErr_SetString(PyExc_ValueError, e.what());
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  }
}

}  // namespace cg::py
