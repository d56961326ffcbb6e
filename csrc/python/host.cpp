// Deferred functions that are written in Python: composites of ops, and users' own functions on arrays.
#include <ATen/core/LegacyTypeDispatch.h>

#include "core/plan.h"
#include "python/deferred.h"

namespace cg::py {
namespace {

Obj list_of_tensors(c10::ArrayRef<at::Tensor> ts) {
  Obj list = Obj::steal(PyList_New(ts.size()));
  for (size_t i = 0; i < ts.size(); ++i)
    PyList_SET_ITEM(list.get(), i, ts[i].defined() ? wrap_tensor(ts[i]) : Py_NewRef(Py_None));
  return list;
}
Tensors tensors_of_list(PyObject* o, const char* what) {
  Obj seq = Obj::steal(PySequence_Fast(o, what));
  Tensors ts;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(seq.get()); ++i) {
    PyObject* t = PySequence_Fast_GET_ITEM(seq.get(), i);
    ts.push_back(t == Py_None ? at::Tensor() : unwrap_tensor(t, what));
  }
  return ts;
}
Obj flags(c10::ArrayRef<bool> bs) {
  Obj list = Obj::steal(PyList_New(bs.size()));
  for (size_t i = 0; i < bs.size(); ++i) PyList_SET_ITEM(list.get(), i, PyBool_FromLong(bs[i]));
  return list;
}
// (data, gradient) of each.
Obj array_pairs(c10::ArrayRef<Ref<Store>> stores) {
  Obj list = Obj::steal(PyList_New(0));
  for (auto& s : stores) {
    if (!s) continue;
    Obj data = Obj::steal(wrap_array(s->data)), grad = Obj::steal(wrap_array(s->grad));
    Obj pair = Obj::steal(PyTuple_Pack(2, data.get(), grad.get()));
    if (PyList_Append(list.get(), pair.get()) < 0) throw PyError();
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
    Obj shapes = Obj::steal(PyList_New(0));
    at::Device device = at::kCPU;
    for (const Var& x : in) {
      Obj shape = x.defined() ? Obj::steal(tuple_of_ints(x.sizes())) : Obj::borrow(Py_None);
      if (x.defined()) device = x.data.device();
      if (PyList_Append(shapes.get(), shape.get()) < 0) throw PyError();
    }
    Obj result = ask("infer", shapes.get());
    Obj seq = Obj::steal(PySequence_Fast(result.get(), "infer"));
    Tensors ys;
    for (Py_ssize_t j = 0; j < PySequence_Fast_GET_SIZE(seq.get()); ++j)
      ys.push_back(hollow(parse_ints(PySequence_Fast_GET_ITEM(seq.get(), j), "shape"), real_dtype, device));
    return ys;
  }
  Tensors forward(VarsRef in) override {
    Tensors ts;
    for (const Var& x : in) ts.push_back(x.data);
    if (on_arrays) {  // recorded and run at once: arrays for the occasion
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
    for (size_t i = 0; i < in.size() && changes_inputs; ++i)  // of another type, it would get a copy
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
  // In a pass that has no arrays: with arrays for the occasion.
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
  void backward(Ctx<at::Tensor>& c) override {
    if (on_arrays) return backward_at_once(c);
    Tensors in, out, gys;
    c10::SmallVector<bool, 4> wanted;
    for (size_t i = 0; i < c.inputs(); ++i) {
      in.push_back(mask.input(i) ? c.in(i) : at::Tensor());
      wanted.push_back(c.needs(i));
    }
    for (size_t j = 0; j < c.outputs(); ++j) {
      out.push_back(mask.output(j) ? c.out(j) : at::Tensor());
      gys.push_back(c.gy(j));
    }
    Obj xs = list_of_tensors(in), ys = list_of_tensors(out), gs = list_of_tensors(gys), w = flags(wanted);
    Tensors gxs = tensors_of_list(ask("backward", xs.get(), ys.get(), gs.get(), w.get()).get(), "backward");
    for (size_t i = 0; i < c.inputs() && i < gxs.size(); ++i)
      if (gxs[i].defined()) c.grad(i, [&] { return gxs[i]; });
  }
  void backward(Ctx<Var>& c) override {
    Vars in, out, gys;
    c10::SmallVector<bool, 4> wanted;
    for (size_t i = 0; i < c.inputs(); ++i) {
      in.push_back(c.in(i));
      wanted.push_back(c.needs(i));
    }
    for (size_t j = 0; j < c.outputs(); ++j) {
      out.push_back(c.out(j));
      gys.push_back(c.gy(j));
    }
    Obj xs = Obj::steal(tuple_of_variables(in, frontend)), ys = Obj::steal(tuple_of_variables(out, frontend)),
        gs = Obj::steal(tuple_of_variables(gys, frontend)), w = flags(wanted);
    Obj result = ask("gradient", xs.get(), ys.get(), gs.get(), w.get());
    Vars gxs(c.inputs());
    read_gradients(result.get(), wanted, gxs, "gradient");
    for (size_t i = 0; i < c.inputs(); ++i)
      if (gxs[i].defined()) c.grad(i, [&] { return gxs[i]; });
  }
};

}  // namespace

// apply_host(frontend, host, inputs, info) -> list of Variables
PyObject* apply_host(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    if (n != 4 || !PyObject_TypeCheck(args[0], &FrontendType))
      fail(PyExc_TypeError, "apply_host: expected a Frontend, a host, inputs and info");
    auto* f = reinterpret_cast<Frontend*>(args[0]);
    Obj seq = Obj::steal(PySequence_Fast(args[2], "inputs"));
    Vars in;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(seq.get()); ++i) {
      PyObject* x = PySequence_Fast_GET_ITEM(seq.get(), i);
      if (x == Py_None)
        in.emplace_back();
      else if (!is_variable(x))
        fail(PyExc_TypeError, "inputs[%zd]: expected a Variable, got %s", i, Py_TYPE(x)->tp_name);
      else if (const auto& n = as_variable(x)->v.node; n && n->deferred && !f->deferred)  // it is wanted now
        in.emplace_back(n, value_of(*n));
      else
        in.push_back(var_of(as_variable(x)));
    }
    Ref<FunctionNode> node(new HostNode(args[1], f));
    Vars ys = apply_for(*node, in, f);
    if (node->call && args[3] != Py_None) node->call->info = Py_NewRef(args[3]);
    Obj list = Obj::steal(PyList_New(ys.size()));
    for (size_t j = 0; j < ys.size(); ++j) PyList_SET_ITEM(list.get(), j, wrap_var(std::move(ys[j]), f));
    return list.release();
  });
}

// function_host(function) -> the host of a function that apply_host made, else None
PyObject* function_host(PyObject*, PyObject* o) {
  if (!is_function(o)) {
    PyErr_Format(PyExc_TypeError, "function_host: expected a FunctionNode, got %s", Py_TYPE(o)->tp_name);
    return nullptr;
  }
  PyObject* host = host_of(*as_function(o)->node);
  return Py_NewRef(host ? host : Py_None);
}

PyObject* host_of(FunctionNode& f) {
  if (f.python || f.info()) return nullptr;
  const auto* node = dynamic_cast<HostNode*>(&f);
  return node ? node->host.get() : nullptr;
}

}  // namespace cg::py
