// Pieces of torch's graph as functions of the engine's.
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>

#include "python/deferred.h"
#include "python/torch_graph.h"

namespace cg::py {
namespace {

c10::impl::LocalDispatchKeySet torch_keys() {
  auto keys = c10::impl::tls_local_dispatch_key_set();
  keys.excluded_ = keys.excluded_ - c10::autograd_dispatch_keyset_with_ADInplaceOrView;
  return keys;
}
PyObject* taken_apart = nullptr;  // taken_apart(result, name) -> (tensors, rebuild), where a result is no tensor
bool differentiable(const at::Tensor& t) { return t.is_floating_point() || t.is_complex(); }

// What torch recorded once is differentiated in torch; the gradient, in a recorded pass, is a function of its own on
// the same record. So nothing is computed twice, random numbers are drawn once, and running statistics move once.
struct TorchNode : FunctionNode {
  Tensors ys;          // as torch recorded them
  ta::edge_list ends;  // where in the record the gradient of each input comes out
  Obj info;            // of deferred functions
  Frontend* frontend = nullptr;

  virtual void run(VarsRef in) = 0;  // sets `ys` and `ends`
  virtual std::string name() const { return "torch"; }

  Tensors forward(VarsRef in) final {
    // What runs again for the sake of a gradient gave its result before: random numbers and statistics are those.
    if (!call || !call->again || ys.empty()) run(in);
    Tensors out;
    for (const at::Tensor& y : ys) out.push_back(y.requires_grad() ? y.detach() : y);
    return out;
  }
  Mask saves(c10::ArrayRef<bool>) const override { return kAllInputs; }
  void drop_own() override {
    ys.clear();
    ends.clear();
  }

  template <class T>
  std::pair<c10::SmallVector<size_t, 4>, c10::SmallVector<size_t, 4>> asked(Ctx<T>& c) const {
    c10::SmallVector<size_t, 4> from, to;
    const bool ran = !ys.empty();  // a deferred graph may be extended before
    for (size_t j = 0; j < c.outputs(); ++j)
      if (c.gy(j).defined() && (!ran || ys[j].requires_grad())) from.push_back(j);
    for (size_t i = 0; i < c.inputs(); ++i)
      if (c.needs(i) && (!ran || ends[i].is_valid())) to.push_back(i);
    return {std::move(from), std::move(to)};
  }
  void backward(Ctx<at::Tensor>& c) override {
    auto [from, to] = asked(c);
    if (from.empty() || to.empty()) return;
    ta::edge_list roots, wanted;
    ta::variable_list gys;
    for (size_t j : from) {
      roots.push_back(ta::impl::gradient_edge(ys[j]));
      gys.push_back(c.gy(j));
    }
    for (size_t i : to) wanted.push_back(ends[i]);
    ta::variable_list found = torch_gradients(roots, gys, wanted, false);
    for (size_t k = 0; k < to.size(); ++k)
      if (found[k].defined()) c.grad(to[k], [&] { return std::move(found[k]); });
  }
  void backward(Ctx<Var>& c) override;
};

struct TorchGradient final : TorchNode {
  Ref<FunctionNode> owner;
  TorchNode& of;
  c10::SmallVector<size_t, 4> from, to;

  TorchGradient(TorchNode& f, c10::SmallVector<size_t, 4> ys, c10::SmallVector<size_t, 4> xs)
      : owner(&f), of(f), from(std::move(ys)), to(std::move(xs)) {}

