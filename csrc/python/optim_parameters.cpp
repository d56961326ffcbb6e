// Update rules, and changes of gradients, on lists of parameters: Chainer's Parameters, and nnabla's Variables with a
// Store.
//
// All functions except optim_update skip nnabla parameters whose gradient is `zeroing`, which solver_zero_grad sets.
#include "python/optim.h"

namespace cg::py {

Store* store_of(PyObject* o) {
  if (!PyObject_TypeCheck(o, &DeferredVariableType)) return nullptr;
  const auto& node = as_variable(o)->v.node;
  if (!node || !node->deferred) fail(PyExc_ValueError, "params: a Variable is not set up");
  return node->deferred->store.get();
}

at::Tensor read_single(Array& a) {
  const at::Tensor& t = a.read();
  return t.scalar_type() == at::kFloat ? t : t.to(at::kFloat);
}
const at::Tensor& write_single(Array& a) {
  const at::Tensor& t = a.write();
  if (t.scalar_type() != at::kFloat || !t.is_contiguous()) a.put(t.to(at::kFloat).contiguous());
  return a.tensor;
}

namespace {

using Variables = c10::SmallVector<PyVariable*, 16>;

// The gradient; undefined if there is none. With `writes`, a broadcast gradient, whose elements share memory, is copied
// first.
const at::Tensor& gradient_of(PyVariable* v, bool writes) {
  const at::Tensor& g = gradient_tensor(v);
  if (!writes || !g.defined()) return g;
  if (is_broadcast(g)) {
    Py_CLEAR(v->grad_var);
    v->v.grad = Var(g.contiguous());
  }
  expect_writable(v->v.grad.data);
  return v->v.grad.data;
}

// Reads a parameter and its gradient for an update; returns false if one of them is missing.
bool read_to_update(PyObject* o, bool changes_gradient, Step& s) {
  if (Store* store = store_of(o)) {
    s.x = write_single(*store->data);
    s.y = read_single(*store->grad);
    return true;
  }
  PyVariable* v = expect_variable(o, "params");
  s.x = tensor_of(v);
  s.y = gradient_of(v, changes_gradient);
  return s.x.defined() && s.y.defined();
}
// A parameter's gradient, to be changed; undefined if there is none to change.
at::Tensor gradient_to_change(PyObject* o) {
  if (Store* store = store_of(o)) {
    if (store->grad->zeroing) return {};
    store->grad->move(store->data->device);
    return write_single(*store->grad);
  }
  PyVariable* v = expect_variable(o, "params");
  return tensor_of(v).defined() ? gradient_of(v, true) : at::Tensor();
}

// The gradients that can be changed, with their Variables.
struct Gradients {
  c10::SmallVector<at::Tensor, 16> tensors;
  Variables variables;
  explicit Gradients(PyObject* params) {
    for (PyObject* o : Items(params, "params")) {
      at::Tensor g = gradient_to_change(o);
      if (!g.defined()) continue;
      tensors.push_back(std::move(g));
      variables.push_back(as_variable(o));
    }
  }
};

// If torch cannot share an array's memory, the tensor is a copy; this copies the result back into the array.
void write_back(PyVariable* v) {
  if (!v->array || v->array_of || !v->v.data.defined()) return;
  static PyObject* copyto =
      Obj::steal(PyObject_GetAttrString(Obj::steal(PyImport_ImportModule("numpy")).get(), "copyto")).release();
  Obj result = Obj::steal(array_of_tensor(v->v.data));
  Obj::steal(PyObject_CallFunctionObjArgs(copyto, v->array, result.get(), nullptr));
}
void write_back(const Variables& variables, bool data, bool gradients) {
  for (PyVariable* v : variables) {
    if (gradients && v->grad_var) write_back(as_variable(v->grad_var));
    if (data) write_back(v);
  }
}

// Reads a sequence of tuples: the name of a rule that changes gradients, or "clip_norm", then its numbers.
c10::SmallVector<optim::Hook, 4> parse_hooks(PyObject* o) {
  c10::SmallVector<optim::Hook, 4> hooks;
  for (PyObject* item : Items(o, "hooks")) {
    if (!PyTuple_Check(item) || !PyTuple_GET_SIZE(item))
      fail(PyExc_TypeError, "hooks: expected tuples of a name and numbers, got %R", item);
    PyObject* name = PyTuple_GET_ITEM(item, 0);
    const bool norm = PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, "clip_norm") == 0;
    optim::Hook hook{norm ? nullptr : &parse_rule(name), {}};
    const Py_ssize_t count = norm ? 1 : hook.rule->hypers;
    if (!norm && (hook.rule->states || count > 2))
      fail(PyExc_ValueError, "hooks: the rule %s cannot be a hook, because it has states or more than two constants",
           hook.rule->name);
    if (PyTuple_GET_SIZE(item) != 1 + count)
      fail(PyExc_ValueError, "hooks: %R takes %zd numbers, got %zd", name, count, PyTuple_GET_SIZE(item) - 1);
    for (Py_ssize_t k = 0; k < count; ++k) hook.h[k] = number(PyTuple_GET_ITEM(item, 1 + k), "hooks");
    hooks.push_back(hook);
  }
  return hooks;
}

PyObject* optim_update(PyObject*, PyObject* const* args, Py_ssize_t n) {
  const Rule& rule = parse_rule(args[0]);
  const auto hypers = parse_hypers(args[3], rule);
  c10::SmallVector<optim::Hook, 4> hooks;
  if (n == 5) hooks = parse_hooks(args[4]);
  c10::SmallVector<Step, 16> steps;
  Variables variables;
  bool here = true;
  const Items params(args[1], "params"), states(args[2], "states");
  for (Py_ssize_t i = 0; i < params.size(); ++i) {
    Step step;
    if (!read_to_update(params[i], !hooks.empty(), step)) continue;
    if (i >= states.size()) fail(PyExc_ValueError, "states: shorter than params");
    read_states(states[i], step);
    check_step(rule, step, false);
    for (const auto& t : step.states) here = here && t.device() == step.x.device();
    steps.push_back(std::move(step));
    PyVariable* v = as_variable(params[i]);
    if (v->array || v->grad_var) variables.push_back(v);  // others need no copying back
  }
  if (!here) Py_RETURN_FALSE;
  if (hooks.empty()) {
    run_steps(rule, steps, hypers);
  } else {
    run_kernels(count_elements(steps), [&] { optim::apply_hooked(rule, steps, hypers.data(), hooks); });
    written(steps, true);
  }
  write_back(variables, true, !hooks.empty());
  Py_RETURN_TRUE;
}

void optim_change_grads(PyObject*, PyObject* const* args, Py_ssize_t n) {
  const Rule& rule = parse_rule(args[0]);
  if (rule.states) fail(PyExc_ValueError, "rule: %s has states", rule.name);
  const auto hypers = parse_hypers(args[2], rule);
  c10::SmallVector<Step, 16> steps;
  const Gradients g(args[1]);
  for (size_t k = 0; k < g.tensors.size(); ++k) {
    Store* store = store_of(reinterpret_cast<PyObject*>(g.variables[k]));
    steps.push_back({g.tensors[k], store ? read_single(*store->data) : tensor_of(g.variables[k]), {}, {}});
    check_step(rule, steps.back());
  }
  run_steps(rule, steps, hypers);
  write_back(g.variables, false, true);
}

void optim_clip(PyObject*, PyObject* const* args, Py_ssize_t n) {
  const double threshold = number(args[1], "threshold");
  const Gradients gs(args[0]);
  run_kernels(count_elements(gs.tensors),
              [&] { (args[2] == Py_True ? optim::clip_norm : optim::clip_norms)(gs.tensors, threshold); });
  for (const at::Tensor& g : gs.tensors) bump_version(g);
  write_back(gs.variables, false, true);
}

PyObject* list_of_indexes(c10::ArrayRef<Py_ssize_t> indexes) {
  return list_of(indexes.size(), [&](size_t k) { return PyLong_FromSsize_t(indexes[k]); }).release();
}

PyObject* optim_special(PyObject*, PyObject* const* args, Py_ssize_t n) {
  c10::SmallVector<at::Tensor, 16> gradients;
  c10::SmallVector<Py_ssize_t, 16> places, found;
  const auto gradient = [](PyObject* o) -> at::Tensor {
    if (is_tensor(o)) return unwrap_tensor(o, "params");
    if (Store* s = store_of(o)) return s->grad->zeroing ? at::Tensor() : s->grad->read();
    return gradient_of(expect_variable(o, "params"), false);
  };
  const Items params(args[0], "params");
  for (Py_ssize_t i = 0; i < params.size(); ++i) {
    at::Tensor g = gradient(params[i]);
    if (!g.defined()) continue;
    gradients.push_back(std::move(g));
    places.push_back(i);
  }
  run_kernels(count_elements(gradients), [&] {
    for (const size_t k : optim::special(gradients, args[1] == Py_True, args[2] == Py_True)) found.push_back(places[k]);
  });
  return list_of_indexes(found);
}

PyObject* optim_without_grad(PyObject*, PyObject* params) {
  List found;
  for (PyObject* o : Items(params, "params")) {
    PyVariable* v = expect_variable(o, "params");
    if (v->v.data.defined() && !v->v.grad.defined()) found.add(Py_NewRef(o));
  }
  return PyList_AsTuple(found.get());
}

Store& expect_store(PyObject* o) {
  if (Store* s = store_of(o)) return *s;
  fail(PyExc_TypeError, "params: expected nnabla's Variables, got %s", Py_TYPE(o)->tp_name);
}

void solver_zero_grad(PyObject*, PyObject* params) {
  for (PyObject* o : Items(params, "params")) expect_store(o).grad->fill(0);
}

PyObject* solver_live(PyObject*, PyObject* o) {
  const Items params(o, "params");
  c10::SmallVector<Py_ssize_t, 16> live;
  for (Py_ssize_t i = 0; i < params.size(); ++i)
    if (!expect_store(params[i]).grad->zeroing) live.push_back(i);
  if (static_cast<Py_ssize_t>(live.size()) == params.size()) Py_RETURN_NONE;
  return list_of_indexes(live);
}

PyObject* solver_tensors(PyObject*, PyObject* const* args, Py_ssize_t n) {
  const Items params(args[0], "params");
  const auto tensor = [&](size_t i) {
    Store& store = expect_store(params[i]);
    return wrap_tensor(write_single(args[1] == Py_True ? *store.grad : *store.data));
  };
  return list_of(params.size(), tensor).release();
}

}  // namespace

