// Calls of torch functions, and conversions between both graphs, for Python.
#include <ATen/core/LegacyTypeDispatch.h>

#include "python/torch_graph.h"

namespace cg::py {
namespace {

PyObject* taken_apart = nullptr;  // taken_apart(result, name) -> (tensors, rebuild), for a result that is not a tensor
bool differentiable(const at::Tensor& t) { return t.is_floating_point() || t.is_complex(); }

// A call of a function of tensors. Torch leaves that the function uses are further inputs.
struct TorchCall final : TorchNode {
  Obj function, infer_shapes;
  Obj rebuild;  // builds the function's result from a list of replacements for its tensors; null: the result is one
                // tensor
  Obj module;   // a weak reference to the function, after it ran
  std::string label;
  size_t n;  // number of inputs that are passed to the function
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
    if (!infer_shapes) {  // it runs once, so its objects may refer to results of this node
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
    Obj shapes = list_of(n, [&](size_t i) { return tuple_of_ints(in[i].sizes()); });
    Obj result = Obj::steal(PyObject_CallOneArg(infer_shapes.get(), shapes.get()));
    rebuild = Obj();
    if (PyTuple_GET_ITEM(result.get(), 1) != Py_None) rebuild = Obj::borrow(PyTuple_GET_ITEM(result.get(), 1));
    Tensors hollows;
    for (PyObject* sizes : Items(PyTuple_GET_ITEM(result.get(), 0), "infer"))
      hollows.push_back(hollow(parse_ints(sizes, "shape"), real_dtype, in[0].data.device()));
    return hollows;
  }
  // Adds the leaves that the run used as further inputs.
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
      ys.clear();  // no gradient will be needed
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

void set_taken_apart(PyObject*, PyObject* f) { Py_XSETREF(taken_apart, Py_NewRef(f)); }

Var input(PyObject* o, Frontend* f, Py_ssize_t i) {
  const auto& node = as_variable(o)->v.node;
  if (!(node && node->deferred) && !tensor_of(as_variable(o)).defined())
    fail(PyExc_ValueError, "interop.call: Variable %zd of the arguments has no value yet", i);
  const bool later = node && node->deferred;
  if (later == static_cast<bool>(f->deferred)) return var_of(as_variable(o));
  return var_of(as_variable(cross(o, f, later ? "leave" : "cross").get()));
}

// torch_call(frontend, function, variables, pairs, info, infer): the result of function(*tensors), with Variables in
// place of tensors. pairs: (Variable, tensor) for torch leaves that have Variables of the frontend; if functions run
// later (info and infer are not None), for all leaves that the function uses.
PyObject* torch_call(PyObject*, PyObject* const* args, Py_ssize_t n) {
  Frontend* f = expect_frontend(args[0]);
  const Items variables(args[2], "variables");
  Vars in;
  for (Py_ssize_t i = 0; i < variables.size(); ++i) in.push_back(input(variables[i], f, i));
  auto* call = new TorchCall(args[1], in.size());
  Ref<FunctionNode> node(call);
  call->frontend = f;
  std::unordered_map<const c10::TensorImpl*, Var> own;
  const bool later = args[5] != Py_None;
  if (args[3] != Py_None)
    for (PyObject* pair : Items(args[3], "pairs")) {
      Var x = var_of(as_variable(PyTuple_GET_ITEM(pair, 0)));
      at::Tensor t = torch_tensor(PyTuple_GET_ITEM(pair, 1));
      if (later) {
        in.push_back(std::move(x));
        call->held.push_back(ta::impl::gradient_edge(t));
      } else {
        own.emplace(t.unsafeGetTensorImpl(), std::move(x));
      }
    }
  if (later) {
    call->infer_shapes = Obj::borrow(args[5]);
    call->info = Obj::borrow(args[4]);
  }
  // A call by the native API is recorded with any history; for a frontend's operators the frontend's mode decides.
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
  Obj list = list_of(ys.size(), [&](size_t j) { return wrap_var(std::move(ys[j]), f); });
  return PyObject_CallOneArg(call->rebuild.get(), list.get());
}

at::Tensor expect_tensor(PyObject* o) {
  if (!is_tensor(o)) fail(PyExc_TypeError, "expected a torch tensor, got %s", Py_TYPE(o)->tp_name);
  return torch_tensor(o);
}

PyObject* torch_leaf(PyObject*, PyObject* const* args, Py_ssize_t n) {
  Frontend* f = expect_frontend(args[0]);
  return wrap_var(torch_leaf_var(expect_tensor(args[1])), f);
}

// torch_leave(frontend, outputs[, inputs, tensors, grad]): the outputs as tensors of torch's graph, connected down to
// the leaves of the engine's graph. The inputs have the places of `tensors` in torch's graph. grad: as in `leave`, or
// None.
PyObject* torch_leave(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 2 && n != 5)
    fail(PyExc_TypeError, "torch_leave: expected a Frontend and outputs, or three more arguments, got %zd", n);
  Frontend* f = expect_frontend(args[0]);
  Vars ys;
  for (PyObject* y : Items(args[1], "outputs")) ys.push_back(with_value(y));
  Tensors out;
  if (n == 2) {
    out = leave(std::move(ys), f, {}, nullptr);
  } else {
    const Items xs(args[2], "inputs"), ts(args[3], "tensors");
    Places places;
    for (Py_ssize_t i = 0; i < xs.size(); ++i) {
      const at::Tensor t = torch_tensor(ts[i]);
      const auto& x = node_of(as_variable(xs[i]));
      places.emplace(place_key(*x), t.requires_grad() ? ta::impl::gradient_edge(t) : ta::Edge());
    }
    out = leave(std::move(ys), f, places, args[4] == Py_None ? nullptr : args[4]);
  }
  return list_of(out.size(), [&](size_t j) { return wrap_tensor(out[j]); }).release();
}

// torch_enter(frontend, tensor): a Variable that continues torch's graph of the tensor.
PyObject* torch_enter(PyObject*, PyObject* const* args, Py_ssize_t n) {
  Frontend* f = expect_frontend(args[0]);
  return wrap_var(enter(expect_tensor(args[1]), f), f);
}

// torch_record(function): for functions made by torch_call and torch_enter, and for their gradients: (the torch
// function or None, its name, the tensors that torch recorded); None for others.
PyObject* torch_record(PyObject*, PyObject* o) {
  auto* node = dynamic_cast<TorchNode*>(function_of_view(o));
  if (!node) Py_RETURN_NONE;
  auto* call = dynamic_cast<TorchCall*>(node);
  PyObject* function = !call ? Py_None : call->function ? call->function.get() : Py_None;
  if (call && call->module && call->module.get() != Py_None) function = PyWeakref_GetObject(call->module.get());
  Obj name = Obj::steal(PyUnicode_FromString(node->name().c_str())),
      list = list_of(node->ys.size(), [&](size_t j) { return wrap_tensor(node->ys[j]); });
  return PyTuple_Pack(3, function, name.get(), list.get());
}

}  // namespace

PyMethodDef torch_functions[] = {{"torch_call", FAST(torch_call, 6), nullptr},
                                 {"torch_leaf", FAST(torch_leaf, 2), nullptr},
                                 {"torch_enter", FAST(torch_enter, 2), nullptr},
                                 {"torch_leave", FAST(torch_leave), nullptr},
                                 {"set_taken_apart", guard<set_taken_apart>, METH_O, nullptr},
                                 {"torch_record", guard<torch_record>, METH_O, nullptr},
                                 {nullptr, nullptr, 0, nullptr}};

}  // namespace cg::py
