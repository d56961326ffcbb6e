// Queries and calls of functions of a deferred graph, for frontends.
#include "core/order.h"
#include "python/deferred.h"
#include "python/joined.h"

namespace cg::py {

VariableNode& node_of_object(PyObject* o) {
  auto& n = as_variable(o)->v.node;
  if (!n || !n->deferred) fail(PyExc_TypeError, "%s: this Variable was not initialized", Py_TYPE(o)->tp_name);
  return *n;
}

std::vector<std::vector<Ref<VariableNode>>> places_of(VarsRef xs, VarsRef ys) {
  std::unordered_map<const Store*, std::vector<Ref<VariableNode>>> found;
  for (const Var& x : xs)
    if (x.node->deferred) found[x.node->deferred->store.get()];
  const auto see = [&](VariableNode& x) {
    if (!x.deferred) return;
    auto it = found.find(x.deferred->store.get());
    if (it == found.end()) return;
    for (auto& other : it->second)
      if (other.get() == &x) return;
    it->second.emplace_back(&x);
  };
  PointerSet<FunctionNode> done;
  const auto enters = [&](const VariableNode& x) { return x.creator && done.insert(x.creator.get()).second; };
  const auto see_inputs = [&](FunctionNode& f) {
    for (auto& x : f.inputs)
      if (x) see(*x);
  };
  for (const Var& y : ys) {
    see(*y.node);
    if (enters(*y.node)) inputs_first(y.node->creator.get(), enters, see_inputs);
  }
  std::vector<std::vector<Ref<VariableNode>>> places;
  for (const Var& x : xs)
    places.push_back(x.node->deferred ? found[x.node->deferred->store.get()] : std::vector<Ref<VariableNode>>());
  return places;
}

FunctionNode& deferred_function(PyObject* o) {
  FunctionNode* f = nullptr;
  if (is_function(o))
    f = as_function(o)->node;
  else if (is_variable(o) && as_variable(o)->v.node)
    f = (*Shown::creator(*as_variable(o)->v.node)).get();
  if (!f || !f->call) fail(PyExc_TypeError, "expected a function of a deferred graph, got %s", Py_TYPE(o)->tp_name);
  return *f;
}

namespace {

Deferred& deferred(PyObject* o) { return *node_of_object(o).deferred; }
bool is_deferred(PyObject* o) { return PyObject_TypeCheck(o, &DeferredVariableType); }

PyObject* variables(c10::ArrayRef<Ref<VariableNode>> nodes, Frontend* f) {
  const auto variable = [&](size_t k) {
    const auto& x = nodes[k];
    return x ? variable_of_node(x, x->deferred ? f : native_frontend) : Py_NewRef(Py_None);
  };
  return list_of(nodes.size(), variable).release();
}
PyObject* function_inputs(PyObject*, PyObject* o) {
  c10::SmallVector<Ref<VariableNode>, 4> given;
  for (auto& x : deferred_function(o).inputs)
    if (x) given.push_back(x);
  return variables(given, as_function(o)->frontend);
}
PyObject* function_outputs(PyObject*, PyObject* o) {
  FunctionNode& f = deferred_function(o);
  c10::SmallVector<Ref<VariableNode>, 4> nodes;
  for (size_t j = 0; j < f.outputs.size(); ++j) nodes.push_back(output_node(f, j));
  return variables(nodes, as_function(o)->frontend);
}
PyObject* function_info(PyObject*, PyObject* o) {
  auto* info = static_cast<PyObject*>(deferred_function(o).call->info);
  return Py_NewRef(info && !is_joined(info) ? info : Py_None);  // code that looks while a pass runs sees joined ops
}
// function_device(FunctionNode or Variable): "cpu", "cuda:0", ...
PyObject* function_device(PyObject*, PyObject* o) {
  return PyUnicode_FromString(deferred_function(o).call->device.str().c_str());
}
// set_function_info(FunctionNode or Variable, info)
void set_function_info(PyObject*, PyObject* const* args, Py_ssize_t n) {
  void*& slot = deferred_function(args[0]).call->info;
  auto* old = static_cast<PyObject*>(std::exchange(slot, Py_NewRef(args[1])));
  Py_XDECREF(old);
}
// claim(variables, inputs, info): if all variables are outputs of one function with exactly these inputs and without an
// info, sets its info (the frontend's object with the function's name and arguments) and returns True. A composite in
// Python calls this: if its body consists of a single function, that function replaces the composite.
PyObject* claim(PyObject*, PyObject* const* args, Py_ssize_t n) {
  const Items ys(args[0], "variables"), xs(args[1], "inputs");
  FunctionNode* f = nullptr;
  for (PyObject* y : ys) {
    if (!is_variable(y) || !as_variable(y)->v.node) Py_RETURN_FALSE;
    FunctionNode* g = as_variable(y)->v.node->creator.get();
    if (!g && mode(Mode::auto_forward) && !mode(Mode::enable_backprop)) Py_RETURN_TRUE;  // nothing is recorded
    if (!g || !g->call || (f && f != g)) Py_RETURN_FALSE;
    f = g;
  }
  if (!f || f->call->info) Py_RETURN_FALSE;
  c10::SmallVector<const VariableNode*, 4> given, own;
  for (PyObject* x : xs) {
    if (x == Py_None) continue;
    if (!is_variable(x)) Py_RETURN_FALSE;
    given.push_back(as_variable(x)->v.node.get());
  }
  for (auto& x : f->inputs)
    if (x) own.push_back(x.get());
  if (given != own) Py_RETURN_FALSE;
  f->call->info = Py_NewRef(args[2]);
  Py_RETURN_TRUE;
}
// find_inputs(outputs, inputs): for each input a list of the Variables in the outputs' graph that share its arrays. A
// Variable of a graph that runs at once stands only for itself.
PyObject* find_inputs(PyObject*, PyObject* const* args, Py_ssize_t n) {
  const auto read = [](PyVariable* v) { return Var(node_of(v), at::Tensor()); };
  const Vars ys = read_variables(args[0], "outputs", false, read), xs = read_variables(args[1], "inputs", false, read);
  for (const Var& y : ys)
    if (y.node->deferred && y.node->creator) refresh_need_grad(*y.node);
  const Items given(args[1], "inputs");
  const auto places = places_of(xs, ys);
  const auto of_input = [&](size_t k) {
    PyObject* x = given[k];
    if (is_deferred(x)) return variables(places[k], as_variable(x)->frontend);
    return list_of(1, [x](size_t) { return Py_NewRef(x); }).release();
  };
  return list_of(places.size(), of_input).release();
}
PyObject* function_need_grad(PyObject*, PyObject* o) { return PyBool_FromLong(deferred_function(o).call->need_grad); }
PyObject* function_rank(PyObject*, PyObject* o) { return PyLong_FromLong(deferred_function(o).rank); }
// function_saves(view, need_grad of the inputs or None): which inputs and outputs the gradients read, as two lists of
// bool
PyObject* function_saves(PyObject*, PyObject* const* args, Py_ssize_t n) {
  FunctionNode& f = deferred_function(args[0]);
  c10::SmallVector<bool, 8> needs(f.inputs.size(), true);
  if (args[1] != Py_None) {
    const Items given(args[1], "need_grad");
    if (given.size() < std::ssize(needs))
      fail(PyExc_IndexError, "need_grad: expected %zu flags, got %zd", needs.size(), given.size());
    for (size_t i = 0; i < needs.size(); ++i) needs[i] = truth(given[i]);
  }
  const Mask mask = f.saves(needs);
  List in;
  for (size_t i = 0; i < f.inputs.size(); ++i)
    if (f.inputs[i]) in.add(PyBool_FromLong(mask.input(i)));
  Obj out = list_of(f.outputs.size(), [&](size_t j) { return PyBool_FromLong(mask.output(j)); });
  return Py_BuildValue("(OO)", in.get(), out.get());
}

c10::SmallVector<Ref<Store>, 4> read_stores(PyObject* o, const char* what) {
  const Items variables(o, what);
  c10::SmallVector<Ref<Store>, 4> stores;
  for (Py_ssize_t i = 0; i < variables.size(); ++i) {
    expect_variable(variables[i], what, i);
    stores.push_back(deferred(variables[i]).store);
  }
  return stores;
}
// Temporarily replaces a function's inputs and outputs by given variables. Omitted inputs stay null.
class Borrowed {
 public:
  Borrowed(FunctionNode& f, PyObject* in, PyObject* out) : f_(f) {
    const auto xs = read_stores(in, "inputs"), ys = read_stores(out, "outputs");
    size_t given = 0;
    for (auto& x : f.inputs) given += x && x->deferred;
    if (xs.size() != given || ys.size() > f.call->outputs.size())
      fail(PyExc_ValueError, "expected %zu inputs and %zu outputs, got %zu and %zu", given, f.call->outputs.size(),
           xs.size(), ys.size());
    size_t k = 0;
    for (auto& x : f.inputs) {
      old_.push_back(x && x->deferred ? x->deferred->store : Ref<Store>());
      if (x && x->deferred) x->deferred->store = xs[k++];
    }
    for (size_t j = 0; j < ys.size(); ++j) {
      old_out_.push_back(f.call->outputs[j]);
      f.call->outputs[j] = ys[j];
    }
  }
  ~Borrowed() {
    for (size_t i = f_.inputs.size(); i-- > 0;)
      if (old_[i]) f_.inputs[i]->deferred->store = old_[i];
    for (size_t j = 0; j < old_out_.size(); ++j) f_.call->outputs[j] = old_out_[j];
  }

