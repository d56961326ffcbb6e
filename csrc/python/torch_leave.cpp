// Pieces of the engine's graph as functions of torch's graph.
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/add.h>
#include <torch/csrc/autograd/saved_variable.h>

#include "core/plan.h"
#include "python/torch_pieces.h"

namespace cg::py {
namespace {

uint32_t version(const at::Tensor& t) { return t.defined() && !t.is_inference() ? t._version() : 0; }

Tensors as_functions(Piece piece);  // returns ys as tensors

// Computes gradients of `xs` from gradients of `ys`.
//
// Each function of the engine's graph belongs to at most one EngineFunction: that of the first variable that left the
// engine and depends on the function. A piece that leaves later ends where it reaches such a function, and connects to
// a further output of the function's owner. So torch goes through the graph once, even if a value leaves at each of a
// thousand time steps.
struct EngineFunction final : EndingNode {
  using Weak = WeakOf<TorchNodePtr>::type;
  struct Owner {
    EngineFunction* raw;
    Weak node;
  };
  static std::unordered_map<const FunctionNode*, Owner>& owners() {
    return immortal<std::unordered_map<const FunctionNode*, Owner>>();
  }
  Vars ys, xs;
  c10::SmallVector<uint32_t, 4> versions;  // of xs, then ys
  std::vector<Ref<FunctionNode>> functions;
  Frontend* frontend;
  Obj grad;
  bool released = false, bounded;
  const size_t left;  // from this index on, ys are outputs that other pieces connect to
  // Cells of xs, set when this function is released; the remaining ys then lead to xs.
  std::vector<std::shared_ptr<VariableNode*>> cells;

  explicit EngineFunction(Piece p)
      : EndingNode(std::move(p.ends)),
        ys(std::move(p.ys)),
        xs(std::move(p.xs)),
        functions(std::move(p.functions)),
        frontend(p.frontend),
        bounded(p.bounded),
        left(ys.size()) {
    if (p.grad) grad = Obj::borrow(p.grad);
    for (const Var& v : xs) versions.push_back(version(v.data));
    for (const Var& v : ys) versions.push_back(version(v.data));
  }
  // The edge through which another piece passes the gradient of `x`, a result of one of the functions.
  static ta::Edge enter_at(const Ref<VariableNode>& x) {
    auto it = owners().find(x->creator.get());
    if (it == owners().end()) return {};
    TorchNodePtr node = it->second.node.lock();
    if (!node) return {};
    EngineFunction& f = *it->second.raw;
    Var y(x, data_of(*x));
    const auto like = at::TensorOptions().dtype(x->dtype).device(x->device);
    const uint32_t k = f.add_input_metadata(y.defined() ? y.data : at::empty({}, like).expand(x->sizes));
    f.versions.push_back(version(y.data));
    f.ys.push_back(std::move(y));
    return {std::move(node), k};
  }
  void own(const TorchNodePtr& self) {
    for (auto& f : functions) owners().insert_or_assign(f.get(), Owner{this, Weak(self)});
  }
  void let_go() {
    xs.clear();
    std::fill_n(ys.begin(), left, Var());
    for (auto& f : functions)
      if (auto it = owners().find(f.get()); it != owners().end() && it->second.raw == this) owners().erase(it);
    functions.clear();
  }
  ~EngineFunction() override {
    if (!Py_IsInitialized()) {  // the interpreter has ended: leave the counts alone
      for (Vars* vs : {&xs, &ys})
        for (Var& v : *vs) new (&v.node) Ref<VariableNode>();
      for (auto& f : functions) new (&f) Ref<FunctionNode>();
      grad.release();
      return;
    }
    Locked lock;
    for (const ta::Edge& e : next_edges())
      if (auto* f = dynamic_cast<EngineFunction*>(e.function.get()); f && e.input_nr >= f->left)
        f->ys[e.input_nr] = Var();  // no piece connects to it any more
    let_go();
    ys.clear();
    grad = Obj();
  }
  std::string name() const override { return "CompatgradBackward"; }

