// Counts functions as they run, by op, frontend, device and dtype. A listener in Python hears of each kind of function
// once, so that a count costs some nanoseconds.
#include "core/tally.h"

#include "core/pointer_map.h"
#include "python/joined.h"

namespace cg::py {
namespace {

// How often an op ran for one frontend, on one device, with one dtype of its first input. The dtype Undefined stands
// for functions that were recorded, to run later.
struct Kind {
  Frontend* frontend;
  at::Device device;
  at::ScalarType dtype;
  uint64_t calls;
};
using Kinds = c10::SmallVector<Kind, 2>;
std::unique_ptr<PointerMap<OpInfo, Kinds>> table;
PyObject* listener = nullptr;  // owned

template <class... A>
void tell(A*... args) {
  const Obj held = Obj::borrow(listener);  // the listener may stop the count
  user_code([&] { return Obj::steal(PyObject_CallFunctionObjArgs(held.get(), args..., nullptr)); });
}

void ran(FunctionNode& f, VarsRef in, bool counted) {
  const OpInfo* info = f.info();
  if (!info) return;  // a function in Python, which is counted there
  Kind kind{frontend_or_native(f.frontend ? f.frontend : caller), at::kCPU, at::ScalarType::Undefined, 1};
  for (const Var& x : in) {
    if (!counted || !x.defined()) continue;
    kind.device = x.data.device();
    kind.dtype = x.data.scalar_type();
    break;
  }
  Kinds* kinds = table->find(info);
  if (!kinds) kinds = table->insert(info).first;
  for (Kind& k : *kinds) {
    if (k.frontend != kind.frontend || k.dtype != kind.dtype || k.device != kind.device) continue;
    ++k.calls;
    return;
  }
  kinds->push_back(kind);
  static PyObject *run = PyUnicode_InternFromString("run"), *recorded = PyUnicode_InternFromString("recorded");
  Obj name = Obj::steal(PyUnicode_FromString(info->name));
  // The class of a function's object depends on what the graph knows of the function once it is recorded.
  Obj view = counted ? Obj::steal(view_of_function(Shown::visited(f), kind.frontend)) : Obj::borrow(Py_None);
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
  table = on ? std::make_unique<PointerMap<OpInfo, Kinds>>() : nullptr;
  Py_XSETREF(listener, on ? Py_NewRef(callable) : nullptr);
  tally = on ? Tally{ran, moved, copied} : Tally{};
}

// tallies() -> list of (op, frontend, device, torch dtype, calls)
PyObject* tallies(PyObject*, PyObject*) {
  std::vector<std::pair<const OpInfo*, Kind>> rows;  // first, because Python's garbage collector may run functions
  for (const OpInfo* info : all_ops())
    if (const Kinds* kinds = table ? table->find(info) : nullptr)
      for (const Kind& k : *kinds)
        if (k.dtype != at::ScalarType::Undefined) rows.emplace_back(info, k);
  List list;
  for (const auto& [info, k] : rows)
    list.add(Py_BuildValue("(sOsOK)", info->name, k.frontend->name, k.device.str().c_str(),
                           dtype_object(k.dtype, native_frontend), static_cast<unsigned long long>(k.calls)));
  return list.release();
}
}  // namespace

PyMethodDef tally_methods[] = {
    {"set_tally", guard<set_tally>, METH_O, "Starts to count functions, with a listener, or stops (None)."},
    {"tallies", guard<tallies>, METH_NOARGS, "How often each kind of function ran since `set_tally`."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace cg::py
