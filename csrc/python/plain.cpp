// Calls with plain arguments: the checks that a frontend's function makes before its op runs, or several ops in one
// call. Each of these functions reports by False, None or NotImplemented that the arguments are not plain; the caller
// then runs its own code in Python, which converts the arguments or raises the original's error.
#include "core/postponed.h"
#include "kernels/trace.h"
#include "python/deferred.h"

namespace cg::py {
namespace {

// ---- layers of nnabla -----------------------------------------------------------------------------------------------
PyObject* inner_scope(PyObject* scope, PyObject* name) {
  if (!PyODict_CheckExact(scope) || !PyUnicode_CheckExact(name) ||
      PyUnicode_FindChar(name, '/', 0, PyUnicode_GET_LENGTH(name), 1) != -1)
    return nullptr;
  PyObject* const found = PyDict_GetItemWithError(scope, name);
  if (!found && PyErr_Occurred()) throw PyError();
  return found && PyODict_CheckExact(found) ? found : nullptr;
}

// labels_fit(x, labels): whether x is a matrix, and labels are a column with a number for each of its rows
PyObject* labels_fit(PyObject*, PyObject* const* args, Py_ssize_t) {
  for (int i = 0; i < 2; ++i)
    if (!PyObject_TypeCheck(args[i], &DeferredVariableType)) Py_RETURN_FALSE;
  const at::IntArrayRef x = node_of_object(args[0]).sizes, labels = node_of_object(args[1]).sizes;
  return PyBool_FromLong(x.size() == 2 && labels.size() == 2 && labels[0] == x[0] && labels[1] == 1);
}

// call_layer(frontend, module, scope, f, args, kwargs): f(*args, **kwargs) while module.current_scope is the scope
// named by kwargs["name"], which is taken out of kwargs, and in it `scope`. NotImplemented if one of them does not
// exist, or if an argument is another frontend's.
PyObject* call_layer(PyObject*, PyObject* const* args, Py_ssize_t) {
  static PyObject *const current = PyUnicode_InternFromString("current_scope"), *const name =
                                                                                    PyUnicode_InternFromString("name");
  const Frontend* const f = expect_frontend(args[0]);
  PyObject *const module = args[1], *const given = args[4], *const keywords = args[5];
  if (is_foreign(given, f, 3)) Py_RETURN_NOTIMPLEMENTED;
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(keywords, &at, &key, &value);)
    if (is_foreign(value, f, 2)) Py_RETURN_NOTIMPLEMENTED;
  const Obj old = Obj::steal(PyObject_GetAttr(module, current));
  PyObject* scope = old.get();
  PyObject* const own = PyDict_GetItemWithError(keywords, name);
  if (!own && PyErr_Occurred()) throw PyError();
  if (own && own != Py_None) scope = inner_scope(scope, own);
  if (scope) scope = inner_scope(scope, args[2]);
  if (!scope) Py_RETURN_NOTIMPLEMENTED;
  const Obj inner = Obj::borrow(scope);
  if (own && PyDict_DelItem(keywords, name) < 0) throw PyError();
  if (PyObject_SetAttr(module, current, inner.get()) < 0) throw PyError();
  PyObject* const y = PyObject_Call(args[3], given, keywords);
  PyObject *type, *error, *trace;
  PyErr_Fetch(&type, &error, &trace);
  Obj result;
  if (y) result = Obj::steal(y);
  if (PyObject_SetAttr(module, current, old.get()) < 0) {
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(trace);
    throw PyError();
  }
  PyErr_Restore(type, error, trace);
  return result.release();
}

// ---- several ops in one call ----------------------------------------------------------------------------------------
struct Step {
  const OpInfo* op;
  c10::SmallVector<size_t, 4> inputs;       // numbers of values
  std::vector<std::pair<size_t, Obj>> set;  // indices and values of parameters
  Obj spec, arguments;                      // the frontend's description of the function; null: none
};
struct Chain {
  Frontend* frontend;
  size_t inputs = 0;
  std::vector<Step> steps;
  c10::SmallVector<size_t, 4> outputs;
};
constexpr const char* kChain = "compatgrad.chain";

size_t number(PyObject* o) {
  const size_t n = PyLong_AsSize_t(o);
  if (n == static_cast<size_t>(-1) && PyErr_Occurred()) throw PyError();
  return n;
}

// chain(frontend, inputs, steps, outputs): a chain of ops for `run_chain`. inputs: their number. steps: tuples (op,
// numbers of its inputs, dict of its parameters, spec, arguments); the values are numbered: the inputs, then the
// outputs of each step. outputs: the numbers of the results.
PyObject* make_chain(PyObject*, PyObject* const* args, Py_ssize_t) {
  auto chain = std::make_unique<Chain>();
  chain->frontend = expect_frontend(args[0]);
  chain->inputs = number(args[1]);
  const Items steps(args[2], "steps"), outputs(args[3], "outputs");
  for (PyObject* o : steps) {
    const char* op;
    PyObject *inputs, *params, *spec, *arguments, *key, *value;
    if (!PyArg_ParseTuple(o, "sOO!OO", &op, &inputs, &PyDict_Type, &params, &spec, &arguments)) throw PyError();
    Step step;
    step.op = find_op(op);
    if (!step.op) fail(PyExc_ValueError, "chain: there is no op '%s'", op);
    const Items numbers(inputs, "inputs");
    for (PyObject* n : numbers) step.inputs.push_back(number(n));
    for (Py_ssize_t at = 0; PyDict_Next(params, &at, &key, &value);) {
      size_t k = 0;
      while (k < step.op->params.size() && PyUnicode_CompareWithASCIIString(key, step.op->params[k].name) != 0) ++k;
      if (k == step.op->params.size()) fail(PyExc_TypeError, "chain: %s has no parameter %R", op, key);
      step.set.emplace_back(k, Obj::borrow(value));
    }
    if (spec != Py_None) {
      step.spec = Obj::borrow(spec);
      step.arguments = Obj::borrow(arguments);
    }
    chain->steps.push_back(std::move(step));
  }
  for (PyObject* n : outputs) chain->outputs.push_back(number(n));
  PyObject* capsule = PyCapsule_New(chain.get(), kChain,
                                    [](PyObject* o) { delete static_cast<Chain*>(PyCapsule_GetPointer(o, kChain)); });
  if (capsule) chain.release();
  return capsule;
}

using Values = c10::SmallVector<Ref<VariableNode>, 16>;

const Ref<VariableNode>& value(const Values& values, size_t n) {
  if (n >= values.size()) throw std::out_of_range("chain: there is no value " + std::to_string(n));
  return values[n];
}

// Appends the results of a step to the values.
void run_step(const Step& step, const Chain& chain, Values& values, PyObject* context) {
  Vars in;
  for (const size_t n : step.inputs) in.push_back(deferred_var(value(values, n), nullptr, 0, true));
  const Ref<FunctionNode> node(step.op->create());
  for (const auto& [k, given] : step.set)
    parse_param(step.op->params[k], given.get(), step.op->params[k].address(node->params()));
  Vars ys = apply_for(*node, in, chain.frontend);
  if (step.spec && node->recorded && node->call && !node->call->info)
    node->call->info = Obj::steal(PyTuple_Pack(3, step.spec.get(), step.arguments.get(), context)).release();
  for (Var& y : ys) values.push_back(std::move(y.node));
}

// run_chain(chain, context, *inputs): the results of a chain of ops on nnabla's Variables, one or a tuple. None if an
// input is not such a Variable, or an op refuses its inputs. The values in between get no Python objects; what a
// program would free by dropping theirs is freed.
PyObject* run_chain(PyObject*, PyObject* const* args, Py_ssize_t n) {
  auto* const chain = static_cast<const Chain*>(PyCapsule_GetPointer(args[0], kChain));
  if (!chain) throw PyError();
  if (static_cast<size_t>(n) != chain->inputs + 2) fail(PyExc_TypeError, "run_chain: %zd inputs", n - 2);
  if (mode(Mode::plain) || kernels::traced()) Py_RETURN_NONE;  // a trace needs each function as the program calls it
  Values values;
  for (Py_ssize_t i = 2; i < n; ++i) {
    if (!PyObject_TypeCheck(args[i], &DeferredVariableType) || as_variable(args[i])->frontend != chain->frontend)
      Py_RETURN_NONE;
    values.emplace_back(&node_of_object(args[i]));
  }
  const Setting postpones(may_postpone, 0);
  try {
    for (const Step& step : chain->steps) run_step(step, *chain, values, args[1]);
  } catch (const c10::Error&) {
    Py_RETURN_NONE;
  }
  const auto result = [&](size_t k) { return variable_of_node(value(values, chain->outputs[k]), chain->frontend); };
  Obj results = chain->outputs.size() == 1 ? Obj::steal(result(0)) : tuple_of(chain->outputs.size(), result);
  for (size_t k = chain->inputs; k < values.size(); ++k) {
    const Ref<VariableNode> node = std::move(values[k]);
    if (node->variable || node->refs == 1) continue;
    release_unread(*node);
  }
  return results.release();
}

}  // namespace

PyMethodDef plain_functions[] = {{"call_layer", FAST(call_layer, 6), nullptr},
                                 {"labels_fit", FAST(labels_fit, 2), nullptr},
                                 {"chain", FAST(make_chain, 4), nullptr},
                                 {"run_chain", FAST(run_chain, 2, 64), nullptr},
                                 {nullptr, nullptr, 0, nullptr}};

}  // namespace cg::py