  void check_versions() const {
    size_t k = 0;
    for (const Vars* vs : {&xs, &ys})
      for (const Var& v : *vs)
        if (const uint32_t was = versions[k++]; v.node && v.node->retained && version(v.data) != was)
          throw std::runtime_error(
              "one of the tensors that the gradient of a compatgrad graph reads was changed in place: it is at "
              "version " +
              std::to_string(version(v.data)) + ", and was at " + std::to_string(was));
  }
  // Called by torch after a pass that does not retain the graph has gone through this node.
  void release_variables() override {
    Locked lock;
    if (std::exchange(released, true)) return;
    for (const Var& x : xs) {
      if (!x.node->cell) x.node->cell = std::make_shared<VariableNode*>(x.node.get());
      cells.push_back(x.node->cell);
    }
    let_go();
  }
  // After the release, gradients of other pieces still pass through, once each.
  struct Again {
    EngineFunction& f;
    const ta::variable_list& gys;
    Again(EngineFunction& g, const ta::variable_list& given) : f(g), gys(given) {
      if (!f.released) return;
      bool alive = true;
      for (size_t j = 0; j < gys.size(); ++j) alive &= !gys[j].defined() || f.ys[j].node;
      for (auto& cell : f.cells) alive &= *cell != nullptr;
      if (!alive) throw std::runtime_error(ta::ERR_BACKWARD_TWICE);
      for (auto& cell : f.cells) f.xs.emplace_back(Ref<VariableNode>(*cell), data_of(**cell));
    }
    ~Again() {
      if (!f.released) return;
      f.let_go();
      for (size_t j = 0; j < gys.size(); ++j)
        if (gys[j].defined()) f.ys[j] = Var();
    }
  };
  ta::variable_list apply(ta::variable_list&& gys) override {
    if (ends_here(this)) return ta::variable_list(num_outputs());
    Locked lock;
    return for_torch([&] {
      const Again again(*this, gys);
      return gradients(gys);
    });
  }
  ta::variable_list gradients(const ta::variable_list& gys) {
    check_versions();
    const bool record = c10::GradMode::is_enabled();
    Vars outputs, inputs, starts;
    ta::variable_list given;
    c10::SmallVector<size_t, 4> wanted;
    for (size_t j = 0; j < gys.size(); ++j)
      if (gys[j].defined() && ys[j].requires_grad()) {
        const auto known =
            std::find_if(outputs.begin(), outputs.end(), [&](const Var& y) { return y.node == ys[j].node; });
        if (known != outputs.end()) {  // the variable left, and another piece connects to the same output
          at::Tensor& sum = given[known - outputs.begin()];
          sum = at::add(sum, gys[j]);
          continue;
        }
        outputs.push_back(ys[j]);
        given.push_back(gys[j]);
      }
    for (size_t i = 0; i < xs.size(); ++i)
      if (task_should_compute_output(i)) {
        wanted.push_back(i);
        inputs.push_back(xs[i]);
      }
    ta::variable_list result(xs.size());
    if (outputs.empty() || wanted.empty()) return result;
    for (const at::Tensor& g : given) {
      const bool recorded = record && g.requires_grad();
      starts.push_back(recorded && !bounded ? enter(g, frontend) : Var(g.detach()));
      if (recorded && bounded) starts.back().node = make_node(g, true);
    }
    Vars found = run(outputs, inputs, starts, record);
    if (!record) {
      for (size_t k = 0; k < wanted.size(); ++k) result[wanted[k]] = std::move(found[k].data);
      unite(gys, result);
      return result;
    }
    Vars all = xs;
    ta::edge_list ends = next_edges();
    for (size_t k = 0; k < given.size(); ++k)
      if (given[k].requires_grad()) {
        all.push_back(std::move(starts[k]));
        ends.push_back(ta::impl::gradient_edge(given[k]));
      }
    Tensors out = as_functions({std::move(found), std::move(all), std::move(ends), {}, frontend, grad.get(), bounded});
    for (size_t k = 0; k < wanted.size(); ++k) result[wanted[k]] = std::move(out[k]);
    return result;
  }
  Obj variables(VarsRef vs) const {
    return list_of(vs.size(), [&](size_t i) { return variable_of_node(vs[i].node, frontend); });
  }
  // `starts` is set to the variables from which the pass starts.
  Vars run(VarsRef outputs, VarsRef inputs, Vars& starts, bool record) {
    FrontendScope scope(frontend);
    if (!grad) {
      PassOptions options;
      options.create_graph = record;
      std::unordered_set<const FunctionNode*> stops;  // torch continues from there
      for (const Var& x : xs)
        if (const auto& f = x.node->creator; f && (!bounded || entered(*f))) stops.insert(f.get());
      if (!stops.empty()) options.stops = &stops;
      Vars found = cg::grad(outputs, inputs, starts, {}, options);
      for (Var& g : found)
        if (g.node && g.node->deferred) g = with_value(result_of(g, frontend).get());
      return found;
    }
    Obj y = variables(outputs), x = variables(inputs),
        g = list_of(starts.size(), [&](size_t k) { return wrap_tensor(starts[k].data); });
    Obj both = Obj::steal(
        PyObject_CallFunctionObjArgs(grad.get(), y.get(), x.get(), g.get(), record ? Py_True : Py_False, nullptr));
    settle();
    Vars found;
    for (size_t k = 0; k < inputs.size(); ++k)
      found.push_back(with_value(PyList_GET_ITEM(PyTuple_GET_ITEM(both.get(), 0), k)));
    for (size_t k = 0; k < starts.size(); ++k)
      starts[k] = with_value(PyList_GET_ITEM(PyTuple_GET_ITEM(both.get(), 1), k));
    return found;
  }
};

Tensors as_functions(Piece piece) {
  Tensors out;
  bool any = false;
  for (const Var& y : piece.ys) any |= y.requires_grad();
  {
    TorchScope scope(false, true);
    for (const Var& y : piece.ys) out.push_back(!y.defined() ? at::Tensor() : y.data.detach());
  }
  if (!any || piece.xs.empty()) return out;  // nothing needs a gradient
  auto function = make_torch_node<EngineFunction>(std::move(piece));
  EngineFunction& made = *function;
  made.own(TorchNodePtr(function));
  for (size_t j = 0; j < out.size(); ++j) {
    const at::Tensor& t = out[j];
    if (t.defined() && made.ys[j].requires_grad() && (t.is_floating_point() || t.is_complex()))
      ta::impl::set_gradient_edge(t, {function, function->add_input_metadata(t)});
    else
      function->add_input_metadata(ta::Node::undefined_input());
  }
  return out;
}

}  // namespace

Tensors leave(Vars ys, Frontend* f, const Places& places, PyObject* grad) {
  Piece piece{.frontend = f, .grad = grad, .bounded = !places.empty()};
  Vars& xs = piece.xs;
  ta::edge_list& ends = piece.ends;
  const bool shared = !grad && places.empty();  // whether functions are shared with other pieces
  std::unordered_set<const void*> seen;
  std::vector<VariableNode*> todo;
  for (const Var& y : ys)
    if (y.node) todo.push_back(y.node.get());
  while (!todo.empty()) {
    VariableNode* x = todo.back();
    todo.pop_back();
    // If a frontend looks for places itself, it finds all variables that share arrays.
    if (!x->requires_grad || !seen.insert(grad ? place_key(*x) : x).second) continue;
    if (auto place = places.find(place_key(*x)); place != places.end()) {
      if (!place->second.is_valid()) continue;
      ends.push_back(place->second);
      xs.emplace_back(Ref<VariableNode>(x), data_of(*x));
    } else if (!x->creator) {
      const bool writable = x->deferred || (x->buffer ? x->buffer->data.defined() : x->variable != nullptr);
      at::Tensor data = writable ? data_of(*x) : at::Tensor();
      if (!data.defined()) continue;  // its gradient cannot be read
      Var leaf(Ref<VariableNode>(x), std::move(data));
      ends.push_back(edge_of_leaf(leaf, f));
      xs.push_back(std::move(leaf));
    } else if (const at::Tensor* t = entered(*x->creator)) {
      ends.push_back(ta::impl::gradient_edge(*t));
      xs.emplace_back(Ref<VariableNode>(x), *t);
    } else {
      if (shared && !x->creator->call) {
        const Ref<VariableNode> node(x);
        if (ta::Edge e = EngineFunction::enter_at(node); e.is_valid()) {
          ends.push_back(std::move(e));
          xs.emplace_back(node, data_of(*x));
          continue;
        }
        if (piece.functions.empty() || piece.functions.back() != x->creator) piece.functions.push_back(x->creator);
      }
      for (auto& i : x->creator->inputs)
        if (i) todo.push_back(i.get());
    }
  }
  piece.ys = std::move(ys);
  return as_functions(std::move(piece));
}

Var left(const ta::Node& n, uint32_t k) {
  if (Var leaf = left_leaf(n); leaf.node) return leaf;
  auto* function = dynamic_cast<const EngineFunction*>(&n);
  if (!function || function->released || function->bounded) return {};
  return function->ys[k];
}

}  // namespace cg::py
