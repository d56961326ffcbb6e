// The functions by which Python runs passes.
#include <ATen/ops/ones_like.h>

#include "core/arithmetic.h"
#include "core/mode.h"
#include "python/deferred.h"
#include "python/joined.h"

namespace cg::py {
namespace {

// The arguments of a pass that the frontend `f` starts.
struct Roots {
  Vars ys, gys;
  Roots(PyObject* outputs, PyObject* gradients, Frontend* f)
      : ys(variables(outputs, "outputs", false, f)), gys(variables(gradients, "grad_outputs", true, f)) {
    if (ys.size() != gys.size()) fail(PyExc_ValueError, "grad_outputs: expected %zu, got %zu", ys.size(), gys.size());
    for (size_t k = 0; k < gys.size() && f->on_request; ++k)  // if a program may omit a gradient, ones are used
      if (!gys[k].defined()) gys[k] = Var(at::ones_like(ys[k].data));
  }
  // `side`: Variables of graphs that run at another time than this frontend's graph are converted to the frontend.
  static Vars variables(PyObject* o, const char* name, bool allow_none, Frontend* side = nullptr) {
    return read_variables(o, name, allow_none, [side](PyVariable* v) {
      PyObject* x = reinterpret_cast<PyObject*>(v);
      const Obj own = side && side->deferred != v->frontend->deferred ? cross(x, side) : Obj::borrow(x);
      node_of(as_variable(own.get()));
      return var_of(as_variable(own.get()));
    });
  }
};

PassOptions read_options(int retain_grad, PyObject* loss_scale, int create_graph, int release, Frontend* f) {
  PassOptions o;
  o.release = release;
  o.zeros = f->on_request;
  o.retain_grad = retain_grad;
  o.create_graph = create_graph;
  o.show_functions = forwards_observed();
  if (loss_scale != Py_None) o.loss_scale = number(loss_scale, "loss_scale");
  return o;
}

// The watch of the next pass of this thread. A thread that ends before its pass leaks the watch, because its
// destruction needs the interpreter.
thread_local LeafWatch* next_watch = nullptr;

void py_watch_leaves(PyObject*, PyObject* args) {
  PyObject *leaves, *callback;
  if (!PyArg_ParseTuple(args, "OO:watch_leaves", &leaves, &callback)) throw PyError();
  const std::unique_ptr<LeafWatch> before(std::exchange(next_watch, nullptr));
  if (callback == Py_None) return;
  if (!PyCallable_Check(callback)) fail(PyExc_TypeError, "callback must be callable or None");
  Nodes nodes;
  read_variables(leaves, "leaves", false, [&](PyVariable* v) {
    node_of(v);
    nodes.push_back(v->v.node);
    return Var();
  });
  next_watch =
      new LeafWatch(std::move(nodes), [held = std::make_shared<Obj>(Obj::borrow(callback))](size_t leaf, const Var& g) {
        const Obj tensor = Obj::steal(wrap_tensor(g.data));
        Obj::steal(PyObject_CallFunction(held->get(), "nO", static_cast<Py_ssize_t>(leaf), tensor.get()));
      });
}

void py_backward(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {
      "frontend", "outputs", "grad_outputs", "retain_grad", "loss_scale", "enable_double_backprop", "release", nullptr};
  PyObject *frontend, *outputs, *grads, *loss_scale = Py_None;
  int retain = 0, create_graph = 0, release = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!OO|pOpp:backward", const_cast<char**>(names), &FrontendType,
                                   &frontend, &outputs, &grads, &retain, &loss_scale, &create_graph, &release))
    throw PyError();
  auto* fe = reinterpret_cast<Frontend*>(frontend);
  FrontendScope scope(fe);
  const RunningPass pass(true);
  const std::unique_ptr<LeafWatch> watch(std::exchange(next_watch, nullptr));
  const Roots roots(outputs, grads, fe);
  PassOptions options = read_options(retain, loss_scale, create_graph, release, fe);
  options.watch = watch.get();
  backward(roots.ys, roots.gys, options);
}

