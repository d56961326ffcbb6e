// DeferredVariable: a Variable whose values come later; and what its frontend asks of functions.
#include "python/common.h"

namespace cg::py {
namespace {

VariableNode& node_of_object(PyObject* o) {
  auto& n = as_variable(o)->v.node;
  if (!n || !n->deferred) fail(PyExc_TypeError, "%s: this Variable was not initialised", Py_TYPE(o)->tp_name);
  return *n;
}
Deferred& deferred(PyObject* o) { return *node_of_object(o).deferred; }
PyObject* wrap_node(const Ref<VariableNode>& n, Frontend* f) { return variable_of_node(n, f); }

void become(PyObject* o, Ref<VariableNode> fresh) {
  PyVariable* v = as_variable(o);
  if (v->v.node && v->v.node->variable == &v->v) v->v.node->variable = nullptr;
  v->v.node = std::move(fresh);
  v->v.node->variable = &v->v;
}
int parse_need_grad(PyObject* o) {
  if (o == Py_None) return -1;
  const int b = PyObject_IsTrue(o);
  if (b < 0) throw PyError();
  return b;
}

// _setup(shape, need_grad)
PyObject* setup(PyObject* o, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    if (n != 2) fail(PyExc_TypeError, "_setup: expected 2 arguments");
    const Ints sizes = parse_ints(args[0], "shape");
    become(o, make_deferred(Ref<Store>(new Store(sizes)), parse_need_grad(args[1])));
    Py_RETURN_NONE;
  });
}

template <Ref<Array> Store::* Which>
PyObject* get_array(PyObject* o, void*) {
  return guarded([&] { return wrap_array((*deferred(o).store).*Which); });
}
template <Ref<Array> Store::* Which>
int put_array(PyObject* o, PyObject* value, void* name) {
  return guarded(-1, [&] {
    const char* what = static_cast<const char*>(name);
    if (!value) fail(PyExc_TypeError, "%s cannot be deleted", what);
    Ref<Array> a = unwrap_array(value, what);
    int64_t size = 1;
    for (int64_t k : node_of_object(o).sizes) size *= k;
    if (a->numel() != size)
      fail(PyExc_RuntimeError, "%s: an array of %lld elements does not fit a Variable of %lld", what,
           static_cast<long long>(a->numel()), static_cast<long long>(size));
    const auto& sizes = node_of_object(o).sizes;
    if (at::IntArrayRef(a->sizes) != at::IntArrayRef(sizes)) {
      if (a->tensor.defined()) a->tensor = a->tensor.reshape(sizes);
      a->sizes = sizes;
    }
    (*deferred(o).store).*Which = std::move(a);
    return 0;
  });
}

PyObject* get_shape(PyObject* o, void*) {
  return guarded([&] { return tuple_of_ints(node_of_object(o).sizes); });
}
PyObject* get_ndim(PyObject* o, void*) {
  return guarded([&] { return PyLong_FromSize_t(node_of_object(o).sizes.size()); });
}
PyObject* get_size(PyObject* o, void*) {
  return guarded([&] { return PyLong_FromLongLong(c10::multiply_integers(node_of_object(o).sizes)); });
}
PyObject* get_need_grad(PyObject* o, void*) {
  return guarded([&] {
    VariableNode& n = node_of_object(o);
    return PyBool_FromLong(n.deferred->need_grad >= 0 ? n.deferred->need_grad : n.requires_grad);
  });
}
int put_need_grad(PyObject* o, PyObject* value, void*) {
  return guarded(-1, [&] {
    if (!value || value == Py_None) fail(PyExc_TypeError, "need_grad: expected a bool, got None");
    VariableNode& n = node_of_object(o);
    n.deferred->need_grad = parse_need_grad(value);
    n.requires_grad = n.deferred->need_grad;
    return 0;
  });
}
PyObject* get_need_grad_is_set(PyObject* o, void*) {
  return guarded([&] { return PyBool_FromLong(deferred(o).need_grad >= 0); });
}
template <bool Deferred::* Flag>
PyObject* get_flag(PyObject* o, void*) {
  return guarded([&] { return PyBool_FromLong(deferred(o).*Flag); });
}
template <bool Deferred::* Flag>
int put_flag(PyObject* o, PyObject* value, void*) {
  return guarded(-1, [&] {
    const int b = value ? PyObject_IsTrue(value) : -1;
    if (b < 0) throw PyError();
    deferred(o).*Flag = b;
    return 0;
  });
}

