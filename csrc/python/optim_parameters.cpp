// Update rules, and changes of gradients, on lists of parameters: Chainer's with their arrays, nnabla's with a Store.
//
// nnabla's parameters whose gradient is `zeroing`, as solver_zero_grad leaves it, are passed over by all but
// optim_update.
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

using Variables = c10::SmallVector<PyObject*, 16>;

PyVariable* parse_variable(PyObject* o) {
  if (!is_variable(o)) fail(PyExc_TypeError, "params: expected Variables, got %s", Py_TYPE(o)->tp_name);
  return as_variable(o);
}

// The gradient, undefined where there is none. A broadcast one, whose elements share memory, becomes a tensor of its
// own when it is to be written.
const at::Tensor& gradient_of(PyVariable* v, bool writes) {
  const at::Tensor& g = gradient_tensor(v);
  if (!writes || !g.defined()) return g;
  for (int64_t d = 0; d < g.dim(); ++d) {
    if (g.stride(d) == 0 && g.size(d) > 1) {
      Py_CLEAR(v->grad_var);
      v->v.grad = Var(g.contiguous());
      break;
    }
  }
  return v->v.grad.data;
}

struct Parameter {
  at::Tensor data, gradient;
  bool defined() const { return data.defined() && gradient.defined(); }
};
Parameter read_to_update(PyObject* o, bool changes_gradient) {
  if (Store* s = store_of(o)) return {write_single(*s->data), read_single(*s->grad)};
  PyVariable* v = parse_variable(o);
  return {tensor_of(v), gradient_of(v, changes_gradient)};
}
Parameter read_to_change(PyObject* o) {
  Store* s = store_of(o);
  if (!s) return read_to_update(o, true);
  if (s->grad->zeroing) return {};
  s->grad->move(s->data->device);
  return {read_single(*s->data), write_single(*s->grad)};
}

// An array that torch cannot alias got a copy as tensor: what was computed goes back into the array.
void write_back(PyVariable* v) {
  if (!v->array || v->array_of || !v->v.data.defined()) return;
  static PyObject* copyto =
      Obj::steal(PyObject_GetAttrString(Obj::steal(PyImport_ImportModule("numpy")).get(), "copyto")).release();
  Obj result = Obj::steal(array_of_tensor(v->v.data));
  Obj::steal(PyObject_CallFunctionObjArgs(copyto, v->array, result.get(), nullptr));
}
void write_back(const Variables& variables, bool data, bool gradients) {
  for (PyObject* o : variables) {
    PyVariable* v = as_variable(o);
    if (gradients && v->grad_var) write_back(as_variable(v->grad_var));
    if (data) write_back(v);
  }
}

// A sequence of tuples: a rule that changes gradients, or "clip_norm", and its numbers.
c10::SmallVector<optim::Hook, 4> parse_hooks(PyObject* o) {
  c10::SmallVector<optim::Hook, 4> hooks;
  for_each_item(o, "hooks", [&](Py_ssize_t, PyObject* item) {
    if (!PyTuple_Check(item) || !PyTuple_GET_SIZE(item))
      fail(PyExc_TypeError, "hooks: expected tuples of a name and numbers, got %R", item);
    PyObject* name = PyTuple_GET_ITEM(item, 0);
    const bool norm = PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, "clip_norm") == 0;
    optim::Hook hook{norm ? nullptr : &parse_rule(name), {}};
    const Py_ssize_t count = norm ? 1 : hook.rule->hypers;
    if (!norm && (hook.rule->states || count > 2)) fail(PyExc_ValueError, "hooks: %s is none", hook.rule->name);
    if (PyTuple_GET_SIZE(item) != 1 + count) fail(PyExc_ValueError, "hooks: %R takes %zd numbers", name, count);
    for (Py_ssize_t k = 0; k < count; ++k) hook.h[k] = parse_number(PyTuple_GET_ITEM(item, 1 + k));
    hooks.push_back(hook);
  });
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
  for_each_item(args[2], "states", [](Py_ssize_t, PyObject*) {});
  const Py_ssize_t given = PySequence_Fast_GET_SIZE(args[2]);
  for_each_item(args[1], "params", [&](Py_ssize_t i, PyObject* o) {
    Parameter p = read_to_update(o, !hooks.empty());
    if (!p.defined()) return;
    if (i >= given) fail(PyExc_ValueError, "states: shorter than params");
    Step step{std::move(p.data), std::move(p.gradient), {}, {}};
    read_states(PySequence_Fast_GET_ITEM(args[2], i), step);
    check_step(rule, step, false);
    for (const auto& t : step.states) here = here && t.device() == step.x.device();
    steps.push_back(std::move(step));
    if (as_variable(o)->array || as_variable(o)->grad_var) variables.push_back(o);  // others have nothing to write back
  });
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

PyObject* optim_change_grads(PyObject*, PyObject* const* args, Py_ssize_t n) {
  const Rule& rule = parse_rule(args[0]);
  if (rule.states) fail(PyExc_ValueError, "rule: %s has states", rule.name);
  const auto hypers = parse_hypers(args[2], rule);
  c10::SmallVector<Step, 16> steps;
  Variables variables;
  for_each_item(args[1], "params", [&](Py_ssize_t, PyObject* o) {
    const Parameter p = read_to_change(o);
    if (!p.defined()) return;
    steps.push_back({p.gradient, p.data, {}, {}});
    check_step(rule, steps.back());
    variables.push_back(o);
  });
  run_steps(rule, steps, hypers);
  write_back(variables, false, true);
  Py_RETURN_NONE;
}