// `grad`, in which an input of a deferred graph stands for all nodes that share its arrays, unless the frontend has
// already collected these nodes.
Vars grad_of_places(VarsRef ys, VarsRef xs, VarsRef gys, VarsRef initial, const PassOptions& options, Frontend* f) {
  const auto deferred = [](const Var& x) { return x.node->deferred != nullptr; };
  if (f->deferred || std::none_of(xs.begin(), xs.end(), deferred)) return grad(ys, xs, gys, initial, options);
  Vars all, starts, result;
  std::vector<size_t> counts;
  for (size_t i = 0; auto& nodes : places_of(xs, ys)) {
    if (nodes.empty()) nodes.push_back(xs[i].node);
    counts.push_back(nodes.size());
    for (size_t k = 0; k < nodes.size(); ++k) {
      all.emplace_back(nodes[k], xs[i].data);
      if (!initial.empty()) starts.push_back(k ? Var() : initial[i]);
    }
    ++i;
  }
  const Vars found = grad(ys, all, gys, starts, options);
  size_t next = 0;
  for (size_t i = 0; i < xs.size(); ++i) {
    Vars parts;
    for (size_t k = 0; k < counts[i]; ++k, ++next)
      if (found[next].defined()) parts.push_back(found[next]);
    const ModeScope side(Mode::deferred, options.create_graph), enabled(Mode::enable_backprop, options.create_graph);
    const EngineScope engine;
    result.push_back(parts.empty() ? Var() : parts.size() == 1 ? parts[0] : add_n(VarsRef(parts)));
  }
  return result;
}

PyObject* py_grad(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"frontend",    "outputs",     "inputs",     "grad_outputs",
                                "grad_inputs", "retain_grad", "loss_scale", "enable_double_backprop",
                                "release",     nullptr};
  PyObject *frontend, *outputs, *inputs, *grads, *initial = Py_None, *loss_scale = Py_None;
  int retain = 0, create_graph = 0, release = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!OOO|OpOpp:grad", const_cast<char**>(names), &FrontendType,
                                   &frontend, &outputs, &inputs, &grads, &initial, &retain, &loss_scale, &create_graph,
                                   &release))
    return nullptr;
  auto* fe = reinterpret_cast<Frontend*>(frontend);
  FrontendScope scope(fe);
  const RunningPass pass(true);
  ModeScope style(Mode::deferred, fe->deferred);
  const Roots roots(outputs, grads, fe);
  const Vars xs = Roots::variables(inputs, "inputs", false),
             gxs = initial == Py_None ? Vars() : Roots::variables(initial, "grad_inputs", true);
  if (!gxs.empty() && gxs.size() != xs.size())
    fail(PyExc_ValueError, "grad_inputs: expected %zu, got %zu", xs.size(), gxs.size());
  const PassOptions options = read_options(retain, loss_scale, create_graph, release, fe);
  Vars result = grad_of_places(roots.ys, xs, roots.gys, gxs, options, fe);
  return list_of(result.size(), [&](size_t i) { return result_of(std::move(result[i]), fe).release(); }).release();
}

}  // namespace

Obj result_of(Var g, Frontend* f) {
  if (!g.defined()) return Obj::borrow(Py_None);
  if (!g.node) g.node = make_node(g.data, true);
  if (static_cast<bool>(g.node->deferred) == static_cast<bool>(f->deferred)) return Obj::steal(variable_of(g, f));
  Frontend* own = g.node->creator    ? frontend_of(*g.node->creator)
                  : g.node->deferred ? deferred_frontend
                                     : native_frontend;
  Obj x = Obj::steal(variable_of(g, own));
  return cross(x.get(), f);
}

PyMethodDef pass_methods[] = {
    {"backward", KEYWORDS(py_backward), "Backpropagates from outputs to all leaves."},
    {"grad", KEYWORDS(py_grad), "Gradients of inputs."},
    {"watch_leaves", guard<py_watch_leaves>, METH_VARARGS,
     "watch_leaves(variables, callback): the next `backward` of this thread calls callback(i, "
     "gradient) as soon as nothing is added to the gradient of variable i any more."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace cg::py