// ---- graph ----------------------------------------------------------------------------------------------------------
PyObject* get_parent(PyObject* o, void*) {
  return guarded([&] {
    VariableNode& n = node_of_object(o);
    return view_of_function(n.creator && n.creator->call ? n.creator.get() : nullptr, as_variable(o)->frontend);
  });
}
int put_parent(PyObject* o, PyObject* value, void*) {
  return guarded(-1, [&] {
    VariableNode& n = node_of_object(o);
    ++graph_epoch;
    if (!value || value == Py_None) {
      n.unchain();
      n.rank = 0;
      return 0;
    }
    FunctionNode& f = deferred_function(value);
    size_t j = 0;
    while (j < f.call->outputs.size() && f.call->outputs[j] != n.deferred->store) ++j;
    if (j == f.call->outputs.size()) j = 0;
    n.set_creator(Ref<FunctionNode>(&f), j);
    f.outputs[j].node = &n;
    return 0;
  });
}
PyObject* get_users(PyObject* o, void*) {
  return guarded([&] {
    std::vector<std::pair<uint64_t, FunctionNode*>> users;
    for (auto& [f, order] : deferred(o).users) users.push_back({order, f});
    std::sort(users.begin(), users.end());
    Obj list = Obj::steal(PyList_New(0));
    for (auto& [order, f] : users) {
      Obj view = Obj::steal(view_of_function(f, as_variable(o)->frontend));
      if (PyList_Append(list.get(), view.get()) < 0) throw PyError();
    }
    return list.release();
  });
}
PyObject* unlinked(PyObject* o, PyObject* need_grad) {
  return guarded([&] {
    VariableNode& n = node_of_object(o);
    auto fresh = make_deferred(n.deferred->store, parse_need_grad(need_grad));
    fresh->sizes = n.sizes;
    return wrap_node(fresh, as_variable(o)->frontend);
  });
}
// A variable of another shape on the same memory.
PyObject* view(PyObject* o, PyObject* shape) {
  return guarded([&] {
    VariableNode& n = node_of_object(o);
    const Ints sizes = parse_ints(shape, "shape");
    Ref<Store> store(new Store(sizes));
    for (auto which : {&Store::data, &Store::grad}) {
      Array& from = *((*n.deferred->store).*which);
      if (from.touched) ((*store).*which)->put(from.read().view(sizes));
    }
    return wrap_node(make_deferred(std::move(store), -1), as_variable(o)->frontend);
  });
}
// _rewire_on(v): this variable takes v's place behind v's parent.
PyObject* rewire(PyObject* o, PyObject* other) {
  return guarded([&]() -> PyObject* {
    if (!is_variable(other)) fail(PyExc_TypeError, "rewire_on: expected a Variable, got %s", Py_TYPE(other)->tp_name);
    VariableNode &to = node_of_object(o), &from = node_of_object(other);
    if (!from.creator) fail(PyExc_RuntimeError, "rewire_on: the given Variable must have a parent function");
    if (at::IntArrayRef(to.sizes) != at::IntArrayRef(from.sizes))
      fail(PyExc_RuntimeError, "rewire_on: the shapes differ");
    Ref<FunctionNode> f = from.creator;
    const uint32_t j = from.output_index;
    from.unchain();
    from.rank = 0;
    to.set_creator(f, j);
    f->outputs[j].node = &to;
    to.deferred->store = from.deferred->store;
    to.deferred->need_grad = from.deferred->need_grad;
    to.requires_grad = from.requires_grad;
    ++graph_epoch;
    Py_RETURN_NONE;
  });
}
PyObject* set_shape(PyObject* o, PyObject* shape) {
  return guarded([&]() -> PyObject* {
    VariableNode& n = node_of_object(o);
    const Ints sizes = parse_ints(shape, "shape");
    n.sizes.assign(sizes.begin(), sizes.end());
    for (Array* a : {n.deferred->store->data.get(), n.deferred->store->grad.get()}) {
      if (a->tensor.defined()) {
        if (a->tensor.numel() == c10::multiply_integers(sizes))
          a->tensor = a->tensor.reshape(sizes);
        else
          a->tensor.reset();
      }
      a->sizes.assign(sizes.begin(), sizes.end());
    }
    Py_RETURN_NONE;
  });
}
PyObject* order(PyObject* o, PyObject*) {
  return guarded([&] {
    const std::vector<FunctionNode*> functions = forward_order(node_of_object(o));
    Obj list = Obj::steal(PyList_New(0));
    for (FunctionNode* f : functions) {
      Obj v = Obj::steal(view_of_function(f, as_variable(o)->frontend));
      if (PyList_Append(list.get(), v.get()) < 0) throw PyError();
    }
    return list.release();
  });
}
PyObject* refresh(PyObject* o, PyObject*) {
  return guarded([&]() -> PyObject* {
    if (node_of_object(o).creator) refresh_need_grad(node_of_object(o));
    Py_RETURN_NONE;
  });
}

