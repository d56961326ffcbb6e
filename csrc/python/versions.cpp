// Whether the memory of Variables was written, by torch's version counters. Python needs 0.3 us a Variable to ask for
// them, mostly to wait for memory; the loop here waits for several at once.
#include "core/unread.h"
#include "python/common.h"

namespace cg::py {
namespace {

constexpr char kName[] = "compatgrad._C.versions";

struct Version {
  Obj variable;
  at::Tensor tensor;
  uint32_t number;
};
using Versions = std::vector<Version>;

uint32_t number_of(const at::Tensor& t) { return t.is_inference() ? 0 : static_cast<uint32_t>(t._version()); }

void free_versions(PyObject* capsule) { delete static_cast<Versions*>(PyCapsule_GetPointer(capsule, kName)); }

// versions(variables): the tensors of Variables and their versions, for `unwritten`.
PyObject* versions(PyObject*, PyObject* o) {
  const Items variables(o, "variables");
  auto found = std::make_unique<Versions>();
  for (Py_ssize_t i = 0; i < variables.size(); ++i) {
    const at::Tensor& t = tensor_of(expect_variable(variables[i], "variables", i));
    found->push_back({Obj::borrow(variables[i]), t, number_of(t)});
  }
  PyObject* const capsule = PyCapsule_New(found.get(), kName, free_versions);
  if (capsule) found.release();
  return capsule;
}

// unwritten(versions): whether all Variables still have the same tensors, and no tensor was written since.
PyObject* unwritten(PyObject*, PyObject* o) {
  auto* const known = static_cast<Versions*>(PyCapsule_GetPointer(o, kName));
  if (!known) throw PyError();
  bool same = true;
  for (const Version& x : *known)
    same &= as_variable(x.variable.get())->v.data.is_same(x.tensor) && number_of(x.tensor) == x.number;
  return PyBool_FromLong(same);
}

// sharing(tensors, others): the index of the first tensor that shares its memory with one of the others, or -1.
PyObject* sharing(PyObject*, PyObject* const* args, Py_ssize_t) {
  const Items tensors(args[0], "tensors"), others(args[1], "others");
  for (Py_ssize_t k = 0; k < tensors.size(); ++k) {
    const at::Tensor& t = unwrap_tensor(tensors[k], "tensors");
    if (!t.has_storage() || !t.numel()) continue;
    for (PyObject* o : others) {
      const at::Tensor& other = unwrap_tensor(o, "others");
      if (other.has_storage() && other.storage().is_alias_of(t.storage())) return PyLong_FromSsize_t(k);
    }
  }
  return PyLong_FromLong(-1);
}

}  // namespace

// is_unread(variable): whether its values are computed when something reads them (core/unread.h)
static PyObject* unread_values(PyObject*, PyObject* o) {
  return PyBool_FromLong(is_unread(unread_tensor_of(expect_variable(o, "variable"))));
}

PyMethodDef version_functions[] = {{"versions", guard<versions>, METH_O, nullptr},
                                   {"unwritten", guard<unwritten>, METH_O, nullptr},
                                   {"sharing", FAST(sharing, 2), nullptr},
                                   {"is_unread", guard<unread_values>, METH_O, nullptr},
                                   {nullptr, nullptr, 0, nullptr}};

}  // namespace cg::py