  std::string name() const override { return of.name() + "Gradient"; }
  Tensors infer(VarsRef in) override {
    Tensors hollows;
    for (size_t i : to) hollows.push_back(hollow(in[i].sizes(), in[i].scalar_type(), in[i].data.device()));
    return hollows;
  }
  void run(VarsRef in) override {
    const size_t n = in.size() - from.size();
    ends = of.ends;
    ends.resize(n);
    ta::edge_list roots, wanted;
    ta::variable_list gys;
    {
      TorchScope scope(true, true);
      for (size_t k = 0; k < from.size(); ++k) {
        ends.emplace_back();
        if (!of.ys[from[k]].requires_grad()) continue;
        roots.push_back(ta::impl::gradient_edge(of.ys[from[k]]));
        gys.push_back(in[n + k].data.detach().set_requires_grad(true));
        ends.back() = ta::impl::gradient_edge(gys.back());
      }
    }
    for (size_t i : to)
      if (of.ends[i].is_valid()) wanted.push_back(of.ends[i]);
    ta::variable_list found(wanted.size());
    if (!roots.empty() && !wanted.empty()) found = torch_gradients(roots, gys, wanted, true);
    ys.clear();
    for (size_t k = 0, next = 0; k < to.size(); ++k) {
      at::Tensor g = of.ends[to[k]].is_valid() ? std::move(found[next++]) : at::Tensor();
      ys.push_back(g.defined() ? std::move(g) : at::zeros_like(in[to[k]].data));
    }
  }
};

void TorchNode::backward(Ctx<Var>& c) {
  auto [from, to] = asked(c);
  if (from.empty() || to.empty()) return;
  Vars in;
  for (size_t i = 0; i < c.inputs(); ++i) in.push_back(c.in(i));
  for (size_t j : from) in.push_back(c.gy(j));
  auto* gradient = new TorchGradient(*this, from, to);
  Ref<FunctionNode> node(gradient);
  if (info) gradient->info = Obj::steal(PyObject_CallMethod(info.get(), "gradient", nullptr));
  gradient->frontend = frontend;
  Vars found = apply_for(*node, in, frontend);
  if (node->call && gradient->info) node->call->info = Py_NewRef(gradient->info.get());
  for (size_t k = 0; k < to.size(); ++k) c.grad(to[k], [&] { return std::move(found[k]); });
}

// A tensor that torch computed.
struct Entered final : TorchNode {
  explicit Entered(const at::Tensor& t) { ys.push_back(t); }
  void run(VarsRef) override {}
};

// A call of a function of tensors. What it holds beside its inputs are further inputs.
struct TorchCall final : TorchNode {
  Obj function, infer_shapes;
  Obj rebuild;  // the function's result from a list of what stands for its tensors; null: it is one tensor
  Obj module;   // a weak reference to the function, once it ran
  std::string label;
  size_t n;  // inputs that the function takes
  ta::edge_list held;
  Tensors xs;

  TorchCall(PyObject* f, size_t count) : function(Obj::borrow(f)), n(count) {}