// ---- passes ---------------------------------------------------------------------------------------------------------
FunctionHook hook_of(PyObject* callback, Frontend* frontend) {
  if (callback == Py_None) return {};
  return [callback, frontend](FunctionNode& f) {
    Obj view = Obj::steal(view_of_function(&f, frontend));
    Obj::steal(PyObject_CallOneArg(callback, view.get()));
  };
}

// forward(variables, clear_buffer, clear_no_need_grad, before, after, finished)
PyObject* forward(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    if (n != 6) fail(PyExc_TypeError, "deferred_forward: expected 6 arguments");
    Obj seq = Obj::steal(PySequence_Fast(args[0], "variables: expected a sequence"));
    std::vector<VariableNode*> ys;
    Frontend* frontend = native_frontend;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(seq.get()); ++i) {
      PyObject* y = PySequence_Fast_GET_ITEM(seq.get(), i);
      if (!is_variable(y)) fail(PyExc_TypeError, "variables[%zd]: expected a Variable, got %s", i, Py_TYPE(y)->tp_name);
      ys.push_back(&node_of_object(y));
      frontend = as_variable(y)->frontend;
    }
    FrontendScope scope(frontend);
    DeferredOptions options;
    options.clear_buffer = PyObject_IsTrue(args[1]);
    options.clear_no_need_grad = PyObject_IsTrue(args[2]);
    options.before = hook_of(args[3], frontend);
    options.after = hook_of(args[4], frontend);
    options.finished = hook_of(args[5], frontend);
    forward_pass(ys, options);
    Py_RETURN_NONE;
  });
}
// backward(y, grad array or None, clear_buffer, clear_initial_grad, before, after, finished)
PyObject* backward(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    if (n != 7 || !is_variable(args[0]))
      fail(PyExc_TypeError, "deferred_backward: expected a Variable and 6 arguments");
    Frontend* frontend = as_variable(args[0])->frontend;
    FrontendScope scope(frontend);
    DeferredOptions options;
    options.clear_buffer = PyObject_IsTrue(args[2]);
    options.clear_initial_grad = PyObject_IsTrue(args[3]);
    options.before = hook_of(args[4], frontend);
    options.after = hook_of(args[5], frontend);
    options.finished = hook_of(args[6], frontend);
    backward_pass(node_of_object(args[0]), args[1] == Py_None ? Ref<Array>() : unwrap_array(args[1], "grad"), options);
    Py_RETURN_NONE;
  });
}

