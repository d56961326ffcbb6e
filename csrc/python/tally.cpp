// Counts functions as they run, by op, frontend, device and dtype. A listener in Python hears of each kind of function
// once, so that a count costs some nanoseconds.
#include "core/tally.h"

#include <unordered_map>

#include "python/common.h"

namespace cg::py {
namespace {

struct Kind {
  const OpInfo* info;
  Frontend* frontend;
  at::Device device;
  at::ScalarType dtype;
  bool operator==(const Kind&) const = default;
};
struct HashOfKind {
  size_t operator()(const Kind& k) const {
    const auto words = reinterpret_cast<uintptr_t>(k.info) ^ (reinterpret_cast<uintptr_t>(k.frontend) << 1);
    return words * 31 + static_cast<size_t>(k.dtype) * 64 + static_cast<size_t>(k.device.type()) * 8 +
           static_cast<size_t>(k.device.index() + 1);
  }
};
// The dtype Undefined stands for functions that were recorded, to run later.
std::unordered_map<Kind, uint64_t, HashOfKind> counts;
PyObject* listener = nullptr;  // owned

template <class... A>
void tell(A*... args) {
  const Obj held = Obj::borrow(listener);  // the listener may stop the count
  user_code([&] { return Obj::steal(PyObject_CallFunctionObjArgs(held.get(), args..., nullptr)); });
}

void ran(FunctionNode& f, VarsRef in, bool counted) {
  const OpInfo* info = f.info();
  if (!info) return;  // a function in Python, which is counted there
  Kind kind{info, frontend_or_native(f.frontend ? f.frontend : caller), at::kCPU, at::ScalarType::Undefined};
  for (const Var& x : in) {
    if (!counted || !x.defined()) continue;
    kind.device = x.data.device();
    kind.dtype = x.data.scalar_type();
    break;
  }
  if (counts[kind]++) return;
  static PyObject *run = PyUnicode_InternFromString("run"), *recorded = PyUnicode_InternFromString("recorded");
  Obj name = Obj::steal(PyUnicode_FromString(info->name));
  // The class of a function's object depends on what the graph knows of the function once it is recorded.
  Obj view = counted ? Obj::steal(view_of_function(&f, kind.frontend)) : Obj::borrow(Py_None);
  tell(counted ? run : recorded, name.get(), kind.frontend->name, view.get());
}

void moved(const at::Tensor& from, at::Device to) {
  static PyObject* what = PyUnicode_InternFromString("move");
  Obj source = Obj::steal(PyUnicode_FromString(from.device().str().c_str()));
  Obj target = Obj::steal(PyUnicode_FromString(to.str().c_str()));
  Obj bytes = Obj::steal(PyLong_FromSize_t(from.nbytes()));
  tell(what, source.get(), target.get(), bytes.get());
}

void copied(void* array) {
  static PyObject* what = PyUnicode_InternFromString("copy");
  tell(what, static_cast<PyObject*>(array));
}

// set_tally(listener): starts to count anew, or with None stops. The listener is called with "run", the op's name, the
// frontend's name and the function node; with "recorded", the op's name, the frontend's name and None; with "move", two
// devices and the number of bytes; with "copy" and an array.
void set_tally(PyObject*, PyObject* callable) {
  const bool on = callable != Py_None;
  counts.clear();
  Py_XSETREF(listener, on ? Py_NewRef(callable) : nullptr);
  tally = on ? Tally{ran, moved, copied} : Tally{};
}

// tallies() -> list of (op, frontend, device, torch dtype, calls)
PyObject* tallies(PyObject*, PyObject*) {
  List list;
  const auto now = counts;  // the garbage collector may run functions
  for (const auto& [kind, n] : now) {
    if (kind.dtype == at::ScalarType::Undefined) continue;
    list.add(Py_BuildValue("(sOsOK)", kind.info->name, kind.frontend->name, kind.device.str().c_str(),
                           dtype_object(kind.dtype, native_frontend), static_cast<unsigned long long>(n)));
  }
  return list.release();
}
}  // namespace

PyMethodDef tally_methods[] = {
    {"set_tally", guard<set_tally>, METH_O, "Starts to count functions, with a listener, or stops (None)."},
    {"tallies", guard<tallies>, METH_NOARGS, "How often each kind of function ran since `set_tally`."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace cg::py
