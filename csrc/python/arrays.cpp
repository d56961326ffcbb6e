// The Python type Array: a handle of an array with the data or the gradient of a deferred variable.
#include <torch/csrc/Device.h>

#include "python/scopes.h"

namespace cg::py {
namespace {

struct PyArray {
  PyObject_HEAD Ref<Array> a;
  PyObject *dict, *weakrefs;
};
PyArray* self_of(PyObject* o) { return reinterpret_cast<PyArray*>(o); }
Array& array(PyObject* o) { return *self_of(o)->a; }
PyObject* array_class = nullptr;

// Array(shape=())
PyObject* array_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"shape", nullptr};
  PyObject* shape = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:NdArray", const_cast<char**>(names), &shape)) return nullptr;
  const Ints sizes = shape ? parse_ints(shape, "shape") : Ints();
  for (int64_t n : sizes)
    if (n < 0) fail(PyExc_ValueError, "shape: expected non-negative lengths, got %R", shape);
  auto* self = reinterpret_cast<PyArray*>(type->tp_alloc(type, 0));
  if (!self) throw PyError();
  new (&self->a) Ref<Array>(new Array(sizes));
  return reinterpret_cast<PyObject*>(self);
}
void array_dealloc(PyObject* o) {
  PyObject_GC_UnTrack(o);
  if (self_of(o)->weakrefs) PyObject_ClearWeakRefs(o);
  Py_CLEAR(self_of(o)->dict);
  std::destroy_at(&self_of(o)->a);
  Py_TYPE(o)->tp_free(o);
}
int array_traverse(PyObject* o, visitproc visit, void* arg) {
  Py_VISIT(self_of(o)->dict);
  return 0;
}
int array_clear(PyObject* o) {
  Py_CLEAR(self_of(o)->dict);
  return 0;
}

PyObject* get_tensor(PyObject* o, void*) { return wrap_tensor(array(o).own()); }
void put_tensor(PyObject* o, PyObject* value, void*) {
  if (!is_tensor(value)) fail(PyExc_TypeError, "tensor: expected a torch tensor, got %s", Py_TYPE(value)->tp_name);
  array(o).assign(unwrap_tensor(value, "tensor"));
}
PyObject* read(PyObject* o, PyObject*) {
  Array& a = array(o);
  if (a.read(); !a.tensor.is_contiguous()) a.tensor = a.tensor.contiguous();
  return wrap_tensor(a.tensor);
}
void zero(PyObject* o, PyObject*) { array(o).fill(0); }
void fill(PyObject* o, PyObject* value) { array(o).fill(number(value, "fill"), false); }
void clear(PyObject* o, PyObject*) {
  if (array(o).is_part()) fail(PyExc_RuntimeError, "NdArray.clear: an array made by narrow cannot be cleared");
  array(o).clear();
}
PyObject* get_shape(PyObject* o, void*) { return tuple_of_ints(array(o).sizes); }
PyObject* get_size(PyObject* o, void*) { return PyLong_FromLongLong(array(o).numel()); }
PyObject* get_ndim(PyObject* o, void*) { return PyLong_FromSize_t(array(o).sizes.size()); }
template <auto Flag>
PyObject* get_flag(PyObject* o, void*) {
  return PyBool_FromLong(array(o).*Flag);
}
PyObject* get_lazy(PyObject* o, void*) { return PyBool_FromLong(!array(o).tensor.defined()); }
PyObject* get_filling(PyObject* o, void*) {
  if (array(o).tensor.defined()) Py_RETURN_NONE;
  return PyFloat_FromDouble(array(o).fill_value);
}
PyObject* get_part(PyObject* o, void*) { return PyBool_FromLong(array(o).is_part()); }
PyObject* get_modified(PyObject* o, void*) { return PyLong_FromUnsignedLongLong(array(o).modified); }
PyObject* get_element_type(PyObject* o, void*) { return Py_NewRef(dtype_object(array(o).dtype, native_frontend)); }
// Sets the shape; the values are kept if their number stays the same.
void set_shape(PyObject* o, PyObject* shape) { array(o).reshape(parse_ints(shape, "shape")); }
void set_element_type(PyObject* o, PyObject* dtype) { array(o).set_dtype(parse_dtype(dtype)); }
// _share(array, shape, offset, part): makes `array` the handle of a new array that shares this array's memory.
PyObject* share(PyObject* o, PyObject* args) {
  PyObject *handle, *shape;
  long long offset;
  int part;
  if (!PyArg_ParseTuple(args, "OOLp:_share", &handle, &shape, &offset, &part)) throw PyError();
  unwrap_array(handle, "_share");
  self_of(handle)->a = array(o).share(parse_ints(shape, "shape"), offset, part);
  return Py_NewRef(handle);
}
PyObject* array_compare(PyObject* x, PyObject* y, int op) {
  if ((op != Py_EQ && op != Py_NE) || !PyObject_TypeCheck(y, &ArrayType)) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((self_of(x)->a == self_of(y)->a) == (op == Py_EQ));
}
Py_hash_t array_hash(PyObject* o) {
  return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(self_of(o)->a.get()) >> 4);
}