// ---- functions ------------------------------------------------------------------------------------------------------
PyObject* variables(c10::ArrayRef<Ref<VariableNode>> nodes, Frontend* f) {
  Obj list = Obj::steal(PyList_New(0));
  for (auto& x : nodes) {
    Obj v = x ? Obj::steal(wrap_node(x, f)) : Obj::borrow(Py_None);
    if (PyList_Append(list.get(), v.get()) < 0) throw PyError();
  }
  return list.release();
}
PyObject* function_inputs(PyObject*, PyObject* o) {
  return guarded([&] {
    c10::SmallVector<Ref<VariableNode>, 4> given;
    for (auto& x : deferred_function(o).inputs)
      if (x) given.push_back(x);
    return variables(given, as_function(o)->frontend);
  });
}
PyObject* function_outputs(PyObject*, PyObject* o) {
  return guarded([&] {
    FunctionNode& f = deferred_function(o);
    c10::SmallVector<Ref<VariableNode>, 4> nodes;
    for (size_t j = 0; j < f.outputs.size(); ++j) nodes.push_back(output_node(f, j));
    return variables(nodes, as_function(o)->frontend);
  });
}
PyObject* function_info(PyObject*, PyObject* o) {
  return guarded([&] {
    auto* info = static_cast<PyObject*>(deferred_function(o).call->info);
    return Py_NewRef(info ? info : Py_None);
  });
}
// set_function_info(view of a function or Variable, info)
PyObject* set_function_info(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    if (n != 2) fail(PyExc_TypeError, "set_function_info: expected 2 arguments");
    void*& slot = deferred_function(args[0]).call->info;
    auto* old = static_cast<PyObject*>(std::exchange(slot, Py_NewRef(args[1])));
    Py_XDECREF(old);
    Py_RETURN_NONE;
  });
}
// claim(variables, inputs, info): whether all variables come from one function of exactly these inputs. If so, it gets
// the info.
PyObject* claim(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    if (n != 3) fail(PyExc_TypeError, "claim: expected 3 arguments");
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
  });
}
// find_inputs(outputs, inputs) -> for each input the Variables of the outputs' graph that share its arrays.
PyObject* find_inputs(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    if (n != 2) fail(PyExc_TypeError, "find_inputs: expected 2 arguments");
    Obj ys = Obj::steal(PySequence_Fast(args[0], "outputs")), xs = Obj::steal(PySequence_Fast(args[1], "inputs"));
    std::unordered_map<const Store*, std::vector<Ref<VariableNode>>> found;
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(xs.get()); ++k)
      found[deferred(PySequence_Fast_GET_ITEM(xs.get(), k)).store.get()];
    const auto see = [&](VariableNode& x) {
      if (!x.deferred) return;
      auto it = found.find(x.deferred->store.get());
      if (it == found.end()) return;
      for (auto& other : it->second)
        if (other.get() == &x) return;
      it->second.emplace_back(&x);
    };
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(ys.get()); ++k) {
      VariableNode& y = node_of_object(PySequence_Fast_GET_ITEM(ys.get(), k));
      see(y);
      if (!y.creator || !y.creator->call) continue;
      refresh_need_grad(y);
      for (FunctionNode* f : forward_order(y))
        for (auto& x : f->inputs)
          if (x) see(*x);
    }
    Obj result = Obj::steal(PyList_New(0));
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(xs.get()); ++k) {
      PyObject* x = PySequence_Fast_GET_ITEM(xs.get(), k);
      Obj list = Obj::steal(variables(found[deferred(x).store.get()], as_variable(x)->frontend));
      if (PyList_Append(result.get(), list.get()) < 0) throw PyError();
    }
    return result.release();
  });
}
PyObject* function_need_grad(PyObject*, PyObject* o) {
  return guarded([&] { return PyBool_FromLong(deferred_function(o).call->need_grad); });
}
PyObject* function_rank(PyObject*, PyObject* o) {
  return guarded([&] { return PyLong_FromLong(deferred_function(o).rank); });
}
// Which inputs and outputs the gradients read: two lists of bool. function_saves(view, need_grad of the inputs or None)
PyObject* function_saves(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    if (n != 2) fail(PyExc_TypeError, "function_saves: expected 2 arguments");
    FunctionNode& f = deferred_function(args[0]);
    c10::SmallVector<bool, 8> needs(f.inputs.size(), true);
    if (args[1] != Py_None)
      for (size_t i = 0; i < needs.size(); ++i) {
        Obj item = Obj::steal(PySequence_GetItem(args[1], i));
        needs[i] = PyObject_IsTrue(item.get()) == 1;
      }
    const unsigned mask = f.saves(needs);
    Obj in = Obj::steal(PyList_New(0)), out = Obj::steal(PyList_New(0));
    for (size_t i = 0; i < f.inputs.size(); ++i)
      if (f.inputs[i]) PyList_Append(in.get(), (mask & kAllInputs) || (i < 15 && (mask >> i & 1)) ? Py_True : Py_False);
    for (size_t j = 0; j < f.outputs.size(); ++j)
      PyList_Append(out.get(), j < 16 && (mask >> (16 + j) & 1) ? Py_True : Py_False);
    return Py_BuildValue("(OO)", in.get(), out.get());
  });
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
    for (auto& x : f.inputs) given += x != nullptr;
    if (xs.size() != given || ys.size() > f.call->outputs.size())
      fail(PyExc_ValueError, "expected %zu inputs and %zu outputs, got %zu and %zu", given, f.call->outputs.size(),
           xs.size(), ys.size());
    size_t k = 0;
    for (auto& x : f.inputs) {
      old_.push_back(x && x->deferred ? x->deferred->store : Ref<Store>());
      if (x && x->deferred) x->deferred->store = xs[k];
      k += x != nullptr;
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
  return guarded([&]() -> PyObject* {
    if (n != 4) fail(PyExc_TypeError, "function_forward: expected 4 arguments");
    FunctionNode& f = deferred_function(args[0]);
    Borrowed borrowed(f, args[1], args[2]);
    ModeScope plain(Mode::deferred, false);
    if (PyObject_IsTrue(args[3]) == 1) {
      run_on_again(f);
    } else {
      remember_random_state(f);
      run_on(f, input_stores(f), f.call->outputs);
    }
    Py_RETURN_NONE;
  });
}
c10::SmallVector<bool, 4> read_flags(PyObject* o, const FunctionNode& f, const char* what) {
  c10::SmallVector<bool, 4> flags;
  Py_ssize_t k = 0;
  for (auto& x : f.inputs) {
    if (!x) {
      flags.push_back(false);
      continue;
    }
    Obj item = Obj::steal(PySequence_GetItem(o, k++));
    flags.push_back(PyObject_IsTrue(item.get()) == 1);
  }
  if (PySequence_Size(o) != k) fail(PyExc_ValueError, "%s: expected %zd flags, got %zd", what, k, PySequence_Size(o));
  return flags;
}
// function_backward(view, inputs, outputs, wanted, accumulate)
PyObject* function_backward_on(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    if (n != 5) fail(PyExc_TypeError, "function_backward: expected 5 arguments");
    FunctionNode& f = deferred_function(args[0]);
    Borrowed borrowed(f, args[1], args[2]);
    ModeScope plain(Mode::deferred, false);
    backward_function(f, read_flags(args[3], f, "wanted"), read_flags(args[4], f, "accum"));
    Py_RETURN_NONE;
  });
}
// The gradient of one function as new functions: function_gradient(view, gradients of the outputs, wanted)
PyObject* function_gradient(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    if (n != 3) fail(PyExc_TypeError, "function_gradient: expected 3 arguments");
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
      if (!f.inputs[i]) continue;
      Obj v = Obj::steal(variable_of(gxs[i], frontend));
      if (PyList_Append(list.get(), v.get()) < 0) throw PyError();
    }
    return list.release();
  });
}

