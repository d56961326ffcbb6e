// nnabla's solvers: update rules on variables with a Store, and on bare tensors.
//
// Variables whose gradient is `zeroing`, as solver_zero_grad leaves it, are passed over by all but solver_step.
#include "python/optim.h"

namespace cg::py {
namespace {

using optim::Rule;

Store& store_of(PyObject* o) {
  if (!PyObject_TypeCheck(o, &DeferredVariableType))
    fail(PyExc_TypeError, "params: expected Variables, got %s", Py_TYPE(o)->tp_name);
  const auto& node = as_variable(o)->v.node;
  if (!node || !node->deferred) fail(PyExc_ValueError, "params: a Variable is not set up");
  return *node->deferred->store;
}

// The array's tensor in single precision, for reading.
at::Tensor read_single(Array& a) {
  const at::Tensor& t = a.read();
  return t.scalar_type() == at::kFloat ? t : t.to(at::kFloat);
}

// The same for writing: the array holds it.
const at::Tensor& write_single(Array& a) {
  const at::Tensor& t = a.write();
  if (t.scalar_type() != at::kFloat || !t.is_contiguous()) a.put(t.to(at::kFloat).contiguous());
  return a.tensor;
}

template <class F>
void for_each_live(PyObject* params, F&& f) {
  for_each_item(params, "params", [&](Py_ssize_t, PyObject* o) {
    Store& store = store_of(o);
    if (store.grad->zeroing) return;
    store.grad->move(store.data->device);
    f(store);
  });
}

// A state: a tensor, or a Variable that holds it.
at::Tensor read_state(PyObject* o, const at::Tensor& x) {
  if (is_tensor(o)) return unwrap_tensor(o, "states");
  Array& a = *store_of(o).data;
  if (write_single(a).device() != x.device()) a.put(a.tensor.to(x.device()));
  return a.tensor;
}

void read_states(PyObject* states, Py_ssize_t i, Step& step) {
  if (!PyList_Check(states) && !PyTuple_Check(states)) fail(PyExc_TypeError, "states: expected a list or a tuple");
  if (i >= PySequence_Fast_GET_SIZE(states)) fail(PyExc_ValueError, "states: shorter than params");
  for_each_item(PySequence_Fast_GET_ITEM(states, i), "states",
                [&](Py_ssize_t, PyObject* o) { step.states.push_back(read_state(o, step.x)); });
}

// solver_step(rule, params, states, hypers): False, and nothing is done, where a state is on another device.
PyObject* solver_step(PyObject*, PyObject* const* args, Py_ssize_t n) {
  const Rule& rule = parse_rule(args[0]);
  const Hypers hypers = parse_hypers(args[3], rule);
  c10::SmallVector<Step, 16> steps;
  bool here = true;
  for_each_item(args[1], "params", [&](Py_ssize_t i, PyObject* o) {
    Store& store = store_of(o);
    Step step{write_single(*store.data), read_single(*store.grad), {}, {}};
    read_states(args[2], i, step);
    check_step(rule, step, false);
    for (const auto& t : step.states) here = here && t.device() == step.x.device();
    steps.push_back(std::move(step));
  });
  if (here) run_steps(rule, steps, hypers);
  return PyBool_FromLong(here);
}

// solver_change_grads(rule, params, hypers): rules that change a gradient with its parameter.
PyObject* solver_change_grads(PyObject*, PyObject* const* args, Py_ssize_t n) {
  const Rule& rule = parse_rule(args[0]);
  const Hypers hypers = parse_hypers(args[2], rule);
  c10::SmallVector<Step, 16> steps;
  for_each_live(args[1], [&](Store& store) {
    steps.push_back({write_single(*store.grad), read_single(*store.data), {}, {}});
    check_step(rule, steps.back());
  });
  run_steps(rule, steps, hypers);
  Py_RETURN_NONE;
}

int64_t count_elements(at::TensorList tensors) {
  int64_t n = 0;
  for (const at::Tensor& t : tensors) n += t.numel();
  return n;
}

// solver_clip_norms(params, threshold): each gradient for itself.
PyObject* solver_clip_norms(PyObject*, PyObject* const* args, Py_ssize_t n) {
  const double threshold = PyFloat_AsDouble(args[1]);
  if (threshold == -1 && PyErr_Occurred()) throw PyError();
  c10::SmallVector<at::Tensor, 16> gradients;
  for_each_live(args[0], [&](Store& store) { gradients.push_back(write_single(*store.grad)); });
  run_kernels(count_elements(gradients), [&] { optim::clip_norms(gradients, threshold); });
  for (const at::Tensor& g : gradients) bump_version(g);
  Py_RETURN_NONE;
}

// solver_any_special(params, inf, nan): whether a gradient has an infinite value or a NaN.
PyObject* solver_any_special(PyObject*, PyObject* const* args, Py_ssize_t n) {
  c10::SmallVector<at::Tensor, 16> gradients;
  for_each_live(args[0], [&](Store& store) { gradients.push_back(store.grad->read()); });
  bool found = false;
  run_kernels(count_elements(gradients),
              [&] { found = optim::any_special(gradients, args[1] == Py_True, args[2] == Py_True); });
  return PyBool_FromLong(found);
}

PyObject* solver_zero_grad(PyObject*, PyObject* params) {
  for_each_item(params, "params", [&](Py_ssize_t, PyObject* o) { store_of(o).grad->fill(0); });
  Py_RETURN_NONE;
}

// solver_live(params): the indices of those that are not passed over; None for all.
PyObject* solver_live(PyObject*, PyObject* params) {
  c10::SmallVector<Py_ssize_t, 16> live;
  Py_ssize_t all = 0;
  for_each_item(params, "params", [&](Py_ssize_t i, PyObject* o) {
    ++all;
    if (!store_of(o).grad->zeroing) live.push_back(i);
  });
  if (static_cast<Py_ssize_t>(live.size()) == all) Py_RETURN_NONE;
  Obj list = Obj::steal(PyList_New(live.size()));
  for (size_t k = 0; k < live.size(); ++k)
    PyList_SET_ITEM(list.get(), k, Obj::steal(PyLong_FromSsize_t(live[k])).release());
  return list.release();
}

// solver_tensors(params, grads): their data, or with `grads` their gradients, as tensors for writing.
PyObject* solver_tensors(PyObject*, PyObject* const* args, Py_ssize_t n) {
  Obj list = Obj::steal(PyList_New(0));
  for_each_item(args[0], "params", [&](Py_ssize_t, PyObject* o) {
    Store& store = store_of(o);
    Obj tensor = Obj::steal(wrap_tensor(write_single(args[1] == Py_True ? *store.grad : *store.data)));
    if (PyList_Append(list.get(), tensor.get()) < 0) throw PyError();
  });
  return list.release();
}

at::Tensor tensor_arg(PyObject* o, const char* name) {
  if (!is_tensor(o)) fail(PyExc_TypeError, "%s: expected tensors, got %s", name, Py_TYPE(o)->tp_name);
  return unwrap_tensor(o, name);
}

// optim_step(rule, xs, ys, states, hypers): on tensors; `states` has one sequence per x, or is None. `hypers` is a
// tuple for all, or a list with one per x.
PyObject* optim_step(PyObject*, PyObject* const* args, Py_ssize_t n) {
  const Rule& rule = parse_rule(args[0]);
  c10::SmallVector<Step, 16> steps;
  for_each_item(args[1], "xs", [&](Py_ssize_t, PyObject* o) { steps.push_back({tensor_arg(o, "xs"), {}, {}, {}}); });
  Py_ssize_t given = 0;
  for_each_item(args[2], "ys", [&](Py_ssize_t i, PyObject* o) {
    if (++given <= std::ssize(steps)) steps[i].y = tensor_arg(o, "ys");
  });
  if (given != std::ssize(steps)) fail(PyExc_ValueError, "ys: %zd tensors for %zd xs", given, std::ssize(steps));
  for (size_t i = 0; i < steps.size(); ++i) {
    if (args[3] != Py_None) read_states(args[3], i, steps[i]);
    check_step(rule, steps[i]);
  }
  if (!PyList_Check(args[4])) {
    run_steps(rule, steps, parse_hypers(args[4], rule));
    Py_RETURN_NONE;
  }
  if (PyList_GET_SIZE(args[4]) != std::ssize(steps)) fail(PyExc_ValueError, "hypers: expected one tuple per x");
  for_each_item(args[4], "hypers",
                [&](Py_ssize_t i, PyObject* o) { run_steps(rule, steps[i], parse_hypers(o, rule)); });
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"solver_step", FAST(solver_step, 4),
     "solver_step(rule, params, states, hypers): one step of an update rule, in place; False where a state is on "
     "another device."},
    {"solver_change_grads", FAST(solver_change_grads, 3),
     "solver_change_grads(rule, params, hypers): changes gradients in place."},
    {"solver_clip_norms", FAST(solver_clip_norms, 2),
     "solver_clip_norms(params, threshold): scales each gradient so that its norm is at most `threshold`."},
    {"solver_any_special", FAST(solver_any_special, 3),
     "solver_any_special(params, inf, nan): whether a gradient has an infinite value or a NaN."},
    {"solver_zero_grad", guard<solver_zero_grad>, METH_O, "solver_zero_grad(params): marks the gradients as zero."},
    {"solver_live", guard<solver_live>, METH_O,
     "solver_live(params): indices of those whose gradient is not marked as zero; None for all."},
    {"solver_tensors", FAST(solver_tensors, 2), "solver_tensors(params, grads): data or gradients, for writing."},
    {"optim_step", FAST(optim_step, 5),
     "optim_step(rule, xs, ys, states, hypers): one step of an update rule on tensors, in place."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void add_solver(PyObject* module) {
  if (PyModule_AddFunctions(module, methods) < 0) throw PyError();
}

}  // namespace cg::py
