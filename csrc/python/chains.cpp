#include "python/chains.h"

#include "core/postponed.h"
#include "kernels/trace.h"

namespace cg::py {
namespace {

ChainStep read_step(PyObject* o) {
  const char* op;
  PyObject *inputs, *params, *spec, *arguments, *key, *value;
  if (!PyArg_ParseTuple(o, "sOO!OO", &op, &inputs, &PyDict_Type, &params, &spec, &arguments)) throw PyError();
  ChainStep step;
  step.op = find_op(op);
  if (!step.op) fail(PyExc_ValueError, "chain: there is no op '%s'", op);
  const Items numbers(inputs, "inputs");
  for (PyObject* n : numbers) step.inputs.push_back(integer(n, "inputs"));
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
  return step;
}

// chain(frontend, inputs, steps, outputs, joined=None): a chain of ops for `run_chain`. inputs: their number. steps:
// tuples (op, numbers of its inputs, dict of its parameters, spec, arguments); the values are numbered: the inputs,
// then the outputs of each step. outputs: the numbers of the results. joined: (number of a step, number of its first
// output, a step, numbers of its outputs): a step that computes these values in place of the steps from that one on.
PyObject* make_chain(PyObject*, PyObject* const* args, Py_ssize_t n) {
  auto chain = std::make_unique<Chain>();
  chain->frontend = expect_frontend(args[0]);
  chain->inputs = integer(args[1], "inputs");
  const Items steps(args[2], "steps"), outputs(args[3], "outputs");
  for (PyObject* o : steps) chain->steps.push_back(read_step(o));
  for (PyObject* k : outputs) chain->outputs.push_back(integer(k, "outputs"));
  if (n > 4 && args[4] != Py_None) {
    PyObject *first, *first_value, *step, *numbers;
    if (!PyArg_ParseTuple(args[4], "OOOO", &first, &first_value, &step, &numbers)) throw PyError();
    chain->first = integer(first, "joined");
    chain->first_value = integer(first_value, "joined");
    chain->joined = read_step(step);
    for (PyObject* k : Items(numbers, "joined")) chain->joined_outputs.push_back(integer(k, "joined"));
  }
  PyObject* capsule = PyCapsule_New(chain.get(), Chain::kName, [](PyObject* o) { delete Chain::of(o); });
  if (capsule) chain.release();
  return capsule;
}

// run_chain(chain, context, *inputs): the results of a chain of ops on nnabla's Variables, one or a tuple. None if an
// input is not such a Variable, or an op refuses its inputs. The values in between get no Python objects; what a
// program would free by dropping theirs is freed.
PyObject* run_chain(PyObject*, PyObject* const* args, Py_ssize_t n) {
  const Chain* const chain = Chain::of(args[0]);
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
    for (size_t k = 0; k < chain->steps.size(); ++k) {
      if (k == chain->first && may_join(*chain)) {
        run_joined(*chain, args[0], values, args[1]);
        break;
      }
      run_step(chain->steps[k], *chain, values, args[1]);
    }
  } catch (const c10::Error&) {
    Py_RETURN_NONE;
  }
  const auto result = [&](size_t k) { return variable_of_node(value_at(values, chain->outputs[k]), chain->frontend); };
  Obj results = chain->outputs.size() == 1 ? Obj::steal(result(0)) : tuple_of(chain->outputs.size(), result);
  release_from(values, chain->inputs);
  return results.release();
}

}  // namespace

const Ref<VariableNode>& value_at(const Values& values, size_t n) {
  if (n >= values.size()) throw std::out_of_range("chain: there is no value " + std::to_string(n));
  return values[n];
}

Applied apply_step(const ChainStep& step, const Chain& chain, const Values& values) {
  Ref<FunctionNode> node(step.op->create());
  for (const auto& [k, given] : step.set)
    parse_param(step.op->params[k], given.get(), step.op->params[k].address(node->params()));
  Vars in;
  for (const size_t n : step.inputs) in.push_back(deferred_var(value_at(values, n), nullptr, 0, true));
  Vars results = apply_for(*node, in, chain.frontend);
  return {std::move(node), std::move(results)};
}
void run_step(const ChainStep& step, const Chain& chain, Values& values, PyObject* context) {
  auto [node, ys] = apply_step(step, chain, values);
  if (step.spec && node->recorded && node->call && !node->call->info)
    node->call->info = Obj::steal(PyTuple_Pack(3, step.spec.get(), step.arguments.get(), context)).release();
  for (Var& y : ys) values.push_back(std::move(y.node));
}
void release_from(Values& values, size_t from) {
  for (size_t k = from; k < values.size(); ++k) {
    const Ref<VariableNode> node = std::move(values[k]);
    if (node && !node->variable && node->refs > 1) release_unread(*node);
  }
}

PyMethodDef chain_functions[] = {{"chain", FAST(make_chain, 4, 5), nullptr},
                                 {"run_chain", FAST(run_chain, 2, 64), nullptr},
                                 {nullptr, nullptr, 0, nullptr}};

}  // namespace cg::py
