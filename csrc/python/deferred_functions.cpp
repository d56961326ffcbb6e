// What a frontend asks of the functions of a deferred graph.
#include <unordered_set>

#include "python/deferred.h"

namespace cg::py {

VariableNode& node_of_object(PyObject* o) {
  auto& n = as_variable(o)->v.node;
  if (!n || !n->deferred) fail(PyExc_TypeError, "%s: this Variable was not initialised", Py_TYPE(o)->tp_name);
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
  // Depth first, inputs in their order, each function after what it needs.
  std::unordered_set<FunctionNode*> done;
  std::vector<std::pair<FunctionNode*, size_t>> stack;
  const auto enter = [&](const VariableNode& x) {
    if (FunctionNode* f = x.creator.get(); f && done.insert(f).second) stack.push_back({f, 0});
  };
  for (const Var& y : ys) {
    see(*y.node);
    enter(*y.node);
    while (!stack.empty()) {
      auto& [f, next] = stack.back();
      if (next == f->inputs.size()) {
        for (auto& x : f->inputs)
          if (x) see(*x);
        stack.pop_back();
      } else if (const auto& x = f->inputs[next++]) {
        enter(*x);
      }
    }
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
    f = as_variable(o)->v.node->creator.get();
  if (!f || !f->call) fail(PyExc_TypeError, "expected a function of a deferred graph, got %s", Py_TYPE(o)->tp_name);
  return *f;
}

namespace {

Deferred& deferred(PyObject* o) { return *node_of_object(o).deferred; }
bool is_deferred(PyObject* o) { return PyObject_TypeCheck(o, &DeferredVariableType); }

PyObject* variables(c10::ArrayRef<Ref<VariableNode>> nodes, Frontend* f) {
  Obj list = Obj::steal(PyList_New(0));
  for (auto& x : nodes) {
    Obj v = x ? Obj::steal(variable_of_node(x, x->deferred ? f : native_frontend)) : Obj::borrow(Py_None);
    if (PyList_Append(list.get(), v.get()) < 0) throw PyError();
  }
  return list.release();
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
  return Py_NewRef(info ? info : Py_None);
}
// set_function_info(view of a function or Variable, info)
PyObject* set_function_info(PyObject*, PyObject* const* args, Py_ssize_t n) {
  void*& slot = deferred_function(args[0]).call->info;
  auto* old = static_cast<PyObject*>(std::exchange(slot, Py_NewRef(args[1])));
  Py_XDECREF(old);
  Py_RETURN_NONE;
}
// claim(variables, inputs, info): whether all variables come from one function of exactly these inputs. If so, it gets
// the info.
PyObject* claim(PyObject*, PyObject* const* args, Py_ssize_t n) {
  Obj ys = Obj::steal(PySequence_Fast(args[0], "variables")), xs = Obj::steal(PySequence_Fast(args[1], "inputs"));
  FunctionNode* f = nullptr;
  for (Py_ssize_t j = 0; j < PySequence_Fast_GET_SIZE(ys.get()); ++j) {
    PyObject* y = PySequence_Fast_GET_ITEM(ys.get(), j);
    if (!is_variable(y) || !as_variable(y)->v.node) Py_RETURN_FALSE;
    FunctionNode* g = as_variable(y)->v.node->creator.get();
    if (!g && mode(Mode::auto_forward) && !mode(Mode::enable_backprop)) Py_RETURN_TRUE;
    if (!g || !g->call || (f && f != g)) Py_RETURN_FALSE;
    f = g;
  }
  if (!f || f->call->info) Py_RETURN_FALSE;
  Py_ssize_t k = 0;
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(xs.get());
  const auto skip = [&] {
    while (k < count && PySequence_Fast_GET_ITEM(xs.get(), k) == Py_None) ++k;
  };
  for (auto& x : f->inputs) {
    if (!x) continue;
    skip();
    if (k == count) Py_RETURN_FALSE;
    PyObject* given = PySequence_Fast_GET_ITEM(xs.get(), k++);
    if (!is_variable(given) || as_variable(given)->v.node != x) Py_RETURN_FALSE;
  }
  skip();
  if (k != count) Py_RETURN_FALSE;
  f->call->info = Py_NewRef(args[2]);
  Py_RETURN_TRUE;
}
// find_inputs(outputs, inputs) -> for each input the Variables of the outputs' graph that share its arrays. One of a
// graph that runs at once stands for itself.
PyObject* find_inputs(PyObject*, PyObject* const* args, Py_ssize_t n) {
  const auto read = [](PyObject* o, const char* what) {
    Obj seq = Obj::steal(PySequence_Fast(o, what));
    Vars vars;
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(seq.get()); ++k) {
      PyObject* v = PySequence_Fast_GET_ITEM(seq.get(), k);
      if (!is_variable(v)) fail(PyExc_TypeError, "%s[%zd]: expected a Variable, got %s", what, k, Py_TYPE(v)->tp_name);
      vars.emplace_back(node_of(as_variable(v)), at::Tensor());
    }
    return vars;
  };
  const Vars ys = read(args[0], "outputs"), xs = read(args[1], "inputs");
  for (const Var& y : ys)
    if (y.node->deferred && y.node->creator) refresh_need_grad(*y.node);
  Obj result = Obj::steal(PyList_New(0)), given = Obj::steal(PySequence_Fast(args[1], "inputs"));
  for (Py_ssize_t k = 0; auto& nodes : places_of(xs, ys)) {
    PyObject* x = PySequence_Fast_GET_ITEM(given.get(), k++);
    Obj list = is_deferred(x) ? Obj::steal(variables(nodes, as_variable(x)->frontend)) : Obj::steal(PyList_New(0));
    if (!is_deferred(x) && PyList_Append(list.get(), x) < 0) throw PyError();
    if (PyList_Append(result.get(), list.get()) < 0) throw PyError();
  }
  return result.release();
}
PyObject* function_need_grad(PyObject*, PyObject* o) { return PyBool_FromLong(deferred_function(o).call->need_grad); }
PyObject* function_rank(PyObject*, PyObject* o) { return PyLong_FromLong(deferred_function(o).rank); }
// Which inputs and outputs the gradients read: two lists of bool. function_saves(view, need_grad of the inputs or None)
PyObject* function_saves(PyObject*, PyObject* const* args, Py_ssize_t n) {
  FunctionNode& f = deferred_function(args[0]);
  c10::SmallVector<bool, 8> needs(f.inputs.size(), true);
  if (args[1] != Py_None)
    for (size_t i = 0; i < needs.size(); ++i) {
      Obj item = Obj::steal(PySequence_GetItem(args[1], i));
      needs[i] = truth(item.get());
    }
  const Mask mask = f.saves(needs);
  Obj in = Obj::steal(PyList_New(0)), out = Obj::steal(PyList_New(0));
  for (size_t i = 0; i < f.inputs.size(); ++i)
    if (f.inputs[i]) PyList_Append(in.get(), mask.input(i) ? Py_True : Py_False);
  for (size_t j = 0; j < f.outputs.size(); ++j) PyList_Append(out.get(), mask.output(j) ? Py_True : Py_False);
  return Py_BuildValue("(OO)", in.get(), out.get());
}

c10::SmallVector<Ref<Store>, 4> read_stores(PyObject* o, const char* what) {
  Obj seq = Obj::steal(PySequence_Fast(o, what));
  c10::SmallVector<Ref<Store>, 4> stores;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(seq.get()); ++i) {
    PyObject* x = PySequence_Fast_GET_ITEM(seq.get(), i);
    if (!is_variable(x)) fail(PyExc_TypeError, "%s[%zd]: expected a Variable, got %s", what, i, Py_TYPE(x)->tp_name);
    stores.push_back(deferred(x).store);
  }
  return stores;
}
// Given variables take the places of a function's own for a while. Left-out inputs keep their null.
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
PyObject* function_forward(PyObject*, PyObject* const* args, Py_ssize_t n) {
  FunctionNode& f = deferred_function(args[0]);
  Borrowed borrowed(f, args[1], args[2]);
  ModeScope plain(Mode::deferred, false);
  if (truth(args[3])) {
    run_on_again(f);
  } else {
    remember_random_state(f);
    run_on(f, input_stores(f), f.call->outputs);
  }
  Py_RETURN_NONE;
}
c10::SmallVector<bool, 4> read_flags(PyObject* o, const FunctionNode& f, const char* what) {
  c10::SmallVector<bool, 4> flags;
  Py_ssize_t k = 0;
  for (auto& x : f.inputs) {
    if (!x || !x->deferred) {
      flags.push_back(false);
      continue;
    }
    Obj item = Obj::steal(PySequence_GetItem(o, k++));
    flags.push_back(truth(item.get()));
  }
  if (PySequence_Size(o) != k) fail(PyExc_ValueError, "%s: expected %zd flags, got %zd", what, k, PySequence_Size(o));
  return flags;
}
// function_backward(view, inputs, outputs, wanted, accumulate)
PyObject* function_backward_on(PyObject*, PyObject* const* args, Py_ssize_t n) {
  FunctionNode& f = deferred_function(args[0]);
  Borrowed borrowed(f, args[1], args[2]);
  ModeScope plain(Mode::deferred, false);
  backward_function(f, read_flags(args[3], f, "wanted"), read_flags(args[4], f, "accum"));
  Py_RETURN_NONE;
}
// The gradient of one function as new functions: function_gradient(view, gradients of the outputs, wanted)
PyObject* function_gradient(PyObject*, PyObject* const* args, Py_ssize_t n) {
  FunctionNode& f = deferred_function(args[0]);
  Frontend* frontend = as_function(args[0])->frontend;
  FrontendScope scope(frontend);
  ModeScope style(Mode::deferred, true);
  Vars gys;
  for (Py_ssize_t j = 0; j < PySequence_Size(args[1]); ++j) {
    Obj g = Obj::steal(PySequence_GetItem(args[1], j));
    if (g.get() == Py_None)
      gys.emplace_back();
    else if (is_variable(g.get()))
      gys.push_back(var_of(as_variable(g.get())));
    else
      fail(PyExc_TypeError, "grad_inputs[%zd]: expected a Variable or None, got %s", j, Py_TYPE(g.get())->tp_name);
  }
  if (gys.size() != f.outputs.size())
    fail(PyExc_ValueError, "grad_inputs: expected %zu, got %zu", f.outputs.size(), gys.size());
  Vars gxs = cg::function_backward(f, gys, read_flags(args[2], f, "wanted"));
  Obj list = Obj::steal(PyList_New(0));
  for (size_t i = 0; i < gxs.size(); ++i) {
    if (!f.inputs[i] || !f.inputs[i]->deferred) continue;
    Obj v = Obj::steal(variable_of(gxs[i], frontend));
    if (PyList_Append(list.get(), v.get()) < 0) throw PyError();
  }
  return list.release();
}

PyMethodDef functions[] = {{"function_inputs", guard<function_inputs>, METH_O, nullptr},
                           {"function_outputs", guard<function_outputs>, METH_O, nullptr},
                           {"function_info", guard<function_info>, METH_O, nullptr},
                           {"set_function_info", FAST(set_function_info, 2), nullptr},
                           {"claim", FAST(claim, 3), nullptr},
                           {"find_inputs", FAST(find_inputs, 2), nullptr},
                           {"function_need_grad", guard<function_need_grad>, METH_O, nullptr},
                           {"function_rank", guard<function_rank>, METH_O, nullptr},
                           {"function_saves", FAST(function_saves, 2), nullptr},
                           {"function_forward", FAST(function_forward, 4), nullptr},
                           {"function_backward", FAST(function_backward_on, 5), nullptr},
                           {"function_gradient", FAST(function_gradient, 3), nullptr},
                           {"apply_host", FAST(apply_host), nullptr},
                           {"function_host", function_host, METH_O, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

void add_deferred_functions(PyObject* module) {
  if (PyModule_AddFunctions(module, functions) < 0) throw PyError();
}

}  // namespace cg::py