 private:
  FunctionNode& f_;
  c10::SmallVector<Ref<Store>, 4> old_, old_out_;
};
// function_forward(view, inputs, outputs, again)
void function_forward(PyObject*, PyObject* const* args, Py_ssize_t n) {
  FunctionNode& f = deferred_function(args[0]);
  Borrowed borrowed(f, args[1], args[2]);
  ModeScope plain(Mode::deferred, false);
  run_on_own(f, truth(args[3]));
}
c10::SmallVector<bool, 4> read_flags(PyObject* o, const FunctionNode& f, const char* what) {
  const Items given(o, what);
  c10::SmallVector<bool, 4> flags;
  Py_ssize_t k = 0;
  for (auto& x : f.inputs) {
    const bool counts = x && x->deferred;
    flags.push_back(counts && k < given.size() && truth(given[k]));
    k += counts;
  }
  if (given.size() != k) fail(PyExc_ValueError, "%s: expected %zd flags, got %zd", what, k, given.size());
  return flags;
}
// function_backward(view, inputs, outputs, wanted, accumulate)
void function_backward_on(PyObject*, PyObject* const* args, Py_ssize_t n) {
  FunctionNode& f = deferred_function(args[0]);
  Borrowed borrowed(f, args[1], args[2]);
  ModeScope plain(Mode::deferred, false);
  backward_function(f, read_flags(args[3], f, "wanted"), read_flags(args[4], f, "accum"));
}
// The gradient of one function as new functions: function_gradient(view, gradients of the outputs, wanted)
PyObject* function_gradient(PyObject*, PyObject* const* args, Py_ssize_t n) {
  FunctionNode& f = deferred_function(args[0]);
  Frontend* frontend = as_function(args[0])->frontend;
  FrontendScope scope(frontend);
  ModeScope style(Mode::deferred, true);
  const Vars gys = read_variables(args[1], "grad_inputs", true, var_of);
  if (gys.size() != f.outputs.size())
    fail(PyExc_ValueError, "grad_inputs: expected %zu, got %zu", f.outputs.size(), gys.size());
  Vars gxs = cg::function_backward(f, gys, read_flags(args[2], f, "wanted"));
  List list;
  for (size_t i = 0; i < gxs.size(); ++i)
    if (f.inputs[i] && f.inputs[i]->deferred) list.add(variable_of(gxs[i], frontend));
  return list.release();
}

}  // namespace

PyMethodDef graph_functions[] = {{"function_inputs", guard<function_inputs>, METH_O, nullptr},
                                 {"function_outputs", guard<function_outputs>, METH_O, nullptr},
                                 {"function_info", guard<function_info>, METH_O, nullptr},
                                 {"function_device", guard<function_device>, METH_O, nullptr},
                                 {"set_function_info", FAST(set_function_info, 2), nullptr},
                                 {"claim", FAST(claim, 3), nullptr},
                                 {"find_inputs", FAST(find_inputs, 2), nullptr},
                                 {"function_need_grad", guard<function_need_grad>, METH_O, nullptr},
                                 {"function_rank", guard<function_rank>, METH_O, nullptr},
                                 {"function_saves", FAST(function_saves, 2), nullptr},
                                 {"function_forward", FAST(function_forward, 4), nullptr},
                                 {"function_backward", FAST(function_backward_on, 5), nullptr},
                                 {"function_gradient", FAST(function_gradient, 3), nullptr},
                                 {"apply_host", FAST(apply_host, 4), nullptr},
                                 {"function_host", guard<function_host>, METH_O, nullptr},
                                 {nullptr, nullptr, 0, nullptr}};

}  // namespace cg::py
