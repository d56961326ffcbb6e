// Chains: several ops that a frontend's function runs in one call.
//
// A chain may say which single op computes its last functions (`joined`): an LSTM's gates are nine functions, whose
// objects and visits take three times as long as their arithmetic. In a graph that runs at once that op stands for
// them, and nobody sees it: separate_all() puts the functions in its place before Python looks at a graph.
#include "python/chains.h"

#include <algorithm>
#include <optional>

#include "core/door.h"
#include "core/postponed.h"
#include "core/tally.h"
#include "kernels/trace.h"
#include "python/deferred.h"

namespace cg::py {
namespace {

struct Step {
  const OpInfo* op;
  c10::SmallVector<size_t, 4> inputs;       // the numbers of the values that the step reads
  std::vector<std::pair<size_t, Obj>> set;  // indices and values of the parameters that the chain sets
  Obj spec, arguments;                      // the frontend's description of the function; null: none
};
struct Chain {
  Frontend* frontend;
  size_t inputs = 0;
  std::vector<Step> steps;
  c10::SmallVector<size_t, 4> outputs;
  // The op in place of the steps from `first` on: its inputs are values, its outputs get these numbers.
  std::optional<Step> joined;
  size_t first = 0, first_value = 0;  // first_value: the number of the first output of step `first`
  c10::SmallVector<size_t, 4> joined_outputs;
};
constexpr const char* kChain = "compatgrad.chain";

size_t number(PyObject* o) {
  const size_t n = PyLong_AsSize_t(o);
  if (n == static_cast<size_t>(-1) && PyErr_Occurred()) throw PyError();
  return n;
}

Step read_step(PyObject* o) {
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
  return step;
}

// chain(frontend, inputs, steps, outputs, joined=None): a chain of ops for `run_chain`. inputs: their number. steps:
// tuples (op, numbers of its inputs, dict of its parameters, spec, arguments); the values are numbered: the inputs,
// then the outputs of each step. outputs: the numbers of the results. joined: (number of a step, number of its first
// output, a step, numbers of its outputs): a step that computes these values in place of the steps from that one on.
PyObject* make_chain(PyObject*, PyObject* const* args, Py_ssize_t n) {
  auto chain = std::make_unique<Chain>();
  chain->frontend = expect_frontend(args[0]);
  chain->inputs = number(args[1]);
  const Items steps(args[2], "steps"), outputs(args[3], "outputs");
  for (PyObject* o : steps) chain->steps.push_back(read_step(o));
  for (PyObject* k : outputs) chain->outputs.push_back(number(k));
  if (n > 4 && args[4] != Py_None) {
    PyObject *first, *first_value, *step, *numbers;
    if (!PyArg_ParseTuple(args[4], "OOOO", &first, &first_value, &step, &numbers)) throw PyError();
    chain->first = number(first);
    chain->first_value = number(first_value);
    chain->joined = read_step(step);
    for (PyObject* k : Items(numbers, "joined")) chain->joined_outputs.push_back(number(k));
  }
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

Ref<FunctionNode> made_step(const Step& step) {
  const Ref<FunctionNode> node(step.op->create());
  for (const auto& [k, given] : step.set)
    parse_param(step.op->params[k], given.get(), step.op->params[k].address(node->params()));
  return node;
}
Vars applied(const Step& step, FunctionNode& node, const Chain& chain, const Values& values) {
  Vars in;
  for (const size_t n : step.inputs) in.push_back(deferred_var(value(values, n), nullptr, 0, true));
  return apply_for(node, in, chain.frontend);
}
// Appends the results of a step to the values.
void run_step(const Step& step, const Chain& chain, Values& values, PyObject* context) {
  const Ref<FunctionNode> node = made_step(step);
  Vars ys = applied(step, *node, chain, values);
  if (step.spec && node->recorded && node->call && !node->call->info)
    node->call->info = Obj::steal(PyTuple_Pack(3, step.spec.get(), step.arguments.get(), context)).release();
  for (Var& y : ys) values.push_back(std::move(y.node));
}
// Frees what a program would free by dropping the values from number `from` on that have no Python objects.
void release_from(Values& values, size_t from) {
  for (size_t k = from; k < values.size(); ++k) {
    const Ref<VariableNode> node = std::move(values[k]);
    if (node && !node->variable && node->refs > 1) release_unread(*node);
  }
}

// ---- one op in place of several functions ---------------------------------------------------------------------------
// The `info` of a joined function: what is needed to put the chain's functions in its place.
struct Joined : Pinned {
  FunctionNode* const f;
  const Chain& chain;
  const Obj owner, context;  // of the chain; the values' context
  Joined *before = nullptr, *after;
  static Joined* first;
  Joined(FunctionNode& node, PyObject* capsule, PyObject* c)
      : f(&node),
        chain(*static_cast<const Chain*>(PyCapsule_GetPointer(capsule, kChain))),
        owner(Obj::borrow(capsule)),
        context(Obj::borrow(c)),
        after(std::exchange(first, this)) {
    if (after) after->before = this;
  }
  ~Joined() { leave(); }
  // Takes this from the list of those that separate_all() separates.
  void leave() {
    if (before || after || first == this) (before ? before->after : first) = after;
    if (after) after->before = before;
    before = after = nullptr;
  }
};
Joined* Joined::first = nullptr;
constexpr const char* kJoined = "compatgrad.joined";
int running = 0;  // how many passes are running

// Whether the joined op can stand for the functions: nothing observes them, no pass is running, which would keep
// separate_all() from showing them, and the op computes what they compute.
bool joins(const Chain& chain, const Values& values) {
  if (!chain.joined || running || tally.ran || !mode(Mode::auto_forward) || real_dtype != at::kFloat ||
      !real_device.is_cpu())
    return false;
  const at::IntArrayRef cell = value(values, chain.joined->inputs[0])->sizes,
                        gates = value(values, chain.joined->inputs[1])->sizes;
  return cell.size() == 2 && gates.size() == 3 && gates[0] == cell[0] && gates[1] == 4 && gates[2] == cell[1];
}
void run_joined(const Chain& chain, PyObject* capsule, Values& values, PyObject* context) {
  const Ref<FunctionNode> node = made_step(*chain.joined);
  Vars ys = applied(*chain.joined, *node, chain, values);
  if (node->recorded && node->call) {
    auto note = std::make_unique<Joined>(*node, capsule, context);
    PyObject* const info = PyCapsule_New(
        note.get(), kJoined, [](PyObject* o) { delete static_cast<Joined*>(PyCapsule_GetPointer(o, kJoined)); });
    if (!info) throw PyError();
    note.release();
    node->call->info = info;
  }
  values.resize(*std::max_element(chain.joined_outputs.begin(), chain.joined_outputs.end()) + 1);
  for (size_t j = 0; j < ys.size(); ++j) values[chain.joined_outputs[j]] = std::move(ys[j].node);
}

// Outputs of chains' functions that become the variables that outputs of joined functions were. Until the end they have
// the arrays that the functions have computed: a program may have freed those of the variables, or written into them.
class Places : Pinned {
 public:
  ~Places() {
    for (Place& p : all_) {
      p.creator->call->outputs[p.index] = p.arrays;
      p.node->deferred->store = std::move(p.arrays);
    }
  }
  // Makes `made` the variable that output j of f was.
  void take(Ref<VariableNode>& made, FunctionNode& f, size_t j) {
    const Ref<FunctionNode> g = made->creator;
    const uint32_t index = made->output_index;
    if (VariableNode* const old = f.outputs[j].node) {
      Ref<VariableNode> kept(old);
      kept->become_output(g, index);
      kept->deferred->store = g->call->outputs[index];
      made.swap(kept);
    }
    all_.push_back({made, g, index, f.call->outputs[j]});
  }

 private:
  struct Place {
    Ref<VariableNode> node;
    Ref<FunctionNode> creator;
    uint32_t index;
    Ref<Store> arrays;
  };
  c10::SmallVector<Place, 2> all_;
};
void separate(FunctionNode& f) {
  const Ref<FunctionNode> self(&f);
  const Obj info = Obj::steal(static_cast<PyObject*>(std::exchange(f.call->info, nullptr)));
  Joined& joined = *static_cast<Joined*>(PyCapsule_GetPointer(info.get(), kJoined));
  joined.leave();  // at the beginning: another thread or a finalizer may call separate_all() in the middle of this
  const Chain& chain = joined.chain;
  const Step& whole = *chain.joined;
  if (f.inputs.size() != whole.inputs.size()) return;  // the program has cut the function off from its inputs
  const auto has_values = [](const Ref<VariableNode>& x) {
    const Array& a = *x->deferred->store->data;
    return !a.cleared && a.touched;
  };
  if (!std::all_of(f.inputs.begin(), f.inputs.end(), [](auto& x) { return x && x->deferred; })) return;
  const bool runs = std::all_of(f.inputs.begin(), f.inputs.end(), has_values);
  Values values;
  values.resize(chain.first_value);
  for (size_t i = 0; i < whole.inputs.size(); ++i) values[whole.inputs[i]] = f.inputs[i];
  const Setting type(real_dtype, f.call->real);
  const Setting device(real_device, f.call->device);
  const Setting postpones(may_postpone, 0);
  const ModeScope now(Mode::auto_forward, runs), plain(Mode::plain, false), recorded(Mode::enable_backprop, true);
  {
    Places places;
    for (size_t k = chain.first; k < chain.steps.size(); ++k) {
      const size_t begin = values.size();
      run_step(chain.steps[k], chain, values, joined.context.get());
      for (size_t j = 0; j < chain.joined_outputs.size(); ++j)
        if (const size_t n = chain.joined_outputs[j]; n >= begin && n < values.size()) places.take(values[n], f, j);
    }
  }
  f.unchain();
  for (size_t k = chain.first_value; k < values.size() && !runs; ++k) {
    const auto& outputs = chain.joined_outputs;
    if (std::find(outputs.begin(), outputs.end(), k) == outputs.end()) values[k]->deferred->store->data->clear();
  }
  release_from(values, chain.inputs);
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
    for (size_t k = 0; k < chain->steps.size(); ++k) {
      if (k == chain->first && joins(*chain, values)) {
        run_joined(*chain, args[0], values, args[1]);
        break;
      }
      run_step(chain->steps[k], *chain, values, args[1]);
    }
  } catch (const c10::Error&) {
    Py_RETURN_NONE;
  }
  const auto result = [&](size_t k) { return variable_of_node(value(values, chain->outputs[k]), chain->frontend); };
  Obj results = chain->outputs.size() == 1 ? Obj::steal(result(0)) : tuple_of(chain->outputs.size(), result);
  release_from(values, chain->inputs);
  return results.release();
}

}  // namespace

void separate_all() {
  while (Joined::first && !running) {
    const EngineScope engine;
    separate(*Joined::first->f);
  }
}
RunningPass::RunningPass() { ++running; }
RunningPass::~RunningPass() { --running; }

PyMethodDef chain_functions[] = {{"chain", FAST(make_chain, 4, 5), nullptr},
                                 {"run_chain", FAST(run_chain, 2, 64), nullptr},
                                 {nullptr, nullptr, 0, nullptr}};

}  // namespace cg::py