PyMethodDef parameter_methods[] = {
    {"optim_update", FAST(optim_update, 4, 5),
     "optim_update(rule, params, states, hypers, hooks=()): one step of an update rule, in place, after hooks on the "
     "gradients; returns False without doing anything if a state is on another device. `states` has a sequence of "
     "tensors per parameter; those without data or gradient are skipped."},
    {"optim_change_grads", FAST(optim_change_grads, 3),
     "optim_change_grads(rule, params, hypers): changes gradients in place, by a rule that reads the parameter."},
    {"optim_clip", FAST(optim_clip, 3),
     "optim_clip(params, threshold, together): scales gradients so that their common norm, or the norm of each, is at "
     "most `threshold`."},
    {"optim_special", FAST(optim_special, 3),
     "optim_special(params, inf, nan): indexes of the gradients, or tensors, that have an infinite value (inf) or a "
     "NaN (nan)."},
    {"optim_without_grad", guard<optim_without_grad>, METH_O,
     "optim_without_grad(params): a tuple of the parameters that have data but no gradient."},
    {"solver_zero_grad", guard<solver_zero_grad>, METH_O, "solver_zero_grad(params): marks the gradients as zero."},
    {"solver_live", guard<solver_live>, METH_O,
     "solver_live(params): indices of the parameters whose gradient is not marked as zero; None if that are all."},
    {"solver_tensors", FAST(solver_tensors, 2), "solver_tensors(params, grads): data or gradients, for writing."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace cg::py
