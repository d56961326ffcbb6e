// Deferred functions written in Python: composites of ops, and users' functions on arrays.
#include <ATen/core/LegacyTypeDispatch.h>

#include "core/plan.h"
#include "python/deferred.h"

namespace cg::py {
namespace {

Obj list_of_tensors(c10::ArrayRef<at::Tensor> ts) {
  return list_of(ts.size(), [&](size_t i) { return wrap_tensor(ts[i]); });
}
Tensors tensors_of_list(PyObject* o, const char* what) {
  Tensors ts;
  for (PyObject* t : Items(o, what)) ts.push_back(t == Py_None ? at::Tensor() : unwrap_tensor(t, what));
  return ts;
}
Obj flags(c10::ArrayRef<bool> bs) {
  return list_of(bs.size(), [&](size_t i) { return PyBool_FromLong(bs[i]); });
}
// A list of pairs (data, gradient).
Obj array_pairs(c10::ArrayRef<Ref<Store>> stores) {
  List list;
  for (auto& s : stores) {
    if (!s) continue;
    Obj data = Obj::steal(wrap_array(s->data)), grad = Obj::steal(wrap_array(s->grad));
    list.add(PyTuple_Pack(2, data.get(), grad.get()));
  }
  return list;
}

// `host` has
//   integers, saves       as an op's: sets of inputs and outputs (compatgrad/core/masks.py)
//   on_arrays             whether it works on the arrays themselves, or on tensors
//   changes_inputs        optional: there if it writes into tensors that it gets
//   infer(shapes)         -> shapes of the outputs
//   forward(tensors), forward_again(tensors, with the random numbers of the last time) -> tensors
//                                               or  forward(input arrays, output arrays)
//   backward(inputs, outputs, gradients, wanted) -> tensors or None
//                                               or  backward(input arrays, output arrays, wanted, accumulate)
//   gradient(inputs, outputs, gradients, wanted) -> Variables or None: the backward as new functions
//   kept()                optional: the tensors that it holds for backward, by name; for pictures
//   source                optional: the Variable whose value it hands on from another frontend's graph; for pictures
struct HostNode final : FunctionNode {
  Obj host;
  Frontend* frontend;
  Mask integers, mask;
  bool on_arrays, keeps_gradients, changes_inputs;

  HostNode(PyObject* h, Frontend* f) : host(Obj::borrow(h)), frontend(f) {
    integers = Mask(number("integers"));
    mask = Mask(number("saves"));
    on_arrays = number("on_arrays");
    keeps_gradients = on_arrays && PyObject_HasAttrString(h, "keeps_gradients");
    changes_inputs = PyObject_HasAttrString(h, "changes_inputs");
  }
  uint64_t number(const char* name) const {
    Obj o = Obj::steal(PyObject_GetAttrString(host.get(), name));
    const uint64_t v = PyLong_AsUnsignedLongLong(o.get());
    if (PyErr_Occurred()) throw PyError();
    return v;
  }
  template <class... A>
  Obj ask(const char* method, A*... args) const {
    std::optional<Door> door;
    if (on_arrays) door.emplace();  // a user's function
    Obj bound = Obj::steal(PyObject_GetAttrString(host.get(), method));
    return Obj::steal(PyObject_CallFunctionObjArgs(bound.get(), args..., nullptr));
  }
  void describe_inputs(Call& call) const override {
    call.integers = integers;
    call.any_dtype = false;
    call.keeps_inputs = keeps_gradients;
  }
  Mask saves(c10::ArrayRef<bool>) const override { return mask; }

