// Update rules on lists of arrays.
#include "python/optim.h"

#include <algorithm>

namespace cg::py {

const Rule& parse_rule(PyObject* o) {
  const char* name = PyUnicode_Check(o) ? PyUnicode_AsUTF8(o) : nullptr;
  const Rule* rule = name ? optim::find_rule(name) : nullptr;
  if (!rule) fail(PyExc_ValueError, "rule: unknown update rule %R", o);
  return *rule;
}

Hypers parse_hypers(PyObject* o, const Rule& rule) {
  Hypers h{};
  if (!PyTuple_Check(o) || PyTuple_GET_SIZE(o) != rule.hypers)
    fail(PyExc_ValueError, "hypers: %s takes a tuple of %d numbers, got %R", rule.name, rule.hypers, o);
  for (int k = 0; k < rule.hypers; ++k) h[k] = number(PyTuple_GET_ITEM(o, k), "hypers");
  return h;
}

at::Tensor parse_tensor(PyObject* o, const char* name) {
  if (is_tensor(o)) return unwrap_tensor(o, name);
  if (!is_variable(o)) fail(PyExc_TypeError, "%s: expected tensors, got %s", name, Py_TYPE(o)->tp_name);
  const at::Tensor& t = tensor_of(as_variable(o));
  if (!t.defined()) fail(PyExc_ValueError, "%s: an array has no data", name);
  return t;
}

void check_step(const Rule& rule, const Step& s, bool states_here) {
  const auto check = [&](const at::Tensor& t, const char* what) {
    if (&t != &s.y) expect_writable(t);
    const at::ScalarType type = t.scalar_type();
    const bool real = type == at::kFloat || type == at::kDouble || type == at::kHalf || type == at::kBFloat16;
    const char* kind = t.is_nested() ? "a nested tensor" : t.layout() == at::kStrided ? "one" : "a sparse tensor";
    if (!real || t.is_nested() || t.layout() != at::kStrided)
      fail(PyExc_TypeError, "%s: the %s must be a dense tensor of float16, bfloat16, float32 or float64, not %s of %s",
           rule.name, what, kind, c10::toString(type));
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
  if (same) return;
  std::string shapes = c10::str(s.x.sizes(), ", ", s.y.sizes());
  for (const auto& t : s.states) shapes += c10::str(", ", t.sizes());
  fail(PyExc_ValueError, "%s: parameter, gradient and state differ in shape: %s", rule.name, shapes.c_str());
}

void read_states(PyObject* o, Step& step) {
  const auto read = [&](PyObject* state) {
    if (is_tensor(state)) return step.states.push_back(unwrap_tensor(state, "states"));
    Store* store = store_of(state);
    if (!store) return step.states.push_back(parse_tensor(state, "states"));
    Array& a = *store->data;
    if (write_single(a).device() != step.x.device()) a.put(a.tensor.to(step.x.device()));
    step.states.push_back(a.tensor);
  };
  if (o == Py_None) return;
  if (!PyTuple_Check(o) && !PyList_Check(o)) return read(o);
  for (PyObject* state : Items(o, "states")) read(state);
}

void written(c10::ArrayRef<Step> steps, bool gradients) {
  for (const Step& s : steps) {
    bump_version(s.x);
    if (gradients) bump_version(s.y);
    if (s.copy.defined()) bump_version(s.copy);
    for (const at::Tensor& t : s.states) bump_version(t);
  }
}

void run_steps(const Rule& rule, c10::ArrayRef<Step> steps, const Hypers& hypers) {
  run_kernels(count_elements(steps), [&] { optim::apply(rule, steps, hypers.data()); });
  written(steps);
}

namespace {

Hypers parse(PyObject* o, const Rule& rule, bool rounds) {
  Hypers h = parse_hypers(o, rule);
  if (rounds)
    for (double& x : h) x = static_cast<float>(x);
  return h;
}

// Steps for one call: their hyperparameters are equal except for those in `rates` and `decays`.
struct Group {
  Hypers hypers;
  c10::SmallVector<Step, 16> steps;
  std::vector<double> rates, decays;  // for each step, if they differ from `hypers`
};

void run_group(const Rule& rule, Group& group, bool mixed, const at::Tensor& rates, const at::Tensor& decays) {
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

void optim_step(PyObject*, PyObject* const* args, Py_ssize_t n) {
  const Rule& rule = parse_rule(args[0]);
  const Items xs(args[1], "xs");
  const auto per_x = [&](PyObject* o, const char* name) {
    Items items(o, name);
    if (items.size() != xs.size()) fail(PyExc_ValueError, "%s: %zd for %zd xs", name, items.size(), xs.size());
    return items;
  };
  const Items ys = per_x(args[2], "ys"), states = args[3] == Py_None ? Items() : per_x(args[3], "states"),
              copies = n < 7 || args[6] == Py_None ? Items() : per_x(args[6], "copies");
  at::Tensor rates, decays;
  if (n > 7 && args[7] != Py_None) {
    PyObject *first, *second;
    if (!PyArg_ParseTuple(args[7], "OO", &first, &second)) throw PyError();
    rates = parse_tensor(first, "rates");
    decays = parse_tensor(second, "rates");
    if (rates.numel() != xs.size() || decays.numel() != xs.size())
      fail(PyExc_ValueError, "rates: expected %zd numbers each", xs.size());
  }
  const bool each = PyList_Check(args[4]), rounds = n > 5 && args[5] == Py_True;
  if (each && (rates.defined() || PyList_GET_SIZE(args[4]) != xs.size()))
    fail(PyExc_ValueError, "hypers: expected one tuple per x, %zd, got %zd", xs.size(), PyList_GET_SIZE(args[4]));
  c10::SmallVector<Group, 1> groups;
  if (!each) groups.push_back({parse(args[4], rule, rounds), {}, {}, {}});
  for (Py_ssize_t i = 0; i < xs.size(); ++i) {
    Step step{parse_tensor(xs[i], "xs"), parse_tensor(ys[i], "ys"), {}, {}};
    if (states) read_states(states[i], step);
    check_step(rule, step);
    if (copies && copies[i] != Py_None) {
      step.copy = parse_tensor(copies[i], "copies");
      if (step.copy.sizes() != step.x.sizes()) fail(PyExc_ValueError, "copies: expected the shape of x");
    }
    Group* group = groups.begin();
    if (each) {
      const Hypers hypers = parse(PyList_GET_ITEM(args[4], i), rule, rounds);
      group = std::find_if(groups.begin(), groups.end(), [&](const Group& g) {
        return std::equal(g.hypers.begin() + 2 * rule.rated, g.hypers.end(), hypers.begin() + 2 * rule.rated);
      });
      if (group == groups.end()) group = &groups.emplace_back(Group{hypers, {}, {}, {}});
      group->rates.push_back(hypers[0]);
      group->decays.push_back(hypers[1]);
    }
    group->steps.push_back(std::move(step));
  }
  for (Group& group : groups) run_group(rule, group, static_cast<bool>(copies), rates, decays);
}

std::vector<at::Tensor> read_arrays(PyObject* list) {
  std::vector<at::Tensor> tensors;
  for (PyObject* o : Items(list, "arrays")) tensors.push_back(parse_tensor(o, "arrays"));
  return tensors;
}

PyObject* optim_sums(PyObject*, PyObject* const* args, Py_ssize_t n) {
  const auto tensors = read_arrays(args[0]);
  if (tensors.empty()) fail(PyExc_ValueError, "arrays: the list is empty");
  at::Tensor found;
  run_kernels(count_elements(tensors), [&] { found = optim::reduce_each(tensors, args[1] == Py_True); });
  return wrap_tensor(found);
}

void optim_scale(PyObject*, PyObject* const* args, Py_ssize_t n) {
  const auto tensors = read_arrays(args[0]);
  const at::Tensor factor = parse_tensor(args[1], "factor");
  run_kernels(count_elements(tensors), [&] { optim::scale_by(tensors, factor); });
  for (const at::Tensor& t : tensors) bump_version(t);
}

PyObject* optim_rules(PyObject*, PyObject*) {
  Obj all = Obj::steal(PyDict_New());
  for (const Rule& rule : optim::rules()) {
    Obj counts = Obj::steal(Py_BuildValue("(ii)", rule.states, rule.hypers));
    if (PyDict_SetItemString(all.get(), rule.name, counts.get()) < 0) throw PyError();
  }
  return all.release();
}

}  // namespace

PyMethodDef optim_methods[] = {
    {"optim_step", FAST(optim_step, 5, 8),
     "optim_step(rule, xs, ys, states, hypers, rounds=False, copies=None, rates=None): one step of an update rule, in "
     "place. `states`: for each x an array, a sequence of arrays or None; or None. `hypers`: a tuple of "
     "hyperparameters "
     "for all, or a list with a tuple per x; `rounds`: round them to single precision. `copies`: for each x its copy "
     "in half precision or None; gradients may have the type of the copies. `rates`: two tensors with the first and "
     "the "
     "second hyperparameter of each x."},
    {"optim_sums", FAST(optim_sums, 2),
     "optim_sums(arrays, not_finite): for each array its sum of squares, or the number of its elements that are "
     "infinite or NaN, in float64."},
    {"optim_scale", FAST(optim_scale, 2),
     "optim_scale(arrays, factor): multiplies arrays of one type on one device, in place, by a float64 tensor with one "
     "element on that device."},
    {"optim_rules", guard<optim_rules>, METH_NOARGS,
     "optim_rules(): the update rules, a dict of name to (number of states, number of hypers)."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace cg::py