  void drop_own() override {
    TorchNode::drop_own();
    xs.clear();
    function = Obj();
  }
  std::string name() const override {
    if (!function) return label;
    PyObject* o = PyObject_GetAttrString(function.get(), "__name__");
    if (!o) PyErr_Clear();
    const Obj owned = o ? Obj::steal(o) : Obj();
    const char* text = o ? PyUnicode_AsUTF8(o) : Py_TYPE(function.get())->tp_name;
    return text ? text : "";
  }
  void run(VarsRef in) override {
    const bool recorded = mode(Mode::enable_backprop);
    TorchScope scope(recorded, true);
    std::vector<Obj> objects;
    std::vector<PyObject*> args;
    xs.clear();
    ends.clear();
    for (size_t i = 0; i < n; ++i) {
      at::Tensor x = in[i].data.detach();
      if (recorded && differentiable(x) && (call || in[i].requires_grad())) x.set_requires_grad(true);
      ends.push_back(x.requires_grad() ? ta::impl::gradient_edge(x) : ta::Edge());
      objects.push_back(Obj::steal(wrap_tensor(x)));
      args.push_back(objects.back().get());
      xs.push_back(std::move(x));
    }
    Obj result = Obj::steal(PyObject_Vectorcall(function.get(), args.data(), n, nullptr));
    read(result.get());
    ends.insert(ends.end(), held.begin(), held.end());
    if (!infer_shapes) {  // it runs once: what it holds may hold what this node computed
      label = name();
      PyObject* weak = PyWeakref_NewRef(function.get(), nullptr);
      if (!weak) PyErr_Clear();
      module = Obj::steal(weak ? weak : Py_NewRef(Py_None));
      function = Obj();
    }
  }
  void read(PyObject* result) {
    ys.clear();
    rebuild = Obj();
    if (is_tensor(result)) {
      ys.push_back(torch_tensor(result));
      return;
    }
    Obj parts = Obj::steal(PyObject_CallFunction(taken_apart, "Os", result, name().c_str()));  // (tensors, rebuild)
    PyObject* tensors = PyTuple_GET_ITEM(parts.get(), 0);
    for (Py_ssize_t j = 0; j < PyList_GET_SIZE(tensors); ++j) ys.push_back(torch_tensor(PyList_GET_ITEM(tensors, j)));
    rebuild = Obj::borrow(PyTuple_GET_ITEM(parts.get(), 1));
  }
  Tensors infer(VarsRef in) override {
    Obj shapes = Obj::steal(PyList_New(0));
    for (size_t i = 0; i < n; ++i)
      if (PyList_Append(shapes.get(), Obj::steal(tuple_of_ints(in[i].sizes())).get()) < 0) throw PyError();
    Obj result = Obj::steal(PyObject_CallOneArg(infer_shapes.get(), shapes.get()));
    rebuild = Obj();
    if (PyTuple_GET_ITEM(result.get(), 1) != Py_None) rebuild = Obj::borrow(PyTuple_GET_ITEM(result.get(), 1));
    Obj sizes = Obj::steal(PySequence_Fast(PyTuple_GET_ITEM(result.get(), 0), "infer"));
    Tensors hollows;
    for (Py_ssize_t j = 0; j < PySequence_Fast_GET_SIZE(sizes.get()); ++j)
      hollows.push_back(
          hollow(parse_ints(PySequence_Fast_GET_ITEM(sizes.get(), j), "shape"), real_dtype, in[0].data.device()));
    return hollows;
  }
  // Makes further inputs of the leaves that the run came to.
  void adopt(VarsRef in, Vars& out, c10::function_ref<std::optional<Var>(const at::Tensor&)> known) {
    if (!recorded) return;
    const size_t first = ends.size();
    Vars found;
    find_ends(
        ys,
        [&](const at::Tensor& t) -> std::optional<Var> {
          for (const at::Tensor& x : xs)
            if (x.is_same(t)) return Var();
          return known(t);
        },
        found, ends);
    bool any = false;
    for (size_t i = 0; i < first; ++i) any |= inputs[i]->requires_grad;
    const bool none = !any;
    for (const Var& x : found) {
      rank = std::max(rank, static_cast<int32_t>(x.rank()));
      any |= x.requires_grad();
      inputs.push_back(x.node ? x.node : make_node(x.data, false));
      inputs.back()->retain_data(x.data);
    }
    if (!any) {
      ys.clear();  // nobody will ask for a gradient
      return;
    }
    for (Var& y : out) {
      y.node->rank = rank + 1;
      y.node->requires_grad = true;
    }
    if (none)
      for (size_t i = 0; i < first; ++i) inputs[i]->retain_data(in[i].data);
  }
};

// A found leaf, or one of the engine's variables behind a function that `leave` made.
struct Ends {
  c10::function_ref<std::optional<Var>(const at::Tensor&)> known;
  Vars& xs;
  ta::edge_list& ends;
  std::unordered_set<const ta::Node*> seen;
  std::vector<std::pair<const ta::Node*, uint32_t>> places;  // outputs of `leave` that are ends already
  std::vector<const ta::Node*> todo;