PyObject* set_global_recompute(PyObject*, PyObject* value) {
  return guarded([&]() -> PyObject* {
    const int b = PyObject_IsTrue(value);
    if (b < 0) throw PyError();
    return PyBool_FromLong(std::exchange(global_recompute, b));
  });
}
PyObject* compare(PyObject* a, PyObject* b, int op) {
  if (op != Py_EQ && op != Py_NE) Py_RETURN_NOTIMPLEMENTED;
  return guarded([&]() -> PyObject* {
    if (!PyObject_TypeCheck(b, &DeferredVariableType))
      fail(PyExc_TypeError, "a Variable can be compared with a Variable only, not with %s", Py_TYPE(b)->tp_name);
    return PyBool_FromLong((deferred(a).store == deferred(b).store) == (op == Py_EQ));
  });
}
Py_hash_t hash(PyObject* o) {
  auto& n = as_variable(o)->v.node;
  return n && n->deferred ? static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(n->deferred->store.get()) >> 4) : 0;
}

char kData[] = "data", kGrad[] = "grad";
PyGetSetDef getset[] = {
    {"data", get_array<&Store::data>, put_array<&Store::data>, "The array of the values.", kData},
    {"grad", get_array<&Store::grad>, put_array<&Store::grad>, "The array of the gradient.", kGrad},
    {"shape", get_shape, nullptr, "Lengths of the axes.", nullptr},
    {"ndim", get_ndim, nullptr, "Number of axes.", nullptr},
    {"size", get_size, nullptr, "Number of elements.", nullptr},
    {"need_grad", get_need_grad, put_need_grad, "Whether backpropagation reaches this variable.", nullptr},
    {"_need_grad_is_set", get_need_grad_is_set, nullptr, nullptr, nullptr},
    {"persistent", get_flag<&Deferred::persistent>, put_flag<&Deferred::persistent>,
     "Whether passes that free memory leave this variable alone.", nullptr},
    {"_recompute", get_flag<&Deferred::recompute>, put_flag<&Deferred::recompute>, nullptr, nullptr},
    {"parent", get_parent, put_parent, "The function that computes this variable, or None.", nullptr},
    {"function_references", get_users, nullptr, "The functions that use this variable.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
#define FAST(f) reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)(void)>(f)), METH_FASTCALL
PyMethodDef methods[] = {{"_setup", FAST(setup), nullptr},
                         {"_unlinked", unlinked, METH_O, nullptr},
                         {"_view", view, METH_O, nullptr},
                         {"_rewire_on", rewire, METH_O, nullptr},
                         {"_set_shape", set_shape, METH_O, nullptr},
                         {"_functions", order, METH_NOARGS, "All functions this variable depends on, inputs first."},
                         {"_refresh_need_grad", refresh, METH_NOARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyMethodDef functions[] = {{"deferred_forward", FAST(forward), nullptr},
                           {"deferred_backward", FAST(backward), nullptr},
                           {"function_inputs", function_inputs, METH_O, nullptr},
                           {"function_outputs", function_outputs, METH_O, nullptr},
                           {"function_info", function_info, METH_O, nullptr},
                           {"set_function_info", FAST(set_function_info), nullptr},
                           {"claim", FAST(claim), nullptr},
                           {"find_inputs", FAST(find_inputs), nullptr},
                           {"function_need_grad", function_need_grad, METH_O, nullptr},
                           {"function_rank", function_rank, METH_O, nullptr},
                           {"function_saves", FAST(function_saves), nullptr},
                           {"function_forward", FAST(function_forward), nullptr},
                           {"function_backward", FAST(function_backward_on), nullptr},
                           {"function_gradient", FAST(function_gradient), nullptr},
                           {"set_global_recompute", set_global_recompute, METH_O, nullptr},
                           {"apply_host", FAST(apply_host), nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

FunctionNode& deferred_function(PyObject* o) {
  FunctionNode* f = nullptr;
  if (is_function(o))
    f = as_function(o)->node;
  else if (is_variable(o) && as_variable(o)->v.node)
    f = as_variable(o)->v.node->creator.get();
  if (!f || !f->call) fail(PyExc_TypeError, "expected a function of a deferred graph, got %s", Py_TYPE(o)->tp_name);
  return *f;
}

PyTypeObject DeferredVariableType = [] {
  PyTypeObject t = empty_type();
  t.tp_name = "compatgrad._C.DeferredVariable";
  t.tp_doc = "A Variable whose values come later.";
  t.tp_basicsize = sizeof(PyVariable);
  t.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC;
  t.tp_getset = getset;
  t.tp_methods = methods;
  t.tp_richcompare = compare;
  t.tp_hash = hash;
  return t;
}();

void init_deferred(PyObject* module) {
  DeferredVariableType.tp_base = &VariableType;
  DeferredVariableType.tp_traverse = VariableType.tp_traverse;
  DeferredVariableType.tp_clear = VariableType.tp_clear;
  DeferredVariableType.tp_dictoffset = VariableType.tp_dictoffset;
  DeferredVariableType.tp_weaklistoffset = VariableType.tp_weaklistoffset;
  if (PyType_Ready(&DeferredVariableType) < 0 ||
      PyModule_AddObjectRef(module, "DeferredVariable", reinterpret_cast<PyObject*>(&DeferredVariableType)) < 0 ||
      PyModule_AddFunctions(module, functions) < 0)
    throw PyError();
}

}  // namespace cg::py