PyObject* optim_clip(PyObject*, PyObject* const* args, Py_ssize_t n) {
  const double threshold = parse_number(args[1]);
  c10::SmallVector<at::Tensor, 16> gradients;
  Variables variables;
  for_each_item(args[0], "params", [&](Py_ssize_t, PyObject* o) {
    const Parameter p = read_to_change(o);
    if (!p.defined()) return;
    gradients.push_back(p.gradient);
    variables.push_back(o);
  });
  run_kernels(count_elements(gradients),
              [&] { (args[2] == Py_True ? optim::clip_norm : optim::clip_norms)(gradients, threshold); });
  for (const at::Tensor& g : gradients) bump_version(g);
  write_back(variables, false, true);
  Py_RETURN_NONE;
}

PyObject* list_of_indexes(c10::ArrayRef<Py_ssize_t> indexes) {
  Obj list = Obj::steal(PyList_New(indexes.size()));
  for (size_t k = 0; k < indexes.size(); ++k)
    PyList_SET_ITEM(list.get(), k, Obj::steal(PyLong_FromSsize_t(indexes[k])).release());
  return list.release();
}

PyObject* optim_special(PyObject*, PyObject* const* args, Py_ssize_t n) {
  c10::SmallVector<at::Tensor, 16> gradients;
  c10::SmallVector<Py_ssize_t, 16> places, found;
  for_each_item(args[0], "params", [&](Py_ssize_t i, PyObject* o) {
    Store* s = store_of(o);
    if (s && s->grad->zeroing) return;
    const at::Tensor g = s              ? s->grad->read()
                         : is_tensor(o) ? unwrap_tensor(o, "params")
                                        : gradient_of(parse_variable(o), false);
    if (!g.defined()) return;
    gradients.push_back(g);
    places.push_back(i);
  });
  run_kernels(count_elements(gradients), [&] {
    for (const size_t k : optim::special(gradients, args[1] == Py_True, args[2] == Py_True)) found.push_back(places[k]);
  });
  return list_of_indexes(found);
}

PyObject* optim_without_grad(PyObject*, PyObject* params) {
  Obj list = Obj::steal(PyList_New(0));
  for_each_item(params, "params", [&](Py_ssize_t, PyObject* o) {
    PyVariable* v = parse_variable(o);
    if (v->v.data.defined() && !v->v.grad.defined() && PyList_Append(list.get(), o) < 0) throw PyError();
  });
  return PyList_AsTuple(list.get());
}

Store& expect_store(PyObject* o) {
  if (Store* s = store_of(o)) return *s;
  fail(PyExc_TypeError, "params: expected nnabla's Variables, got %s", Py_TYPE(o)->tp_name);
}

PyObject* solver_zero_grad(PyObject*, PyObject* params) {
  for_each_item(params, "params", [&](Py_ssize_t, PyObject* o) { expect_store(o).grad->fill(0); });
  Py_RETURN_NONE;
}

PyObject* solver_live(PyObject*, PyObject* params) {
  c10::SmallVector<Py_ssize_t, 16> live;
  Py_ssize_t all = 0;
  for_each_item(params, "params", [&](Py_ssize_t i, PyObject* o) {
    ++all;
    if (!expect_store(o).grad->zeroing) live.push_back(i);
  });
  if (static_cast<Py_ssize_t>(live.size()) == all) Py_RETURN_NONE;
  return list_of_indexes(live);
}

PyObject* solver_tensors(PyObject*, PyObject* const* args, Py_ssize_t n) {
  Obj list = Obj::steal(PyList_New(0));
  for_each_item(args[0], "params", [&](Py_ssize_t, PyObject* o) {
    Store& store = expect_store(o);
    Obj tensor = Obj::steal(wrap_tensor(write_single(args[1] == Py_True ? *store.grad : *store.data)));
    if (PyList_Append(list.get(), tensor.get()) < 0) throw PyError();
  });
  return list.release();
}

}  // namespace

PyMethodDef parameter_methods[] = {
    {"optim_update", FAST(optim_update, 4, 5),
     "optim_update(rule, params, states, hypers, hooks=()): one step of an update rule, in place, after hooks on the "
     "gradients; False, and nothing is done, where a state is on another device. `states` has a sequence of tensors "
     "per "
     "parameter; those without data or gradient are skipped."},
    {"optim_change_grads", FAST(optim_change_grads, 3),
     "optim_change_grads(rule, params, hypers): changes gradients in place, by a rule that reads the parameter."},
    {"optim_clip", FAST(optim_clip, 3),
     "optim_clip(params, threshold, together): scales gradients so that the norm of all, or of each, is at most "
     "`threshold`."},
    {"optim_special", FAST(optim_special, 3),
     "optim_special(params, inf, nan): indexes of those whose gradient has an infinite value, a NaN, or either; of "
     "such tensors."},
    {"optim_without_grad", guard<optim_without_grad>, METH_O,
     "optim_without_grad(params): a tuple of those that have data but no gradient."},
    {"solver_zero_grad", guard<solver_zero_grad>, METH_O, "solver_zero_grad(params): marks the gradients as zero."},
    {"solver_live", guard<solver_live>, METH_O,
     "solver_live(params): indices of those whose gradient is not marked as zero; None for all."},
    {"solver_tensors", FAST(solver_tensors, 2), "solver_tensors(params, grads): data or gradients, for writing."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace cg::py