  void visit(const ta::Edge& e) {
    if (!e.is_valid()) return;
    if (Var x = left(*e.function, e.input_nr); x.defined()) {
      const std::pair<const ta::Node*, uint32_t> place(e.function.get(), e.input_nr);
      if (std::find(places.begin(), places.end(), place) != places.end()) return;
      places.push_back(place);
      xs.push_back(std::move(x));
      ends.push_back(e);
      return;
    }
    if (!seen.insert(e.function.get()).second) return;
    if (auto* leaf = dynamic_cast<const ta::AccumulateGrad*>(e.function.get())) {
      std::optional<Var> x = known(leaf->variable);
      if (!x) x = torch_leaf_var(leaf->variable);
      if (!x->defined()) return;
      xs.push_back(std::move(*x));
      ends.push_back(e);
      return;
    }
    todo.push_back(e.function.get());
  }
};

PyObject* set_taken_apart(PyObject*, PyObject* f) {
  Py_XSETREF(taken_apart, Py_NewRef(f));
  Py_RETURN_NONE;
}

Var input(PyObject* o, Frontend* f, Py_ssize_t i) {
  const auto& node = as_variable(o)->v.node;
  if (!(node && node->deferred) && !tensor_of(as_variable(o)).defined())
    fail(PyExc_ValueError, "interop.call: Variable %zd of the arguments has no value yet", i);
  const bool later = node && node->deferred;
  if (later == static_cast<bool>(f->deferred)) return var_of(as_variable(o));
  return var_of(as_variable(cross(o, f, later ? "leave" : "cross").get()));
}

// torch_call(frontend, function, variables, pairs, info, infer): the result of function(*tensors), Variables in the
// places of tensors. pairs: (Variable, tensor) for torch leaves that have Variables of the frontend's own;
// where functions run later (info and infer are no None), for all that the function holds.
PyObject* torch_call(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 6 || !PyObject_TypeCheck(args[0], &FrontendType))
    return PyErr_Format(PyExc_TypeError, "torch_call expected a Frontend and five more arguments");
  auto* f = reinterpret_cast<Frontend*>(args[0]);
  Obj variables = Obj::steal(PySequence_Fast(args[2], "variables"));
  Vars in;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(variables.get()); ++i)
    in.push_back(input(PySequence_Fast_GET_ITEM(variables.get(), i), f, i));
  auto* call = new TorchCall(args[1], in.size());
  Ref<FunctionNode> node(call);
  call->frontend = f;
  std::unordered_map<const c10::TensorImpl*, Var> own;
  const bool later = args[5] != Py_None;
  if (args[3] != Py_None) {
    Obj pairs = Obj::steal(PySequence_Fast(args[3], "pairs"));
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(pairs.get()); ++k) {
      PyObject* pair = PySequence_Fast_GET_ITEM(pairs.get(), k);
      Var x = var_of(as_variable(PyTuple_GET_ITEM(pair, 0)));
      at::Tensor t = torch_tensor(PyTuple_GET_ITEM(pair, 1));
      if (later) {
        in.push_back(std::move(x));
        call->held.push_back(ta::impl::gradient_edge(t));
      } else {
        own.emplace(t.unsafeGetTensorImpl(), std::move(x));
      }
    }
  }
  if (later) {
    call->infer_shapes = Obj::borrow(args[5]);
    call->info = Obj::borrow(args[4]);
  }
  // A call of the native API goes on with any history; a frontend's own flag rules its own operators.
  const bool history =
      std::any_of(in.begin(), in.end(), [](const Var& x) { return x.requires_grad() && x.node->creator; });
  const ModeScope recording(Mode::recording, mode(Mode::recording) || (history && mode(Mode::enable_backprop)));
  Vars ys = apply_for(*node, in, f, !later);
  if (node->call && later)
    node->call->info = Py_NewRef(args[4]);
  else if (!later)
    call->adopt(in, ys, [&](const at::Tensor& t) -> std::optional<Var> {
      auto it = own.find(t.unsafeGetTensorImpl());
      if (it == own.end()) return std::nullopt;
      return it->second;
    });
  if (!call->rebuild) return wrap_var(std::move(ys[0]), f);
  Obj list = Obj::steal(PyList_New(ys.size()));
  for (size_t j = 0; j < ys.size(); ++j) PyList_SET_ITEM(list.get(), j, wrap_var(std::move(ys[j]), f));
  return PyObject_CallOneArg(call->rebuild.get(), list.get());
}

