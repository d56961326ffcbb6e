// C++ exceptions as Python's.
#include <torch/csrc/Exceptions.h>

#include <cstdarg>

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
