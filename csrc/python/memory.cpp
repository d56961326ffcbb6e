// The memory that is kept for large tensors, as functions of the module.
#include "core/memory.h"

#include <cstdlib>
#include <cstring>

#include "python/common.h"

namespace cg::py {
namespace {

PyObject* release_memory(PyObject*, PyObject*) { return PyLong_FromSize_t(memory::release()); }
PyObject* memory_amounts(PyObject*, PyObject*) {
  const auto [used, kept] = memory::amounts();
  return Py_BuildValue("(nn)", static_cast<Py_ssize_t>(used), static_cast<Py_ssize_t>(kept));
}

}  // namespace

PyMethodDef memory_methods[] = {{"release_memory", guard<release_memory>, METH_NOARGS,
                                 "Returns the memory that is kept for large tensors to the system; how many bytes."},
                                {"memory_amounts", guard<memory_amounts>, METH_NOARGS,
                                 "Bytes of the large tensors on the CPU, and bytes that are kept for the next ones."},
                                {nullptr, nullptr, 0, nullptr}};

void init_memory() {
#if !defined(__SANITIZE_ADDRESS__)  // which could not see that freed memory is used
  const char* const wish = std::getenv("COMPATGRAD_KEEP_MEMORY");
  if (!wish || std::strcmp(wish, "0") != 0) memory::start();
#endif
}

}  // namespace cg::py