PyObject* torch_leaf(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 2 || !PyObject_TypeCheck(args[0], &FrontendType) || !is_tensor(args[1]))
    return PyErr_Format(PyExc_TypeError, "torch_leaf expected a Frontend and a tensor");
  return wrap_var(torch_leaf_var(torch_tensor(args[1])), reinterpret_cast<Frontend*>(args[0]));
}

// torch_leave(frontend, outputs[, inputs, tensors, grad]): the outputs as tensors of torch's graph, up to the leaves of
// the engine's. The inputs' places in torch's graph are those of the tensors. grad: as in `leave`, or None.
PyObject* torch_leave(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if ((n != 2 && n != 5) || !PyObject_TypeCheck(args[0], &FrontendType))
    return PyErr_Format(PyExc_TypeError, "torch_leave expected a Frontend and outputs, or three more arguments");
  auto* f = reinterpret_cast<Frontend*>(args[0]);
  Obj outputs = Obj::steal(PySequence_Fast(args[1], "outputs"));
  Vars ys;
  for (Py_ssize_t j = 0; j < PySequence_Fast_GET_SIZE(outputs.get()); ++j)
    ys.push_back(with_value(PySequence_Fast_GET_ITEM(outputs.get(), j)));
  Tensors out;
  if (n == 2) {
    out = leave(std::move(ys), f, {}, nullptr);
  } else {
    Obj xs = Obj::steal(PySequence_Fast(args[2], "inputs")), ts = Obj::steal(PySequence_Fast(args[3], "tensors"));
    Places places;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(xs.get()); ++i) {
      const at::Tensor t = torch_tensor(PySequence_Fast_GET_ITEM(ts.get(), i));
      const auto& x = node_of(as_variable(PySequence_Fast_GET_ITEM(xs.get(), i)));
      places.emplace(place_key(*x), t.requires_grad() ? ta::impl::gradient_edge(t) : ta::Edge());
    }
    out = leave(std::move(ys), f, places, args[4] == Py_None ? nullptr : args[4]);
  }
  Obj list = Obj::steal(PyList_New(out.size()));
  for (size_t j = 0; j < out.size(); ++j) PyList_SET_ITEM(list.get(), j, wrap_tensor(out[j]));
  return list.release();
}

// torch_enter(frontend, tensor): a Variable with torch's record of the tensor behind it.
PyObject* torch_enter(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 2 || !PyObject_TypeCheck(args[0], &FrontendType) || !is_tensor(args[1]))
    return PyErr_Format(PyExc_TypeError, "torch_enter expected a Frontend and a tensor");
  auto* f = reinterpret_cast<Frontend*>(args[0]);
  return wrap_var(enter(torch_tensor(args[1]), f), f);
}

// torch_record(function): (the torch function or None, its name, the tensors that torch recorded) of what torch_call
// and torch_enter made and of their gradients, else None.
PyObject* torch_record(PyObject*, PyObject* o) {
  auto* node = dynamic_cast<TorchNode*>(function_of_view(o));
  if (!node) Py_RETURN_NONE;
  auto* call = dynamic_cast<TorchCall*>(node);
  PyObject* function = !call ? Py_None : call->function ? call->function.get() : Py_None;
  if (call && call->module && call->module.get() != Py_None) function = PyWeakref_GetObject(call->module.get());
  Obj list = Obj::steal(PyList_New(0)), name = Obj::steal(PyUnicode_FromString(node->name().c_str()));
  for (const at::Tensor& y : node->ys)
    if (PyList_Append(list.get(), Obj::steal(wrap_tensor(y)).get()) < 0) throw PyError();
  return PyTuple_Pack(3, function, name.get(), list.get());
}

