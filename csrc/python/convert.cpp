// Converts tensors, arrays and dtypes between Python and C++.
#include "core/tally.h"
#include "kernels/trace.h"
#include "python/common.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/ops/from_blob.h>
#include <torch/csrc/autograd/python_variable.h>

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

// The engine needs sizes that are numbers; asking a tensor of a symbolic trace for its sizes would abort the process.
const at::Tensor& of_known_sizes(const at::Tensor& t) {
  if (t.unsafeGetTensorImpl()->has_symbolic_sizes_strides())
    fail(PyExc_NotImplementedError,
         "the tensor's sizes are symbols, and compatgrad computes with numbers. For a graph of any batch size use "
         "compatgrad.interop.export or compile; make_fx needs tracing_mode='fake' or 'real'.");
  return t;
}

// Tensors of torch.func transforms and of forward-mode differentiation carry a derivative that the engine would drop,
// so that the result would silently be zero.
const at::Tensor& of_no_transform(const at::Tensor& t) {
  using c10::DispatchKey;
  if (t.key_set().has_any(c10::DispatchKeySet({DispatchKey::FuncTorchGradWrapper, DispatchKey::FuncTorchBatched})) ||
      t._fw_grad(0).defined())
    fail(PyExc_RuntimeError,
         "forward-mode differentiation and the transforms of torch.func do not support the engine's graph: a Variable "
         "made from their tensors would give wrong derivatives. compatgrad.grad and torch.autograd compute derivatives "
         "of any order: see interop.to and interop.as_torch_module.");
  return t;
}

// The layout of a NumPy array in torch's terms; without a type if torch has no such layout.
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
    constexpr std::pair<std::string_view, at::ScalarType> kNamed[] = {
        {"f", at::kFloat}, {"d", at::kDouble},        {"e", at::kHalf},
        {"?", at::kBool},  {"Zf", at::kComplexFloat}, {"Zd", at::kComplexDouble}};
    for (const auto& [name, type] : kNamed)
      if (f == name) return type;
    if (f.size() != 1) return std::nullopt;
    const auto size = view.itemsize;
    if (std::string_view("bhilq").find(f[0]) != f.npos)
      return size == 1 ? at::kChar : size == 2 ? at::kShort : size == 4 ? at::kInt : at::kLong;
    if (std::string_view("BHILQ").find(f[0]) != f.npos)
      return size == 1 ? at::kByte : size == 2 ? at::kUInt16 : size == 4 ? at::kUInt32 : at::kUInt64;
    return std::nullopt;
  }
};

void drop_array(void* array) {
  if (!Py_IsInitialized()) return;
  const Locked locked;
  user_code(Py_DecRef, static_cast<PyObject*>(array));
}
// The array in whose memory `t` is; null if it is not in an array's memory.
PyObject* memory_of(const at::Tensor& t) {
  if (!t.has_storage() || t.storage().data_ptr().get_deleter() != drop_array) return nullptr;
  return static_cast<PyObject*>(t.storage().data_ptr().get_context());
}

// A tensor that shares the memory of an array; undefined if torch has no such layout. Does not use torch.from_numpy,
// because that warns about read-only arrays.
at::Tensor alias_array(PyObject* array) {
  const Layout l(array);
  if (!l.type) return {};
  return at::for_blob(l.data, l.sizes)
      .strides(l.strides)
      .context(Py_NewRef(array), drop_array)
      .options(at::TensorOptions(*l.type))
      .make_tensor();
}

// The array that a program passed and that `t` was made from; null if there is none.
PyObject* array_behind(const at::Tensor& t) {
  PyObject* array = memory_of(t);
  return array && Py_IS_TYPE(array, ndarray_type) && Layout(array).is_that_of(t) ? array : nullptr;
}

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

PyObject* new_ndarray(PyObject* o) { return PyObject_CallOneArg(new_array, o); }
bool is_tensor(PyObject* o) { return THPVariable_Check(o); }
bool is_ndarray(PyObject* o) { return PyObject_TypeCheck(o, ndarray_type); }
PyObject* wrap_tensor(const at::Tensor& t) { return Obj::steal(THPVariable_Wrap(read(t))).release(); }

