// Update rules and gradient hooks on lists of Variables: one call per optimizer step.
#include "python/optim.h"

namespace cg::py {

using optim::Rule;

const Rule& parse_rule(PyObject* o) {
  const char* name = PyUnicode_Check(o) ? PyUnicode_AsUTF8(o) : nullptr;
  const Rule* rule = name ? optim::find_rule(name) : nullptr;
  if (!rule) fail(PyExc_ValueError, "rule: unknown update rule %R", o);
  return *rule;
}

Hypers parse_hypers(PyObject* o, const Rule& rule) {
  Hypers h{};
  if (!PyTuple_Check(o) || PyTuple_GET_SIZE(o) != rule.hypers)
    fail(PyExc_ValueError, "hypers: %s takes a tuple of %d numbers", rule.name, rule.hypers);
  for (int k = 0; k < rule.hypers; ++k) {
    h[k] = PyFloat_AsDouble(PyTuple_GET_ITEM(o, k));
    if (h[k] == -1 && PyErr_Occurred()) throw PyError();
  }
  return h;
}

void check_step(const Rule& rule, const Step& s, bool states_here) {
  const auto check = [&](const at::Tensor& t, const char* what) {
    const at::ScalarType type = t.scalar_type();
    const bool real = type == at::kFloat || type == at::kDouble || type == at::kHalf || type == at::kBFloat16;
    if (!real || t.is_nested() || t.layout() != at::kStrided)
      fail(PyExc_TypeError, "%s: the %s must be a dense tensor of float16, bfloat16, float32 or float64, not %s of %s",
           rule.name, what,
           t.is_nested()                ? "a nested tensor"
           : t.layout() == at::kStrided ? "one"
                                        : "a sparse tensor",
           c10::toString(type));
  };
  const auto check_device = [&](const at::Tensor& t, const char* what) {
    if (t.device() != s.x.device())
      fail(PyExc_ValueError, "%s: the %s is on %s, the parameter on %s", rule.name, what, t.device().str().c_str(),
           s.x.device().str().c_str());
  };
  if (s.states.size() != static_cast<size_t>(rule.states))
    fail(PyExc_ValueError, "states: %s needs %d per parameter, got %zu", rule.name, rule.states, s.states.size());
  check(s.x, "parameter");
  check(s.y, "gradient");
  check_device(s.y, "gradient");
  bool same = s.y.sizes() == s.x.sizes();
  for (const auto& t : s.states) {
    check(t, "state");
    if (states_here) check_device(t, "state");
    same = same && t.sizes() == s.x.sizes();
  }
  if (!same) fail(PyExc_ValueError, "%s: parameter, gradient and state differ in shape", rule.name);
}

int64_t count_elements(c10::ArrayRef<Step> steps) {
  int64_t elements = 0;
  for (const Step& s : steps) elements += s.x.numel();
  return elements;
}

void run_steps(const Rule& rule, c10::ArrayRef<Step> steps, const Hypers& hypers) {
  run_kernels(count_elements(steps), [&] { optim::apply(rule, steps, hypers.data()); });
  written(steps);
}

namespace {

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

// An array that torch cannot alias got a copy as tensor: what was computed goes back into the array.
void write_back(PyVariable* v) {
  if (!v->array || v->array_of || !v->v.data.defined()) return;
  static PyObject* copyto =
      Obj::steal(PyObject_GetAttrString(Obj::steal(PyImport_ImportModule("numpy")).get(), "copyto")).release();
  Obj result = Obj::steal(array_of_tensor(v->v.data));
  Obj::steal(PyObject_CallFunctionObjArgs(copyto, v->array, result.get(), nullptr));
}

void write_back_gradients(c10::ArrayRef<PyVariable*> variables) {
  for (PyVariable* v : variables)
    if (v->grad_var) write_back(as_variable(v->grad_var));
}

// A sequence of tuples: a rule that changes gradients, or "clip_norm", and its numbers.
c10::SmallVector<optim::Hook, 4> parse_hooks(PyObject* o) {
  c10::SmallVector<optim::Hook, 4> hooks;
  for_each_item(o, "hooks", [&](Py_ssize_t, PyObject* item) {
    if (!PyTuple_Check(item) || !PyTuple_GET_SIZE(item)) fail(PyExc_TypeError, "hooks: expected tuples");
    PyObject* name = PyTuple_GET_ITEM(item, 0);
    const bool norm = PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, "clip_norm") == 0;
    optim::Hook hook{norm ? nullptr : &parse_rule(name), {}};
    const Py_ssize_t count = norm ? 1 : hook.rule->hypers;
    if (!norm && (hook.rule->states || count > 2)) fail(PyExc_ValueError, "hooks: %s is none", hook.rule->name);
    if (PyTuple_GET_SIZE(item) != 1 + count) fail(PyExc_ValueError, "hooks: %R takes %zd numbers", name, count);
    for (Py_ssize_t k = 0; k < count; ++k) {
      hook.h[k] = PyFloat_AsDouble(PyTuple_GET_ITEM(item, 1 + k));
      if (hook.h[k] == -1 && PyErr_Occurred()) throw PyError();
    }
    hooks.push_back(hook);
  });
  return hooks;
}

// optim_update(rule, params, states, hypers, hooks=()): `states` has one tuple of tensors per parameter. Parameters
// without data or gradient are skipped.
PyObject* optim_update(PyObject*, PyObject* const* args, Py_ssize_t n) {
  const Rule& rule = parse_rule(args[0]);
  const auto hypers = parse_hypers(args[3], rule);
  c10::SmallVector<optim::Hook, 4> hooks;
  if (n == 5) hooks = parse_hooks(args[4]);
  c10::SmallVector<Step, 16> steps;
  c10::SmallVector<PyVariable*, 16> variables;
  bool here = true;
  if (!PyList_Check(args[2]) && !PyTuple_Check(args[2])) fail(PyExc_TypeError, "states: expected a list or a tuple");
  for_each_item(args[1], "params", [&](Py_ssize_t i, PyObject* o) {
    PyVariable* v = parse_variable(o);
    Step step{tensor_of(v), gradient_of(v, !hooks.empty()), {}, {}};
    if (!step.x.defined() || !step.y.defined()) return;
    if (i >= PySequence_Fast_GET_SIZE(args[2])) fail(PyExc_ValueError, "states: shorter than params");
    for_each_item(PySequence_Fast_GET_ITEM(args[2], i), "states", [&](Py_ssize_t, PyObject* s) {
      if (!is_tensor(s)) fail(PyExc_TypeError, "states: expected tensors, got %s", Py_TYPE(s)->tp_name);
      step.states.push_back(unwrap_tensor(s, "states"));
    });
    check_step(rule, step, false);
    for (const auto& t : step.states) here = here && t.device() == step.x.device();
    steps.push_back(std::move(step));
    variables.push_back(v);
  });
  if (!here) Py_RETURN_FALSE;
  if (hooks.empty()) {
    run_steps(rule, steps, hypers);
  } else {
    run_kernels(count_elements(steps), [&] { optim::apply_hooked(rule, steps, hypers.data(), hooks); });
    written(steps);
    write_back_gradients(variables);
  }
  for (PyVariable* v : variables) write_back(v);
  Py_RETURN_TRUE;
}

c10::SmallVector<PyVariable*, 16> with_gradient(PyObject* params) {
  c10::SmallVector<PyVariable*, 16> found;
  for_each_item(params, "params", [&](Py_ssize_t, PyObject* o) {
    PyVariable* v = parse_variable(o);
    if (tensor_of(v).defined() && gradient_of(v, true).defined()) found.push_back(v);
  });
  return found;
}

// optim_change_grads(rule, params, hypers): rules that change a gradient with its parameter.
PyObject* optim_change_grads(PyObject*, PyObject* const* args, Py_ssize_t n) {
  const Rule& rule = parse_rule(args[0]);
  if (rule.states) fail(PyExc_ValueError, "rule: %s has states", rule.name);
  const auto hypers = parse_hypers(args[2], rule);
  const auto variables = with_gradient(args[1]);
  c10::SmallVector<Step, 16> steps;
  for (PyVariable* v : variables) {
    steps.push_back({v->v.grad.data, tensor_of(v), {}, {}});
    check_step(rule, steps.back());
  }
  run_steps(rule, steps, hypers);
  write_back_gradients(variables);
  Py_RETURN_NONE;
}

// optim_without_grad(params): a tuple of those that have data but no gradient.
PyObject* optim_without_grad(PyObject*, PyObject* params) {
  c10::SmallVector<PyObject*, 16> found;
  for_each_item(params, "params", [&](Py_ssize_t, PyObject* o) {
    PyVariable* v = parse_variable(o);
    if (v->v.data.defined() && !v->v.grad.defined()) found.push_back(o);
  });
  Obj result = Obj::steal(PyTuple_New(found.size()));
  for (size_t i = 0; i < found.size(); ++i) PyTuple_SET_ITEM(result.get(), i, Py_NewRef(found[i]));
  return result.release();
}

// optim_not_finite(params): the indexes of those whose gradient has an infinite value or a NaN; of a tensor, itself.
PyObject* optim_not_finite(PyObject*, PyObject* params) {
  c10::SmallVector<at::Tensor, 16> gradients;
  c10::SmallVector<Py_ssize_t, 16> places;
  int64_t elements = 0;
  for_each_item(params, "params", [&](Py_ssize_t i, PyObject* o) {
    const at::Tensor g = is_tensor(o) ? unwrap_tensor(o, "params") : gradient_of(parse_variable(o), false);
    if (!g.defined()) return;
    gradients.push_back(g);
    places.push_back(i);
    elements += g.numel();
  });
  std::vector<size_t> found;
  run_kernels(elements, [&] { found = optim::not_finite(gradients); });
  Obj result = Obj::steal(PyList_New(found.size()));
  for (size_t k = 0; k < found.size(); ++k)
    PyList_SET_ITEM(result.get(), k, Obj::steal(PyLong_FromSsize_t(places[found[k]])).release());
  return result.release();
}

// optim_rules(): a dict of name to (number of states, number of hypers).
PyObject* optim_rules(PyObject*, PyObject*) {
  Obj all = Obj::steal(PyDict_New());
  for (const Rule& rule : optim::rules()) {
    Obj counts = Obj::steal(Py_BuildValue("(ii)", rule.states, rule.hypers));
    if (PyDict_SetItemString(all.get(), rule.name, counts.get()) < 0) throw PyError();
  }
  return all.release();
}

// optim_clip_norm(params, threshold)
PyObject* optim_clip_norm(PyObject*, PyObject* const* args, Py_ssize_t n) {
  const double threshold = PyFloat_AsDouble(args[1]);
  if (threshold == -1 && PyErr_Occurred()) throw PyError();
  const auto variables = with_gradient(args[0]);
  c10::SmallVector<at::Tensor, 16> gradients;
  int64_t elements = 0;
  for (PyVariable* v : variables) {
    gradients.push_back(v->v.grad.data);
    elements += gradients.back().numel();
  }
  run_kernels(elements, [&] { optim::clip_norm(gradients, threshold); });
  for (const at::Tensor& g : gradients) bump_version(g);
  write_back_gradients(variables);
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"optim_update", FAST(optim_update, 4, 5),
     "optim_update(rule, params, states, hypers, hooks=()): one step of an update rule, in place, after hooks on the "
     "gradients."},
    {"optim_change_grads", FAST(optim_change_grads, 3),
     "optim_change_grads(rule, params, hypers): changes gradients in place."},
    {"optim_clip_norm", FAST(optim_clip_norm, 2),
     "optim_clip_norm(params, threshold): scales gradients so that their common norm is at most `threshold`."},
    {"optim_not_finite", guard<optim_not_finite>, METH_O,
     "optim_not_finite(params): indexes of those whose gradient has an infinite value or a NaN, or of such tensors."},
    {"optim_rules", guard<optim_rules>, METH_NOARGS,
     "optim_rules(): the update rules, a dict of name to (number of states, number of hypers)."},
    {"optim_without_grad", guard<optim_without_grad>, METH_O,
     "optim_without_grad(params): a tuple of those that have data but no gradient."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void init_optim(PyObject* module) {
  if (PyModule_AddFunctions(module, methods) < 0) throw PyError();
  add_solver(module);
  add_mx_optim(module);
}

}  // namespace cg::py