void set_array_class(PyObject*, PyObject* cls) {
  if (!PyType_Check(cls) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls), &ArrayType))
    fail(PyExc_TypeError, "set_array_class: expected a subclass of Array, got %R", cls);
  Py_XSETREF(array_class, Py_NewRef(cls));
}
void set_real_dtype(PyObject*, PyObject* dtype) { real_dtype = parse_dtype(dtype); }
void set_real_device(PyObject*, PyObject* device) { real_device = parse_device(device); }
void move(PyObject* o, PyObject* device) { array(o).move(parse_device(device)); }

PyGetSetDef getset[] = {
    {"tensor", guard<get_tensor>, guard<put_tensor>, "The torch tensor, for reading and writing.", nullptr},
    {"shape", guard<get_shape>, nullptr, "Lengths of the axes.", nullptr},
    {"size", get_size, nullptr, "Number of elements.", nullptr},
    {"ndim", get_ndim, nullptr, "Number of axes.", nullptr},
    {"zeroing", get_flag<&Array::zeroing>, nullptr,
     "zero() was called, and the values have not been opened for writing since.", nullptr},
    {"clear_called", get_flag<&Array::cleared>, nullptr, "The values were freed, and nothing was written since.",
     nullptr},
    {"modification_count", get_modified, nullptr, "How often the values were replaced or opened for writing.", nullptr},
    {"_touched", get_flag<&Array::touched>, nullptr, nullptr, nullptr},
    {"_typed", get_flag<&Array::typed>, nullptr, "Values were read or assigned before, so the array has a dtype.",
     nullptr},
    {"_lazy", get_lazy, nullptr, "There is no tensor yet.", nullptr},
    {"_filling", guard<get_filling>, nullptr, "The number that all values are, if there is no tensor yet.", nullptr},
    {"_part", get_part, nullptr, "Made by narrow.", nullptr},
    {"_dtype", guard<get_element_type>, nullptr, nullptr, nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef methods[] = {{"read", guard<read>, METH_NOARGS, "The torch tensor, for reading."},
                         {"zero", guard<zero>, METH_NOARGS, "Sets all values to 0, without touching memory yet."},
                         {"fill", guard<fill>, METH_O, "Sets all values to a number, without touching memory yet."},
                         {"clear", guard<clear>, METH_NOARGS, "Frees the memory."},
                         {"_set_shape", guard<set_shape>, METH_O, nullptr},
                         {"_set_dtype", guard<set_element_type>, METH_O, nullptr},
                         {"_move", guard<move>, METH_O, nullptr},
                         {"_share", guard<share>, METH_VARARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};

}  // namespace

at::Device parse_device(PyObject* o) {
  if (!THPDevice_Check(o)) fail(PyExc_TypeError, "device: expected a torch.device, got %s", Py_TYPE(o)->tp_name);
  return reinterpret_cast<THPDevice*>(o)->device;
}

PyMethodDef array_functions[] = {{"set_array_class", guard<set_array_class>, METH_O, nullptr},
                                 {"set_real_dtype", guard<set_real_dtype>, METH_O, nullptr},
                                 {"set_real_device", guard<set_real_device>, METH_O, nullptr},
                                 {nullptr, nullptr, 0, nullptr}};

PyObject* wrap_array(const Ref<Array>& a) {
  auto* type = array_class ? reinterpret_cast<PyTypeObject*>(array_class) : &ArrayType;
  auto* self = reinterpret_cast<PyArray*>(type->tp_alloc(type, 0));
  if (!self) throw PyError();
  new (&self->a) Ref<Array>(a);
  return reinterpret_cast<PyObject*>(self);
}

Ref<Array> unwrap_array(PyObject* o, const char* what) {
  if (!PyObject_TypeCheck(o, &ArrayType))
    fail(PyExc_TypeError, "%s: expected an NdArray, got %s", what, Py_TYPE(o)->tp_name);
  return self_of(o)->a;
}

PyTypeObject ArrayType = [] {
  PyTypeObject t =
      type_of<PyArray>("compatgrad._C.Array", "An array whose values may be replaced; variables and handles share it.",
                       Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC);
  t.tp_new = guard<array_new>;
  set_life(t, array_dealloc, array_traverse, array_clear);
  set_attributes(t, getset, methods);
  t.tp_richcompare = array_compare;
  t.tp_hash = array_hash;
  return t;
}();

}  // namespace cg::py