at::Tensor torch_tensor(PyObject* o) { return of_no_transform(of_known_sizes(THPVariable_Unpack(o))); }
bool in_torch_graph(PyObject* o) { return is_tensor(o) && THPVariable_Unpack(o).requires_grad(); }

at::Tensor unwrap_tensor(PyObject* o, const char* what) {
  const at::Tensor t = torch_tensor(o);
  if (t.requires_grad())
    fail(PyExc_ValueError,
         "%s: the tensor requires torch's grad, and its history would be cut silently. Pass tensor.detach(), or make a "
         "Variable of it, which keeps its history.",
         what);
  return t;
}

at::Tensor tensor_of_array(PyObject* array, bool* aliases) {
  at::Tensor t = alias_array(array);
  *aliases = t.defined();
  if (*aliases) return t;
  // The array has negative strides, foreign byte order, or a dtype that torch does not have.
  Obj dtype = Obj::steal(PyObject_GetAttrString(array, "dtype"));
  Obj native = Obj::steal(PyObject_CallMethod(dtype.get(), "newbyteorder", "s", "="));
  Obj kwargs = Obj::steal(Py_BuildValue("{s:O,s:s}", "dtype", native.get(), "order", "C"));
  Obj args = Obj::steal(PyTuple_Pack(1, array));
  Obj copy = Obj::steal(PyObject_Call(new_array, args.get(), kwargs.get()));
  t = alias_array(copy.get());
  if (!t.defined()) fail(PyExc_TypeError, "there is no torch counterpart of arrays with dtype %S", dtype.get());
  if (tally.copied) tally.copied(array);
  return t;
}

at::Tensor tensor_of_device_array(PyObject* o, const char* what) {
  static PyObject* mark = PyUnicode_InternFromString("__cuda_array_interface__");
  if (!PyObject_HasAttr(o, mark)) return {};
  Obj t = call_python("compatgrad.core.arrays", "tensor_of_device_array", "Os", o, what);
  return unwrap_tensor(t.get(), what);
}

bool is_broadcast(const at::Tensor& t) { return at::has_internal_overlap(t) == at::MemOverlap::Yes; }

static bool is_writable(const at::Tensor& t) {
  PyObject* array = memory_of(t);
  Py_buffer view;
  const bool writable = !array || PyObject_GetBuffer(array, &view, PyBUF_STRIDES | PyBUF_WRITABLE) == 0;
  if (array) writable ? PyBuffer_Release(&view) : PyErr_Clear();
  return writable;
}
void expect_writable(const at::Tensor& t) {
  if (!is_writable(t)) fail(PyExc_ValueError, "output array is read-only");
}

PyObject* array_of_tensor(const at::Tensor& lazy) {
  read(lazy);
  const at::Tensor t = lazy.is_conj() || lazy.is_neg() ? lazy.resolve_conj().resolve_neg() : lazy;
  if (PyObject* array = array_behind(t)) return Py_NewRef(array);
  if (t.scalar_type() == at::kBFloat16)
    fail(PyExc_TypeError,
         "NumPy and CuPy have no bfloat16: take the torch tensor of this array, or convert it to float32 first");
  // torch would make an array of memory that nobody has written.
  if (t.key_set().has(c10::DispatchKey::Functionalize))
    fail(
        PyExc_NotImplementedError,
        "inside torch.func.functionalize tensors have no memory of their own, so that NumPy cannot read them: read the "
        "array outside the function, or use the torch tensor");
  Obj o = Obj::steal(THPVariable_Wrap(t));
  if (!t.is_cpu()) return call_python("compatgrad.core.arrays", "device_array", "O", o.get()).release();
  static PyObject* name = PyUnicode_InternFromString("numpy");
  Obj a = Obj::steal(PyObject_CallMethodNoArgs(o.get(), name));
  if (is_broadcast(t) || !is_writable(t)) Obj::steal(PyObject_CallMethod(a.get(), "setflags", "O", Py_False));
  return a.release();
}

PyObject* to_frontend_array(const at::Tensor& t, Frontend* f) {
  return f->numpy && t.defined() ? array_of_tensor(t) : wrap_tensor(t);
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

}  // namespace cg::py
