// Modes, ops by name, and backwards registered from Python.
#include <string_view>

#include "core/mode.h"
#include "python/scopes.h"

namespace cg::py {
namespace {

// ---- modes ----------------------------------------------------------------------------------------------------------
constexpr std::string_view kModes[] = {"enable_backprop", "debug",        "type_check", "lazy_grad_sum", "train",
                                       "deferred",        "auto_forward", "plain",      "recording",     "training"};
PyObject* mode_value(int8_t v) { return v == kUnset ? Py_NewRef(Py_None) : PyBool_FromLong(v); }
PyObject* get_mode(PyObject*, PyObject* name) { return PyBool_FromLong(mode(static_cast<Mode>(mode_index(name)))); }
PyObject* get_mode_raw(PyObject*, PyObject* name) { return mode_value(thread_modes.value[mode_index(name)]); }
PyObject* set_mode(PyObject*, PyObject* const* args, Py_ssize_t n) {
  int8_t& slot = thread_modes.value[mode_index(args[0])];
  const int8_t value = mode_setting(args[1]);
  return mode_value(std::exchange(slot, value));
}
PyObject* get_default_mode(PyObject*, PyObject* name) { return mode_value(default_modes[mode_index(name)]); }
void set_default_mode(PyObject*, PyObject* const* args, Py_ssize_t n) {
  default_modes[mode_index(args[0])] = truth(args[1]);
}

// ---- ops and registry -----------------------------------------------------------------------------------------------
const OpInfo* op_of(PyObject* name) {
  const char* s = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  const OpInfo* info = s ? find_op(s) : nullptr;
  if (!info) fail(PyExc_ValueError, "there is no op %R", name);
  return info;
}
PyObject* py_op(PyObject*, PyObject* name) { return raw_op(op_of(name)); }
PyObject* op_names(PyObject*, PyObject*) {
  List names;
  for (const OpInfo* info : all_ops()) names.add(PyUnicode_FromString(info->name));
  return names.release();
}
PyObject* op_info(PyObject*, PyObject* name) {
#define CG_KIND(KIND, TYPE, NAME) NAME,
  static const char* kinds[] = {CG_PARAM_KINDS(CG_KIND)};
#undef CG_KIND
  const OpInfo* info = op_of(name);
  List params, optional;
  Ref<FunctionNode> sample(info->create());
  for (const ParamInfo& p : info->params) {
    Obj value = p.required ? Obj::borrow(Py_Ellipsis) : Obj::steal(format_param(p, p.address(sample->params())));
    params.add(Py_BuildValue("(ssO)", p.name, kinds[static_cast<int>(p.kind)], value.get()));
  }
  for (int i = 0; i < info->inputs; ++i)
    if (info->optional.input(i)) optional.add(PyLong_FromLong(i));
  return Py_BuildValue("{s:s,s:i,s:O,s:O,s:s,s:O}", "name", info->name, "inputs", info->inputs, "optional",
                       optional.get(), "params", params.get(), "doc", info->doc, "any_dtype",
                       info->any_dtype ? Py_True : Py_False);
}
void py_register(PyObject*, PyObject* const* args, Py_ssize_t n) {
  const OpInfo* info = op_of(args[0]);
  if (args[1] != Py_None && !PyCallable_Check(args[1]))
    fail(PyExc_TypeError, "register: expected a callable or None, got %s", Py_TYPE(args[1])->tp_name);
  auto* old =
      static_cast<PyObject*>(std::exchange(info->override_backward, args[1] == Py_None ? nullptr : Py_NewRef(args[1])));
  Py_XDECREF(old);
}
PyObject* registry(PyObject*, PyObject*) {
  Obj d = Obj::steal(PyDict_New());
  for (const OpInfo* info : all_ops()) {
    auto* fn = static_cast<PyObject*>(info->override_backward);
    if (PyDict_SetItemString(d.get(), info->name, fn ? fn : Py_None) < 0) throw PyError();
  }
  return d.release();
}
}  // namespace

int mode_index(PyObject* name) {
  const char* s = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  for (int i = 0; s && i < static_cast<int>(Mode::count); ++i)
    if (kModes[i] == s) return i;
  std::string all;
  for (const std::string_view mode : kModes) all += c10::str(mode, ", ");
  fail(PyExc_ValueError, "mode: expected one of %sgot %R", all.c_str(), name);
}
int8_t mode_setting(PyObject* value) { return value == Py_None ? kUnset : static_cast<int8_t>(truth(value)); }

PyMethodDef registry_methods[] = {
    {"get_mode", guard<get_mode>, METH_O, nullptr},
    {"get_mode_raw", guard<get_mode_raw>, METH_O, nullptr},
    {"set_mode", FAST(set_mode, 2), nullptr},
    {"get_default_mode", guard<get_default_mode>, METH_O, nullptr},
    {"set_default_mode", FAST(set_default_mode, 2), nullptr},
    {"op", guard<py_op>, METH_O, "The op with this name, for the native API."},
    {"op_names", guard<op_names>, METH_NOARGS, nullptr},
    {"op_info", guard<op_info>, METH_O, nullptr},
    {"register", FAST(py_register, 2), "Replaces the backward of an op; None restores it."},
    {"registry", guard<registry>, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace cg::py