PyMethodDef functions[] = {{"torch_call", FAST(torch_call), nullptr},
                           {"torch_leaf", FAST(torch_leaf), nullptr},
                           {"torch_enter", FAST(torch_enter), nullptr},
                           {"torch_leave", FAST(torch_leave), nullptr},
                           {"set_taken_apart", set_taken_apart, METH_O, nullptr},
                           {"torch_record", guard<torch_record>, METH_O, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

TorchScope::TorchScope(bool record, bool lock)
    : keys_(torch_keys()), grad_mode_(c10::GradMode::is_enabled()), unlocked_(lock ? nullptr : PyEval_SaveThread()) {
  c10::GradMode::set_enabled(record);
}
TorchScope::~TorchScope() {
  if (unlocked_) PyEval_RestoreThread(unlocked_);
  c10::GradMode::set_enabled(grad_mode_);
}

ta::variable_list torch_gradients(const ta::edge_list& roots, const ta::variable_list& gys, const ta::edge_list& ends,
                                  bool create_graph) {
  try {
    const EndedPass pass(roots, gys, ends);
    TorchScope scope(create_graph, false);
    return ta::Engine::get_default_engine().execute(pass.roots(), gys, true, create_graph, false, ends);
  } catch (python_error& e) {
    e.restore();
    throw PyError();
  }
}

Var torch_leaf_var(const at::Tensor& parameter) {
  at::Tensor data = parameter.detach();
  Var leaf(make_node(data, true), data);
  leaf.node->buffer = std::make_unique<GradientBuffer>();
  leaf.node->buffer->data = parameter;
  return leaf;
}

void find_ends(c10::ArrayRef<at::Tensor> ys, c10::function_ref<std::optional<Var>(const at::Tensor&)> known, Vars& xs,
               ta::edge_list& ends) {
  Ends search{known, xs, ends, {}, {}, {}};
  for (const at::Tensor& y : ys)
    if (y.requires_grad()) search.visit(ta::impl::gradient_edge(y));
  while (!search.todo.empty()) {
    const ta::Node* n = search.todo.back();
    search.todo.pop_back();
    for (const ta::Edge& e : n->next_edges()) search.visit(e);
  }
}

Var enter(const at::Tensor& t, Frontend* f) {
  auto* function = new Entered(t);
  Ref<FunctionNode> node(function);
  function->frontend = f;
  Vars in;
  find_ends(t, [](const at::Tensor&) { return std::nullopt; }, in, function->ends);
  ModeScope recording(Mode::recording, f->on_request || mode(Mode::recording));
  return apply_for(*node, in, f)[0];
}
const at::Tensor* entered(const FunctionNode& f) {
  auto* e = dynamic_cast<const Entered*>(&f);
  return e ? &e->ys[0] : nullptr;
}

namespace {
// By torch's own accumulator, which calls the hooks of the leaf; with the gradient's history where the pass is
// recorded.
void accumulate_in_torch(const at::Tensor& leaf, Var g) {
  const bool recorded = g.requires_grad();
  at::Tensor t = std::move(g.data);
  if (recorded) t = leave({Var(std::move(g.node), std::move(t))}, active_frontend(), {}, nullptr)[0];
  try {
    TorchScope scope(recorded, true);
    // The accumulator takes what nobody else holds; that something else lies in the same memory it does not see.
    if (!recorded && !leaf.grad().defined() && t.has_storage() && t.storage().use_count() > 1) t = t.clone();
    ta::variable_list gs;
    gs.push_back(std::move(t));  // the only one to hold it, so that its memory may become `.grad`
    const auto accumulator = ta::impl::gradient_edge(leaf).function;
    if (!accumulator->pre_hooks().empty() || !accumulator->post_hooks().empty())
      fail(PyExc_RuntimeError,
           "a torch parameter has hooks on its accumulator (DistributedDataParallel sets them), which only torch's own "
           "pass calls: run it, compatgrad.interop.to('torch', loss).backward()");
    (*accumulator)(std::move(gs));
  } catch (python_error& e) {
    e.restore();
    throw PyError();
  }
}
}  // namespace

void init_torch_graph(PyObject* module) {
  add_to_torch = accumulate_in_torch;
  if (PyModule_AddFunctions(module, functions) < 0) throw PyError();
}

}  // namespace cg::py
