// Kernels by name, for tests and for Python code that calls one; and how the CUDA library is found.
#include "kernels/kernel.h"

#include <utility>

#include "kernels/capture.h"
#include "kernels/raw.h"
#include "python/optim.h"

namespace cg::py {
namespace {

// Asks compatgrad._build.cuda for the library. The interpreter lock keeps threads from doing so twice.
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

// The arguments of a call by name.
struct Arguments {
  const char *name, *library = nullptr;
  std::vector<std::vector<at::Tensor>> lists;
  c10::SmallVector<at::TensorList, 8> operands;
  c10::SmallVector<double, 8> numbers;
  Ints integers;
  int64_t elements = 0;

  Arguments(PyObject* args, PyObject* kwargs) {
    static const char* names[] = {"name", "operands", "numbers", "integers", "library", nullptr};
    PyObject *tensors, *floats = nullptr, *ints = nullptr;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sO|OOz", const_cast<char**>(names), &name, &tensors, &floats, &ints,
                                     &library))
      throw PyError();
    for (PyObject* o : Items(tensors, "operands")) {
      auto& list = lists.emplace_back();
      if (PyList_Check(o) || PyTuple_Check(o))
        for (PyObject* item : Items(o, "operands")) list.push_back(operand_of(item));
      else
        list.push_back(operand_of(o));
    }
    if (lists.empty() || lists[0].empty() || !lists[0][0].defined())
      fail(PyExc_ValueError, "operands: the first is missing");
    const at::Tensor& like = lists[0][0];
    if (!kernels::takes(like))
      fail(
          PyExc_ValueError,
          "operands: expected float16, bfloat16, float32 or float64 on a CPU, or on a GPU for which there is a library "
          "of kernels");
    for (const auto& list : lists) {
      operands.push_back(list);
      for (const at::Tensor& t : list) {
        if (!t.defined()) continue;
        if (t.device() != like.device()) fail(PyExc_ValueError, "operands: they lie on different devices");
        elements += t.numel();
      }
    }
    if (floats)
      for (PyObject* o : Items(floats, "numbers")) numbers.push_back(number(o, "numbers"));
    if (ints) integers = parse_ints(ints, "integers");
  }
  template <class F>
  void run(F&& f) const {
    const kernels::Kernel kernel(name);
    run_kernels(elements, [&] {
      std::optional<kernels::Simulated> simulated;
      if (library) simulated.emplace(library);
      f(kernel);
    });
  }
};

// run_kernel(name, operands, numbers=(), integers=(), library=None): `operands` holds tensors, or lists of as many
// tensors each.
PyObject* run_kernel(PyObject*, PyObject* args, PyObject* kwargs) {
  const Arguments a(args, kwargs);
  a.run([&](const kernels::Kernel& kernel) { kernel.on_list(a.operands, a.numbers, a.integers); });
  for (const auto& operand : a.operands)  // which of them the kernel writes, it alone knows
    for (const at::Tensor& t : operand)
      if (t.defined()) bump_version(t);
  Py_RETURN_NONE;
}

// The same for a reduction, which gives a float64 for each set.
PyObject* reduce_kernel(PyObject*, PyObject* args, PyObject* kwargs) {
  const Arguments a(args, kwargs);
  at::Tensor sums;
  a.run([&](const kernels::Kernel& kernel) { sums = kernel.reduce(a.operands, a.numbers); });
  return wrap_tensor(sums);
}

PyObject* kernel_names(PyObject*, PyObject*) {
  List names;
  for (const std::string& name : kernels::names()) names.add(PyUnicode_FromString(name.c_str()));
  return names.release();
}

PyObject* kernels_library(PyObject*, PyObject*) {
  const std::string path = kernels::library_path();
  if (path.empty()) Py_RETURN_NONE;
  return PyUnicode_FromString(path.c_str());
}

// set_capturing(flag): whether this thread captures a CUDA graph; gives what it was.
PyObject* set_capturing(PyObject*, PyObject* flag) {
  return PyBool_FromLong(std::exchange(kernels::capturing, flag == Py_True));
}

}  // namespace

PyMethodDef kernel_methods[] = {
    {"set_capturing", set_capturing, METH_O, "set_capturing(flag): whether this thread captures a CUDA graph."},
    {"run_kernel", KEYWORDS(run_kernel),
     "run_kernel(name, operands, numbers=(), integers=(), library=None): runs a kernel in place on tensors, or on "
     "lists "
     "of tensors."},
    {"reduce_kernel", KEYWORDS(reduce_kernel),
     "reduce_kernel(name, operands, numbers=(), integers=(), library=None): the sums of a reduction, one for each "
     "set."},
    {"kernel_names", guard<kernel_names>, METH_NOARGS, "The names of the kernels there are for CPU tensors."},
    {"kernels_library", guard<kernels_library>, METH_NOARGS, "The path of the CUDA library in use, or None."},
    {nullptr, nullptr, 0, nullptr}};

void init_kernels() { kernels::find_library = find_library; }

}  // namespace cg::py
