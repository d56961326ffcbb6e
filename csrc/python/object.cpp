// Converts C++ exceptions to Python exceptions, and reads arguments.
#include <torch/csrc/Exceptions.h>

#include <cstdarg>
#include <cstring>

#include "python/common.h"

namespace cg::py {
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
    most = std::max(least, most);
    if (least && (n < least || n > most)) {
      const std::string expected = least == most ? c10::str(least) : c10::str(least, " to ", most);
      fail(PyExc_TypeError, "%s: expected %s arguments, got %zd", name, expected.c_str(), n);
    }
    return f(self, args, n);
  });
}

namespace {
// Adds the argument's name to the error of a conversion.
template <class T>
T checked(T x, PyObject* o, const char* name, const char* kind) {
  if (x != T(-1) || !PyErr_Occurred()) return x;
  if (PyErr_ExceptionMatches(PyExc_TypeError))
    fail(PyExc_TypeError, "%s: expected %s, got %s", name, kind, Py_TYPE(o)->tp_name);
  throw PyError();
}
}  // namespace

double number(PyObject* o, const char* name) { return checked(PyFloat_AsDouble(o), o, name, "a number"); }
int integer(PyObject* o, const char* name) {
  const long v = checked(PyLong_AsLong(o), o, name, "an integer");
  if (v != static_cast<int>(v)) fail(PyExc_OverflowError, "%s: %ld is too large", name, v);
  return v;
}

Items::Items(PyObject* o, const char* name) {
  if (!PyList_Check(o) && !PyTuple_Check(o) && !Py_TYPE(o)->tp_iter && !PySequence_Check(o))
    fail(PyExc_TypeError, "%s: expected a list or a tuple, got %s", name, Py_TYPE(o)->tp_name);
  o_ = Obj::steal(PySequence_Fast(o, name));
}

PyObject* out_of_memory_error() {
  static PyObject* const type = [] {
    const Obj bases = Obj::steal(PyTuple_Pack(2, PyExc_MemoryError, PyExc_RuntimeError));
    const char* doc = "There is no memory for a tensor.";
    return Obj::steal(PyErr_NewExceptionWithDoc("compatgrad._C.OutOfMemoryError", doc, bases.get(), nullptr)).release();
  }();
  return type;
}

// NumPy's error for an axis that an array does not have, which is a ValueError and an IndexError.
static PyObject* axis_error() {
  static PyObject* const type = [] {
    for (const char* name : {"numpy.exceptions", "numpy"}) {  // NumPy has moved it
      PyObject* const module = PyImport_ImportModule(name);   // for good, as the class
      PyObject* const found = module ? PyObject_GetAttrString(module, "AxisError") : nullptr;
      if (found) return found;
      PyErr_Clear();
    }
    return PyExc_IndexError;
  }();
  return type;
}

static PyObject* type_of_error(const std::exception& e) {
  // Where the CPU has no memory, torch raises c10::Error, which only its text distinguishes from other errors.
  if (const auto* torchs = dynamic_cast<const c10::Error*>(&e))
    if (dynamic_cast<const c10::OutOfMemoryError*>(&e) ||
        std::strstr(torchs->what_without_backtrace(), "DefaultCPUAllocator: can't allocate"))
      return out_of_memory_error();
  if (const auto* index = dynamic_cast<const c10::IndexError*>(&e))
    return std::strstr(index->what_without_backtrace(), "Dimension out of range") ? axis_error() : PyExc_IndexError;
  if (dynamic_cast<const c10::ValueError*>(&e) || dynamic_cast<const std::invalid_argument*>(&e))
    return PyExc_ValueError;
  if (dynamic_cast<const c10::TypeError*>(&e)) return PyExc_TypeError;
  if (dynamic_cast<const MissingGradient*>(&e)) return PyExc_AttributeError;
  return dynamic_cast<const c10::NotImplementedError*>(&e) ? PyExc_NotImplementedError : PyExc_RuntimeError;
}
void set_error_from_exception() {
  try {
    throw;
  } catch (const PyError&) {
  } catch (const c10::Error& e) {
    PyErr_SetString(type_of_error(e), e.what_without_backtrace());
  } catch (const python_error& e) {
    const_cast<python_error&>(e).restore();
  } catch (pybind11::error_already_set& e) {  // Ctrl-C in a torch kernel that is written in Python
    e.restore();
  } catch (const std::bad_alloc&) {  // of the engine's own tables; for tensors torch raises a c10::Error
    PyErr_SetString(PyExc_MemoryError, "the engine got no memory from the system");
  } catch (const std::exception& e) {
    PyErr_SetString(type_of_error(e), e.what());
  }
}

}  // namespace cg::py
