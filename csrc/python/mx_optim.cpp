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
  std::vector<double> rates, decays;  // of each step, where they differ from `hypers`
};

// Whether steps with these hypers go in one call.
bool alike(const Hypers& a, const Hypers& b, bool rated) {
  return std::equal(a.begin() + 2 * rated, a.end(), b.begin() + 2 * rated);
}

void run_group(const optim::Rule& rule, Group& group, bool mixed, const at::Tensor& rates, const at::Tensor& decays) {
  bool same = true;
  for (size_t i = 0; i < group.rates.size(); ++i)
    same = same && group.rates[i] == group.hypers[0] && group.decays[i] == group.hypers[1];
  if (same && !mixed && !rates.defined()) return run_steps(rule, group.steps, group.hypers);
  if (group.rates.empty()) {
    group.rates.assign(group.steps.size(), group.hypers[0]);
    group.decays.assign(group.steps.size(), group.hypers[1]);
  }
  std::vector<double> own;
  if (!rates.defined()) {
    own = group.rates;
    own.insert(own.end(), group.decays.begin(), group.decays.end());
  }
  run_kernels(count_elements(group.steps),
              [&] { optim::apply_rated(rule, group.steps, group.hypers.data(), {own, rates, decays}); });
  written(group.steps);
}

// mx_optim_step(rule, weights, grads, states, hypers, rounds, copies=None, rates=None): `states` has an array, a
// sequence of arrays or None per weight. `hypers` is a tuple for all, or a list with one per weight; `rounds` takes
// them in single precision. `copies`: an array or None per weight, its copy in half precision; gradients may be of that
// type. `rates`: two tensors with the first and the second hyper of each weight, instead of those in the tuple.
PyObject* mx_optim_step(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n < 6 || n > 8)
    fail(PyExc_TypeError, "mx_optim_step(rule, weights, grads, states, hypers, rounds, copies, rates): got %zd", n);
  const optim::Rule& rule = parse_rule(args[0]);
  PyObject* const copies = n > 6 ? args[6] : Py_None;
  for (PyObject* list : {args[1], args[2], args[3], copies == Py_None ? args[1] : copies}) {
    if (!PyList_Check(list) && !PyTuple_Check(list))
      fail(PyExc_TypeError, "mx_optim_step: expected lists, got %s", Py_TYPE(list)->tp_name);
    if (PySequence_Fast_GET_SIZE(list) != PySequence_Fast_GET_SIZE(args[1]))
      fail(PyExc_ValueError, "mx_optim_step: weights, grads and states differ in number");
  }
  at::Tensor rates, decays;
  if (n > 7 && args[7] != Py_None) {
    PyObject *first, *second;
    if (!PyArg_ParseTuple(args[7], "OO", &first, &second)) throw PyError();
    rates = array_tensor(first, "rates");
    decays = array_tensor(second, "rates");
    if (rates.numel() != PySequence_Fast_GET_SIZE(args[1]) || decays.numel() != rates.numel())
      fail(PyExc_ValueError, "rates: expected a number for each weight");
  }
  const bool each = PyList_Check(args[4]), rounds = args[5] == Py_True;
  if (each && (rates.defined() || PyList_GET_SIZE(args[4]) != PySequence_Fast_GET_SIZE(args[1])))
    fail(PyExc_ValueError, "hypers: expected one tuple per weight");
  c10::SmallVector<Group, 1> groups;
  if (!each) groups.push_back({parse(args[4], rule, rounds), {}, {}, {}});
  for_each_item(args[1], "weights", [&](Py_ssize_t i, PyObject* o) {
    Step step{array_tensor(o, "weights"), array_tensor(PySequence_Fast_GET_ITEM(args[2], i), "grads"), {}, {}};
    add_states(PySequence_Fast_GET_ITEM(args[3], i), step);
    check_step(rule, step);
    if (copies != Py_None && PySequence_Fast_GET_ITEM(copies, i) != Py_None) {
      step.copy = array_tensor(PySequence_Fast_GET_ITEM(copies, i), "copies");
      if (step.copy.sizes() != step.x.sizes()) fail(PyExc_ValueError, "copies: expected the weight's shape");
    }
    Group* group = groups.begin();
    if (each) {
      const Hypers hypers = parse(PyList_GET_ITEM(args[4], i), rule, rounds);
      group = std::find_if(groups.begin(), groups.end(),
                           [&](const Group& g) { return alike(g.hypers, hypers, rule.rated); });
      if (group == groups.end()) {
        groups.push_back({hypers, {}, {}, {}});
        group = &groups.back();
      }
      group->rates.push_back(hypers[0]);
      group->decays.push_back(hypers[1]);
    }
    group->steps.push_back(std::move(step));
  });
  for (Group& group : groups) run_group(rule, group, copies != Py_None, rates, decays);
  Py_RETURN_NONE;
}

// mx_reduce(arrays, not_finite): of each its sum of squares, or how many elements are infinite or NaN; float64.
PyObject* mx_reduce(PyObject*, PyObject* const* args, Py_ssize_t n) {
  std::vector<at::Tensor> tensors;
  int64_t elements = 0;
  for_each_item(args[0], "arrays", [&](Py_ssize_t, PyObject* o) {
    tensors.push_back(array_tensor(o, "arrays"));
    elements += tensors.back().numel();
  });
  if (tensors.empty()) fail(PyExc_ValueError, "arrays: the list is empty");
  at::Tensor found;
  run_kernels(elements, [&] { found = optim::reduce_each(tensors, args[1] == Py_True); });
  return wrap_tensor(found);
}

// mx_scale(arrays, factor): multiplies arrays of one type on one device by a float64 tensor with one element there.
PyObject* mx_scale(PyObject*, PyObject* const* args, Py_ssize_t n) {
  std::vector<at::Tensor> tensors;
  int64_t elements = 0;
  for_each_item(args[0], "arrays", [&](Py_ssize_t, PyObject* o) {
    tensors.push_back(array_tensor(o, "arrays"));
    elements += tensors.back().numel();
  });
  const at::Tensor factor = array_tensor(args[1], "factor");
  run_kernels(elements, [&] { optim::scale_by(tensors, factor); });
  for (const at::Tensor& t : tensors) bump_version(t);
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"mx_optim_step", FAST(mx_optim_step),
     "mx_optim_step(rule, weights, grads, states, hypers, rounds, copies=None, rates=None): one step of an update "
     "rule, in place."},
    {"mx_reduce", FAST(mx_reduce, 2),
     "mx_reduce(arrays, not_finite): sums of squares, or numbers of elements that are not finite; float64."},
    {"mx_scale", FAST(mx_scale, 2),
     "mx_scale(arrays, factor): multiplies arrays, in place, by a float64 tensor with one element."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void add_mx_optim(PyObject* module) {
  if (PyModule_AddFunctions(module, methods) < 0) throw PyError();
}

}  // namespace cg::py
