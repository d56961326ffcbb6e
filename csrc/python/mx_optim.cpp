// MXNet's optimizers: update rules on arrays, with hypers of their own for each weight.
#include <algorithm>

#include "python/optim.h"

namespace cg::py {
namespace {

at::Tensor array_tensor(PyObject* o, const char* name) {
  at::Tensor t;
  if (is_variable(o))
    t = tensor_of(as_variable(o));
  else if (is_tensor(o))
    t = unwrap_tensor(o, name);
  else
    fail(PyExc_TypeError, "%s: expected arrays, got %s", name, Py_TYPE(o)->tp_name);
  if (!t.defined()) fail(PyExc_ValueError, "%s: an array has no data", name);
  return t;
}

// One array, a sequence of them, or None.
void add_states(PyObject* o, Step& step) {
  if (o == Py_None) return;
  if (!PyTuple_Check(o) && !PyList_Check(o)) {
    step.states.push_back(array_tensor(o, "states"));
    return;
  }
  for_each_item(o, "states", [&](Py_ssize_t, PyObject* s) { step.states.push_back(array_tensor(s, "states")); });
}

Hypers parse(PyObject* o, const optim::Rule& rule, bool rounds) {
  Hypers h = parse_hypers(o, rule);
  if (rounds)
    for (double& x : h) x = static_cast<float>(x);
  return h;
}

struct Group {
  Hypers hypers;
  c10::SmallVector<Step, 16> steps;
};

// mx_optim_step(rule, weights, grads, states, hypers, rounds): `states` has an array, a sequence of arrays or None per
// weight. `hypers` is a tuple for all, or a list with one per weight; `rounds` takes them in single precision.
PyObject* mx_optim_step(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    if (n != 6) fail(PyExc_TypeError, "mx_optim_step(rule, weights, grads, states, hypers, rounds): got %zd", n);
    const optim::Rule& rule = parse_rule(args[0]);
    for (int k = 1; k < 4; ++k) {
      if (!PyList_Check(args[k]) && !PyTuple_Check(args[k]))
        fail(PyExc_TypeError, "mx_optim_step: expected lists, got %s", Py_TYPE(args[k])->tp_name);
      if (PySequence_Fast_GET_SIZE(args[k]) != PySequence_Fast_GET_SIZE(args[1]))
        fail(PyExc_ValueError, "mx_optim_step: weights, grads and states differ in number");
    }
    const bool each = PyList_Check(args[4]), rounds = args[5] == Py_True;
    if (each && PyList_GET_SIZE(args[4]) != PySequence_Fast_GET_SIZE(args[1]))
      fail(PyExc_ValueError, "hypers: expected one tuple per weight");
    c10::SmallVector<Group, 1> groups;
    if (!each) groups.push_back({parse(args[4], rule, rounds), {}});
    for_each_item(args[1], "weights", [&](Py_ssize_t i, PyObject* o) {
      Step step{array_tensor(o, "weights"), array_tensor(PySequence_Fast_GET_ITEM(args[2], i), "grads"), {}};
      add_states(PySequence_Fast_GET_ITEM(args[3], i), step);
      check_step(rule, step);
      Group* group = groups.begin();
      if (each) {
        const Hypers hypers = parse(PyList_GET_ITEM(args[4], i), rule, rounds);
        group = std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.hypers == hypers; });
        if (group == groups.end()) {
          groups.push_back({hypers, {}});
          group = &groups.back();
        }
      }
      group->steps.push_back(std::move(step));
    });
    for (const Group& group : groups) run_steps(rule, group.steps, group.hypers);
    Py_RETURN_NONE;
  });
}

PyMethodDef methods[] = {
    {"mx_optim_step", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(mx_optim_step)), METH_FASTCALL,
     "mx_optim_step(rule, weights, grads, states, hypers, rounds): one step of an update rule, in place."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void add_mx_optim(PyObject* module) {
  if (PyModule_AddFunctions(module, methods) < 0) throw PyError();
}

}  // namespace cg::py