  Tensors infer(VarsRef in) override {
    at::Device device = at::kCPU;
    for (const Var& x : in)
      if (x.defined()) device = x.data.device();
    Obj shapes = list_of(in.size(),
                         [&](size_t i) { return in[i].defined() ? tuple_of_ints(in[i].sizes()) : Py_NewRef(Py_None); });
    Obj result = ask("infer", shapes.get());
    Tensors ys;
    for (PyObject* shape : Items(result.get(), "infer"))
      ys.push_back(hollow(parse_ints(shape, "shape"), real_dtype, device));
    return ys;
  }
  Tensors forward(VarsRef in) override {
    Tensors ts;
    for (const Var& x : in) ts.push_back(x.data);
    if (on_arrays) {  // recorded and run at once: makes temporary arrays
      Tensors ys = infer(in);
      c10::SmallVector<Ref<Store>, 4> xs, outs;
      for (auto& t : ts) {
        xs.emplace_back(t.defined() ? new Store(t.sizes()) : nullptr);
        if (t.defined()) xs.back()->data->put(t);
      }
      for (auto& y : ys) outs.emplace_back(new Store(y.sizes()));
      forward_on(xs, outs);
      for (size_t j = 0; j < ys.size(); ++j) ys[j] = outs[j]->data->read();
      return ys;
    }
    Obj list = list_of_tensors(ts);
    return tensors_of_list(ask(call && call->again ? "forward_again" : "forward", list.get()).get(), "forward");
  }
  bool forward_on(c10::ArrayRef<Ref<Store>> in, c10::ArrayRef<Ref<Store>> out) override {
    // An array of another type would be copied, and the copy changed
    for (size_t i = 0; i < in.size() && changes_inputs; ++i)
      if (in[i] && !integers.input(i) && in[i]->data->read().scalar_type() != call->real)
        in[i]->data->set_dtype(call->real);
    if (!on_arrays) return false;
    Obj xs = array_pairs(in), ys = array_pairs(out);
    ask("forward", xs.get(), ys.get());
    return true;
  }
  bool backward_on(c10::ArrayRef<Ref<Store>> in, c10::ArrayRef<Ref<Store>> out, c10::ArrayRef<bool> wanted,
                   c10::ArrayRef<bool> accumulate) override {
    if (!on_arrays) return false;
    for (size_t i = 0; i < in.size() && !keeps_gradients; ++i)
      if (in[i] && wanted[i] && !accumulate[i]) in[i]->grad->fill(0);
    Obj xs = array_pairs(in), ys = array_pairs(out), w = flags(wanted), a = flags(accumulate);
    ask("backward", xs.get(), ys.get(), w.get(), a.get());
    return true;
  }
  // For a pass that has no arrays: with temporary arrays.
  void backward_at_once(Ctx<at::Tensor>& c) {
    c10::SmallVector<Ref<Store>, 4> xs = input_stores(*this), ys;
    c10::SmallVector<bool, 4> wanted, none(c.inputs(), false);
    for (size_t i = 0; i < c.inputs(); ++i) {
      if (xs[i]) xs[i] = Ref<Store>(new Store(xs[i]->data, Ref<Array>(new Array(xs[i]->data->sizes))));
      wanted.push_back(c.needs(i));
    }
    for (size_t j = 0; j < c.outputs(); ++j) {
      ys.emplace_back(new Store(call->outputs[j]->data, Ref<Array>(new Array(call->outputs[j]->data->sizes))));
      if (c.gy(j).defined())
        ys.back()->grad->put(c.gy(j));
      else
        ys.back()->grad->fill(0);
    }
    backward_on(xs, ys, wanted, none);
    for (size_t i = 0; i < c.inputs(); ++i)
      if (xs[i]) c.grad(i, [&] { return xs[i]->grad->read(); });
  }
  // The arguments of a backward in Python.
  template <class T>
  struct Given {
    c10::SmallVector<T, 2> in, out, gys;
    c10::SmallVector<bool, 4> wanted;
    Given(Ctx<T>& c, Mask mask) {
      for (size_t i = 0; i < c.inputs(); ++i) {
        in.push_back(mask.input(i) ? c.in(i) : T());
        wanted.push_back(c.needs(i));
      }
      for (size_t j = 0; j < c.outputs(); ++j) {
        out.push_back(mask.output(j) ? c.out(j) : T());
        gys.push_back(c.gy(j));
      }
    }
  };
  void backward(Ctx<at::Tensor>& c) override {
    if (on_arrays) return backward_at_once(c);
    const Given<at::Tensor> g(c, mask);
    Obj xs = list_of_tensors(g.in), ys = list_of_tensors(g.out), gs = list_of_tensors(g.gys), w = flags(g.wanted);
    Tensors gxs = tensors_of_list(ask("backward", xs.get(), ys.get(), gs.get(), w.get()).get(), "backward");
    for (size_t i = 0; i < c.inputs() && i < gxs.size(); ++i)
      if (gxs[i].defined()) c.grad(i, [&] { return gxs[i]; });
  }
  void backward(Ctx<Var>& c) override {
    const Given<Var> g(c, Mask(~uint64_t(0)));
    Obj xs = Obj::steal(tuple_of_variables(g.in, frontend)), ys = Obj::steal(tuple_of_variables(g.out, frontend)),
        gs = Obj::steal(tuple_of_variables(g.gys, frontend)), w = flags(g.wanted);
    Obj result = ask("gradient", xs.get(), ys.get(), gs.get(), w.get());
    Vars gxs(c.inputs());
    read_gradients(result.get(), g.wanted, gxs, "gradient");
    for (size_t i = 0; i < c.inputs(); ++i)
      if (gxs[i].defined()) c.grad(i, [&] { return gxs[i]; });
  }
};

}  // namespace

// apply_host(frontend, host, inputs, info) -> list of Variables
PyObject* apply_host(PyObject*, PyObject* const* args, Py_ssize_t n) {
  Frontend* f = expect_frontend(args[0]);
  const auto read = [f](PyVariable* x) {
    const auto& node = x->v.node;
    const bool now = node && node->deferred && !f->deferred;  // the value is needed at once
    return now ? Var(node, value_of(*node)) : var_of(x);
  };
  const Vars in = read_variables(args[2], "inputs", true, read);
  Ref<FunctionNode> node(new HostNode(args[1], f));
  Vars ys = apply_for(*node, in, f);
  if (node->call && args[3] != Py_None) node->call->info = Py_NewRef(args[3]);
  return list_of(ys.size(), [&](size_t j) { return wrap_var(std::move(ys[j]), f); }).release();
}

// function_host(function): the host of a function that apply_host made, otherwise None
PyObject* function_host(PyObject*, PyObject* o) {
  if (!is_function(o)) fail(PyExc_TypeError, "function_host: expected a FunctionNode, got %s", Py_TYPE(o)->tp_name);
  PyObject* host = host_of(*as_function(o)->node);
  return Py_NewRef(host ? host : Py_None);
}

PyObject* host_of(FunctionNode& f) {
  if (f.python || f.info()) return nullptr;
  const auto* node = dynamic_cast<HostNode*>(&f);
  return node ? node->host.get() : nullptr;
}

}  // namespace cg::py
