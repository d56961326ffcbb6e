// Python objects in C++: references, errors, function tables, sequences, numbers.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <utility>

#include "core/scope.h"
#include "core/settle.h"

namespace cg::py {

// A type whose objects have the layout of `T`. The caller fills in the slots.
template <class T>
PyTypeObject type_of(const char* name, const char* doc, unsigned long flags = 0) {
  PyTypeObject t{};
  Py_SET_REFCNT(reinterpret_cast<PyObject*>(&t), 1);
  t.tp_name = name;
  t.tp_doc = doc;
  t.tp_basicsize = sizeof(T);
  t.tp_flags = Py_TPFLAGS_DEFAULT | flags;
  if constexpr (requires(T o) { o.dict; }) t.tp_dictoffset = offsetof(T, dict);
  if constexpr (requires(T o) { o.weakrefs; }) t.tp_weaklistoffset = offsetof(T, weakrefs);
  return t;
}

// Sets the functions that free objects of a type, and those for Python's garbage collector.
inline void set_life(PyTypeObject& t, destructor dealloc, traverseproc traverse, inquiry clear) {
  t.tp_dealloc = dealloc;
  t.tp_traverse = traverse;
  t.tp_clear = clear;
}
inline void set_attributes(PyTypeObject& t, PyGetSetDef* getset, PyMethodDef* methods) {
  t.tp_getset = getset;
  t.tp_methods = methods;
}

// Thrown when a Python exception is set.
struct PyError {};
// Sets a Python exception and throws.
[[noreturn]] void fail(PyObject* type, const char* format, ...);

// An owned reference.
class Obj {
 public:
  Obj() = default;
  ~Obj() { Py_XDECREF(p_); }
  Obj(Obj&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  Obj& operator=(Obj&& o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  static Obj steal(PyObject* p) {  // takes a new reference; null means that an exception is set
    if (!p) throw PyError();
    Obj o;
    o.p_ = p;
    return o;
  }
  static Obj borrow(PyObject* p) {
    Py_XINCREF(p);
    Obj o;
    o.p_ = p;
    return o;
  }
  PyObject* get() const { return p_; }
  PyObject* release() { return std::exchange(p_, nullptr); }
  explicit operator bool() const { return p_ != nullptr; }

 private:
  PyObject* p_ = nullptr;
};

// Runs `f`, called from Python, and converts C++ exceptions to Python exceptions.
void set_error_from_exception();
// The type of the error for tensors without memory: a MemoryError, as NumPy raises, and a RuntimeError, as torch does.
PyObject* out_of_memory_error();
template <class F, class R>
R guarded(R failed, F&& f) {
  try {
    settle();
    return f();
  } catch (...) {
    set_error_from_exception();
    return failed;
  }
}
template <class F>
PyObject* guarded(F&& f) {
  return guarded(static_cast<PyObject*>(nullptr), std::forward<F>(f));
}
// Wraps `f` for tables of methods and attributes: C++ exceptions become Python exceptions, and a method without a
// result returns None.
template <auto f>
struct Guard;
template <class R, class... A, R (*f)(A...)>
struct Guard<f> {
  static auto result(A... args) {
    if constexpr (std::is_void_v<R>)
      return f(args...), Py_NewRef(Py_None);
    else
      return f(args...);
  }
  static auto call(A... args) {
    if constexpr (std::is_void_v<R> && (std::is_same_v<A, void*> || ...))  // a setter of an attribute
      return guarded(-1, [&] { return f(args...), 0; });
    else if constexpr (std::is_pointer_v<R> || std::is_void_v<R>)
      return guarded([&] { return result(args...); });
    else
      return guarded(R(-1), [&] { return f(args...); });
  }
};
template <auto f>
constexpr auto guard = &Guard<f>::call;
#define KEYWORDS(f) reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(guard<f>)), METH_VARARGS | METH_KEYWORDS
using Fast = PyObject*(PyObject*, PyObject* const*, Py_ssize_t);
PyObject* call_fast(Fast* f, const char* name, PyObject* self, PyObject* const* args, Py_ssize_t n,
                    Py_ssize_t least = 0, Py_ssize_t most = 0);
// FAST(function[, count or least[, most]]): a table entry for a function with positional arguments, whose number is
// checked.
#define FAST(f, ...)                                                                                       \
  reinterpret_cast<PyCFunction>(                                                                           \
      reinterpret_cast<void (*)()>(+[](PyObject* self, PyObject* const* args, Py_ssize_t n) -> PyObject* { \
        return call_fast(Guard<f>::result, #f, self, args, n __VA_OPT__(, ) __VA_ARGS__);                  \
      })),                                                                                                 \
      METH_FASTCALL

// The truth value of an object; throws if the object raises an error.
inline bool truth(PyObject* o) {
  const int b = PyObject_IsTrue(o);
  if (b < 0) throw PyError();
  return b;
}
// A number; throws an error that names the argument if the object is not a number.
double number(PyObject* o, const char* name);
int integer(PyObject* o, const char* name);

// The items of a list, a tuple or another iterable: `for (PyObject* x : Items(o, "inputs"))`. The references are
// borrowed; changes of a list during the loop are seen.
class Items {
 public:
  Items() = default;
  Items(PyObject* o, const char* name);  // raises a TypeError that names `o` if it is not iterable
  Py_ssize_t size() const { return PySequence_Fast_GET_SIZE(o_.get()); }
  PyObject* operator[](Py_ssize_t i) const { return PySequence_Fast_GET_ITEM(o_.get(), i); }
  explicit operator bool() const { return static_cast<bool>(o_); }
  struct End {};
  struct Iterator {
    const Items& items;
    Py_ssize_t i = 0;
    PyObject* operator*() const { return items[i]; }
    void operator++() { ++i; }
    bool operator!=(End) const { return i < items.size(); }
  };
  Iterator begin() const { return {*this}; }
  End end() const { return {}; }

 private:
  Obj o_;
};

// A tuple or a list of f(0) to f(n - 1), which return new references.
template <class F>
Obj tuple_of(size_t n, F&& f) {
  Obj tuple = Obj::steal(PyTuple_New(n));
  for (size_t i = 0; i < n; ++i) PyTuple_SET_ITEM(tuple.get(), i, Obj::steal(f(i)).release());
  return tuple;
}
template <class F>
Obj list_of(size_t n, F&& f) {
  Obj list = Obj::steal(PyList_New(n));
  for (size_t i = 0; i < n; ++i) PyList_SET_ITEM(list.get(), i, Obj::steal(f(i)).release());
  return list;
}
// A list to which new references are appended.
struct List : Obj {
  List() : Obj(Obj::steal(PyList_New(0))) {}
  void add(PyObject* item) {
    if (PyList_Append(get(), Obj::steal(item).get()) < 0) throw PyError();
  }
};

// Calls a function of a Python module; `format` as in Py_BuildValue.
template <class... A>
Obj call_python(const char* module, const char* function, const char* format, A... args) {
  Obj m = Obj::steal(PyImport_ImportModule(module));
  return Obj::steal(PyObject_CallMethod(m.get(), function, format, args...));
}

// Takes the interpreter lock, which also guards the engine's graph, on any thread; torch's engine runs and frees its
// nodes without the lock.
class Locked : Pinned {
 public:
  Locked() : state_(PyGILState_Ensure()) { settle(); }
  ~Locked() { PyGILState_Release(state_); }

 private:
  PyGILState_STATE state_;
};

}  // namespace cg::py
