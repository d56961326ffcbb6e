// Pieces of torch's graph as functions of the engine's graph.
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>

#include "python/torch_graph.h"

namespace cg::py {
namespace {

c10::impl::LocalDispatchKeySet torch_keys() {
  auto keys = c10::impl::tls_local_dispatch_key_set();
  keys.excluded_ = keys.excluded_ - c10::autograd_dispatch_keyset_with_ADInplaceOrView;
  if (whereabouts.inside) {  // torch.autocast applies to torch's modules
    const auto outside = c10::impl::LocalDispatchKeySet(whereabouts.keys).excluded_ & c10::autocast_dispatch_keyset;
    keys.excluded_ = (keys.excluded_ - c10::autocast_dispatch_keyset) | outside;
  }
  return keys;
}

template <class T>
std::pair<c10::SmallVector<size_t, 4>, c10::SmallVector<size_t, 4>> asked(const TorchNode& f, Ctx<T>& c) {
  c10::SmallVector<size_t, 4> from, to;
  const bool ran = !f.ys.empty();  // a deferred graph may be extended before it runs
  for (size_t j = 0; j < c.outputs(); ++j)
    if (c.gy(j).defined() && (!ran || f.ys[j].requires_grad())) from.push_back(j);
  for (size_t i = 0; i < c.inputs(); ++i)
    if (c.needs(i) && (!ran || f.ends[i].is_valid())) to.push_back(i);
  return {std::move(from), std::move(to)};
}

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

// A tensor that torch computed and that entered the engine's graph.
struct Entered final : TorchNode {
  explicit Entered(const at::Tensor& t) { ys.push_back(t); }
  void run(VarsRef) override {}
};

// Collects the leaves, and the engine's variables of functions that `leave` made.
struct Ends {
  c10::function_ref<std::optional<Var>(const at::Tensor&)> known;
  Vars& xs;
  ta::edge_list& ends;
  std::unordered_set<const ta::Node*> seen;
  // outputs of functions that `leave` made, if they are already among the ends
  std::vector<std::pair<const ta::Node*, uint32_t>> places;
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

// Adds by torch's own accumulator, which calls the hooks of the leaf; with the gradient's history if the pass is
// recorded.
void accumulate_in_torch(const at::Tensor& leaf, Var g) {
  const bool recorded = g.requires_grad();
  at::Tensor t = std::move(g.data);
  if (recorded) t = leave({Var(std::move(g.node), std::move(t))}, active_frontend(), {}, nullptr)[0];
  try {
    TorchScope scope(recorded, true);
    // The accumulator keeps a tensor without copying if it has no other owner; it does not notice if another tensor
    // shares the memory.
    if (!recorded && !leaf.grad().defined() && t.has_storage() && t.storage().use_count() > 1) t = t.clone();
    ta::variable_list gs;
    gs.push_back(std::move(t));  // the only owner, so that its memory may become `.grad`
    const auto accumulator = ta::impl::gradient_edge(leaf).function;
    if (!accumulator->pre_hooks().empty() || !accumulator->post_hooks().empty())
      fail(PyExc_RuntimeError,
           "a torch parameter has hooks on its accumulator (DistributedDataParallel sets them), which only torch's own "
           "pass calls: call compatgrad.interop.to('torch', loss).backward()");
    (*accumulator)(std::move(gs));
  } catch (python_error& e) {
    e.restore();
    throw PyError();
  }
}

}  // namespace

Tensors TorchNode::forward(VarsRef in) {
  // A run for the sake of a gradient uses the recorded result, so that random numbers and statistics stay the same.
  if (!call || !call->again || ys.empty()) run(in);
  Tensors out;
  for (const at::Tensor& y : ys) out.push_back(y.requires_grad() ? y.detach() : y);
  return out;
}

void TorchNode::backward(Ctx<at::Tensor>& c) {
  auto [from, to] = asked(*this, c);
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

void TorchNode::backward(Ctx<Var>& c) {
  auto [from, to] = asked(*this, c);
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

void init_torch_graph() { add_to_torch = accumulate_in_torch; }

}  // namespace cg::py
