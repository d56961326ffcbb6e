// Calls kernels by name, for tests and Python code, and finds the CUDA library.
#include "kernels/kernel.h"

#include <utility>

#include "kernels/capture.h"
#include "kernels/raw.h"
#include "python/optim.h"

namespace cg::py {
namespace {

// Asks compatgrad._build.cuda for the library. The interpreter lock prevents two threads from doing so at once.
void find_library(int device) {
  const Locked locked;
  Obj module = Obj::steal(PyImport_ImportModule("compatgrad._build.cuda"));
  Obj path = Obj::steal(PyObject_CallMethod(module.get(), "find_library", nullptr));
  const char* text = path.get() == Py_None ? "" : PyUnicode_AsUTF8(path.get());
  if (!text) throw PyError();
  std::string error = *text ? kernels::library_error(text, device) : "";
  if (!error.empty()) Obj::steal(PyObject_CallMethod(module.get(), "report_unusable", "ss", text, error.c_str()));
  kernels::use_library(error.empty() ? text : "");
}

at::Tensor operand_of(PyObject* o) {
  if (o == Py_None) return {};
  if (!is_tensor(o))
    fail(PyExc_TypeError, "operands: expected tensors, None or lists of these, got %s", Py_TYPE(o)->tp_name);
  at::Tensor t = unwrap_tensor(o, "operands");
  if (!kernels::plain(t) || !t.is_non_overlapping_and_dense())
    fail(PyExc_ValueError, "operands: expected tensors without gaps between elements, got one with strides");
  return t;
}

// run_kernel(name, operands, numbers=(), integers=(), library=None, sums=False): `operands` are tensors, or lists of
// equally many tensors. sums: the kernel is a reduction, and one float64 per set is returned.
PyObject* run_kernel(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"name", "operands", "numbers", "integers", "library", "sums", nullptr};
  const char *name, *library = nullptr;
  PyObject *tensors, *floats = nullptr, *ints = nullptr;
  int sums = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sO|OOzp", const_cast<char**>(names), &name, &tensors, &floats, &ints,
                                   &library, &sums))
    throw PyError();
  std::vector<std::vector<at::Tensor>> lists;
  for (PyObject* o : Items(tensors, "operands")) {
    auto& list = lists.emplace_back();
    if (PyList_Check(o) || PyTuple_Check(o))
      for (PyObject* item : Items(o, "operands")) list.push_back(operand_of(item));
    else
      list.push_back(operand_of(o));
  }
  if (lists.empty() || lists[0].empty() || !lists[0][0].defined())
    fail(PyExc_ValueError, "operands: the first one must not be None, because it determines dtype, device and size");
  const at::Tensor& like = lists[0][0];
  if (!kernels::takes(like))
    fail(PyExc_ValueError,
         "operands: expected float16, bfloat16, float32 or float64 on a CPU, or on a GPU for which there is a library "
         "of kernels");
  const c10::SmallVector<at::TensorList, 8> operands(lists.begin(), lists.end());
  int64_t elements = 0;
  for (const auto& list : lists)
    for (const at::Tensor& t : list) {
      if (!t.defined()) continue;
      if (t.device() != like.device())
        fail(PyExc_ValueError, "operands: expected all on %s, got one on %s", like.device().str().c_str(),
             t.device().str().c_str());
      elements += t.numel();
    }
  c10::SmallVector<double, 8> numbers;
  if (floats)
    for (PyObject* o : Items(floats, "numbers")) numbers.push_back(number(o, "numbers"));
  const Ints integers = ints ? parse_ints(ints, "integers") : Ints();
  at::Tensor found;
  run_kernels(elements, [&] {
    std::optional<kernels::Simulated> simulated;
    if (library) simulated.emplace(library);
    const kernels::Kernel kernel(name);
    if (sums)
      found = kernel.reduce(operands, numbers);
    else
      kernel.on_list(operands, numbers, integers);
  });
  if (sums) return wrap_tensor(found);
  for (const auto& list : lists)  // any of them may have been written by the kernel
    for (const at::Tensor& t : list)
      if (t.defined()) bump_version(t);
  Py_RETURN_NONE;
}

PyObject* kernel_names(PyObject*, PyObject*) {
  List names;
  for (const std::string& name : kernels::names()) names.add(PyUnicode_FromString(name.c_str()));
  return names.release();
}

PyObject* kernels_library(PyObject*, PyObject*) {
  const std::string path = kernels::library_path();
  return path.empty() ? Py_NewRef(Py_None) : PyUnicode_FromString(path.c_str());
}

// set_capturing(flag): sets whether this thread captures a CUDA graph; returns the old flag.
PyObject* set_capturing(PyObject*, PyObject* flag) {
  return PyBool_FromLong(std::exchange(kernels::capturing, flag == Py_True));
}

// set_tracing(flag): sets whether compatgrad's own tracer runs in this thread; returns the old flag.
PyObject* set_tracing(PyObject*, PyObject* flag) {
  return PyBool_FromLong(std::exchange(kernels::tracing, flag == Py_True));
}
PyObject* traced(PyObject*, PyObject*) { return PyBool_FromLong(kernels::written_down()); }

}  // namespace

PyMethodDef kernel_methods[] = {
    {"set_tracing", set_tracing, METH_O,
     "set_tracing(flag): sets whether compatgrad's own tracer runs in this thread; returns the old flag."},
    {"traced", traced, METH_NOARGS,
     "Whether a tracer (make_fx, interop.export) records the operations of this thread."},
    {"set_capturing", set_capturing, METH_O,
     "set_capturing(flag): sets whether this thread captures a CUDA graph; returns the old flag."},
    {"run_kernel", KEYWORDS(run_kernel),
     "run_kernel(name, operands, numbers=(), integers=(), library=None, sums=False): runs a kernel in place on "
     "tensors, or on lists of tensors; with `sums` the kernel is a reduction and one sum for each set is returned."},
    {"kernel_names", guard<kernel_names>, METH_NOARGS, "The names of the kernels for CPU tensors."},
    {"kernels_library", guard<kernels_library>, METH_NOARGS, "The path of the CUDA library in use, or None."},
    {nullptr, nullptr, 0, nullptr}};

void init_kernels() { kernels::find_library = find_library; }

}  // namespace cg::py
