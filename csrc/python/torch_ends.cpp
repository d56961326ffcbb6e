// Where torch's passes end in the engine's graph: at its leaves, and at pieces that a pass must not go through.
#include "python/torch_pieces.h"

#include <torch/csrc/autograd/graph_task.h>

#include <mutex>

namespace cg::py {
namespace {

// The first function of a pass that ends early; it identifies the pass.
struct PassStart final : ta::Node {
  using Ends = std::unordered_set<const ta::Node*>;
  struct Passes {
    std::mutex lock;
    std::unordered_map<int, std::shared_ptr<Ends>> ends;
  };
  static Passes& passes() { return immortal<Passes>(); }
  std::shared_ptr<Ends> ends;

  PassStart(ta::edge_list roots, std::shared_ptr<Ends> e) : ta::Node(std::move(roots)), ends(std::move(e)) {}
  std::string name() const override { return "CompatgradStart"; }
  ta::variable_list apply(ta::variable_list&& gys) override {
    std::lock_guard guard(passes().lock);
    passes().ends.insert_or_assign(ta::get_current_graph_task_id(), ends);
    return std::move(gys);
  }
  static void forget(const Ends* e) {
    std::lock_guard guard(passes().lock);
    std::erase_if(passes().ends, [&](auto& pass) { return pass.second.get() == e; });
  }
  // Whether the running pass ends at `n`.
  static bool ends_at(const ta::Node* n) {
    std::lock_guard guard(passes().lock);
    auto it = passes().ends.find(ta::get_current_graph_task_id());
    return it != passes().ends.end() && it->second->count(n);
  }
};

// Receives a gradient from torch for a leaf of the engine, and stores it in the frontend's way.
struct EngineLeaf final : ta::Node {
  using Weak = WeakOf<TorchNodePtr>::type;
  static std::unordered_map<VariableNode*, Weak>& living() {
    return immortal<std::unordered_map<VariableNode*, Weak>>();
  }
  Ref<VariableNode> x;
  Frontend* frontend;

  EngineLeaf(const Var& v, Frontend* f) : ta::Node(UINT64_MAX), x(v.node), frontend(f) { add_input_metadata(v.data); }
  ~EngineLeaf() override {
    if (!Py_IsInitialized()) {
      new (&x) Ref<VariableNode>();
      return;
    }
    Locked lock;
    living().erase(x.get());
    x.reset();
  }
  std::string name() const override { return "CompatgradLeaf"; }
  ta::variable_list apply(ta::variable_list&& gys) override {
    if (!gys[0].defined()) return {};
    Locked lock;
    for_torch([&] {
      FrontendScope scope(frontend);
      PassOptions options;
      options.create_graph = c10::GradMode::is_enabled();
      const Var leaf(x, {});
      const Var g = options.create_graph && gys[0].requires_grad() ? enter(gys[0], frontend) : Var(gys[0].detach());
      cg::backward(leaf, g, options);
    });
    return {};
  }
};

}  // namespace

bool ends_here(const ta::Node* n) { return PassStart::ends_at(n); }

// torch writes into a tensor if it has only one owner. So gradients that are the same memory, also that of a given
// tensor, become one tensor; gradients that overlap otherwise are copied.
void unite(const ta::variable_list& given, ta::variable_list& gs) {
  c10::SmallVector<const at::Tensor*, 8> seen;
  for (const at::Tensor& g : given)
    if (g.defined() && g.has_storage()) seen.push_back(&g);
  for (at::Tensor& g : gs) {
    if (!g.defined() || !g.has_storage() || g.storage().use_count() == 1) continue;
    const auto end = [](const at::Tensor& t) {
      int64_t last = t.numel() ? t.storage_offset() + 1 : 0;
      for (int64_t i = 0; i < t.dim() && t.numel(); ++i) last += (t.size(i) - 1) * t.stride(i);
      return last;
    };
    for (const at::Tensor* s : seen) {
      if (s->unsafeGetTensorImpl() == g.unsafeGetTensorImpl()) break;
      if (!s->is_alias_of(g) || s->storage_offset() >= end(g) || g.storage_offset() >= end(*s)) continue;
      const bool same = s->storage_offset() == g.storage_offset() && s->sizes() == g.sizes() &&
                        s->strides() == g.strides() && s->scalar_type() == g.scalar_type();
      g = same ? *s : g.clone();
      break;
    }
    seen.push_back(&g);
  }
}

at::Tensor data_of(const VariableNode& x) {
  if (x.deferred) return read(x.deferred->store->data->tensor);
  return read(x.retained || !x.variable ? x.data : x.variable->data);
}

ta::Edge edge_of_leaf(const Var& x, Frontend* f) {
  if (x.node->buffer && x.node->buffer->data.defined() && x.node->buffer->data.requires_grad())
    return ta::impl::gradient_edge(x.node->buffer->data);
  auto& living = EngineLeaf::living();
  if (auto it = living.find(x.node.get()); it != living.end())
    if (auto known = it->second.lock()) return {std::move(known), 0};
  auto leaf = make_torch_node<EngineLeaf>(x, f);
  living.insert_or_assign(x.node.get(), EngineLeaf::Weak(TorchNodePtr(leaf)));
  return {std::move(leaf), 0};
}

Var left_leaf(const ta::Node& n) {
  auto* leaf = dynamic_cast<const EngineLeaf*>(&n);
  return leaf ? Var(leaf->x, data_of(*leaf->x)) : Var();
}

EndedPass::EndedPass(const ta::edge_list& roots, const ta::variable_list& gys, const ta::edge_list& ends)
    : roots_(roots) {
  for (const ta::Edge& e : ends)
    if (dynamic_cast<const EndingNode*>(e.function.get())) {
      if (!ends_) ends_ = std::make_shared<std::unordered_set<const ta::Node*>>();
      ends_->insert(e.function.get());
    }
  if (!ends_) return;
  auto start = make_torch_node<PassStart>(roots, ends_);
  for (uint32_t k = 0; k < gys.size(); ++k) roots_[k] = {start, start->add_input_metadata(gys[k])};
}
EndedPass::~EndedPass() {
  if (ends_) PassStart::forget(ends_.get());
}

Var with_value(PyObject* variable) {
  if (variable == Py_None) return {};
  PyVariable* v = as_variable(variable);
  if (v->v.node && v->v.node->deferred) return {v->v.node, v->v.node->deferred->store->data->read()};
  return {node_of(v), tensor_of(v)};
}

}  // namespace cg::py
