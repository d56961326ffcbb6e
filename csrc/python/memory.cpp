// The memory that is kept for new tensors, as functions of the module.
#include "core/memory.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string_view>

#include "python/common.h"

namespace cg::py {
namespace {

constexpr char kSwitch[] = "COMPATGRAD_KEEP_MEMORY";

PyObject* release_memory(PyObject*, PyObject*) {
  PyThreadState* const unlocked = PyEval_SaveThread();  // the system needs 50 ms and more for a gigabyte
  const size_t bytes = memory::release();
  PyEval_RestoreThread(unlocked);
  return PyLong_FromSize_t(bytes);
}
PyObject* memory_amounts(PyObject*, PyObject*) {
  const auto [used, kept, most_kept] = memory::amounts();
  return Py_BuildValue("(nnn)", static_cast<Py_ssize_t>(used), static_cast<Py_ssize_t>(kept),
                       static_cast<Py_ssize_t>(most_kept));
}

}  // namespace

PyMethodDef memory_methods[] = {
    {"release_memory", guard<release_memory>, METH_NOARGS,
     "Returns the memory that is kept for new tensors to the system; how many bytes."},
    {"memory_amounts", guard<memory_amounts>, METH_NOARGS,
     "Bytes of the large tensors on the CPU, bytes that are kept for the next ones, and how many may be "
     "kept at most, which is 0 if this process keeps nothing."},
    {nullptr, nullptr, 0, nullptr}};

void init_memory() {
  const char* const set = std::getenv(kSwitch);
  const std::string_view wish = set ? set : "";
  if (wish != "" && wish != "0" && wish != "1") fail(PyExc_ValueError, "%s must be 0 or 1, got '%s'", kSwitch, set);
  // AddressSanitizer, which this module or only the process may have, could not see that freed memory is used.
  if (wish != "0" && !dlsym(RTLD_DEFAULT, "__asan_init")) memory::start();
}

}  // namespace cg::py
