#include "core/backprop.h"

#include "core/pass.h"

namespace cg {
namespace {

void store(VariableNode& node, Var g, const PassOptions& options) {
  if (node.deferred) {
    if (g.defined()) add_to_leaf(*node.deferred->store->grad, value_of(g));
    return;
  }
  if (node.buffer) {
    const at::Tensor& to = node.buffer->data;
    if (!g.defined() || !to.defined()) return;
    if (to.requires_grad())  // a leaf of torch's graph
      add_to_torch(to, std::move(g));
    else
      node.buffer->write(std::move(g.data));
    return;
  }
  if (!node.variable) return;
  node.variable->grad = std::move(g);
  node.variable->loss_scale = options.loss_scale;
}

template <class T>
void backward_in(VarsRef outputs, VarsRef gys, const PassOptions& options) {
  Pass<T> pass(options, false);
  for (size_t k = 0; k < outputs.size(); ++k) {
    VariableNode& y = *outputs[k].node;
    check_released(y);
    if (!y.creator && !pass.find(y)) pass.open_leaf(y);
    if (gys[k].defined()) {
      pass.given(gys[k].data);
      pass.accumulate(y, gys[k]);
    }
    if (y.creator) pass.push(creator_of(y));
  }
  if (options.watch) options.watch->count(outputs);
  std::vector<std::pair<Ref<VariableNode>, Var>> results;  // stored on the nodes after the whole pass has succeeded
  pass.run([&](VariableNode& y, const Var& g) {
    if (y.deferred) {  // intermediates of a deferred graph keep the gradient of the last pass
      if (g.defined() && !options.create_graph) y.deferred->store->grad->put(g.data);
    } else if (y.buffer) {
      results.emplace_back(&y, g);  // an intermediate whose gradient goes into a program's memory
    }
  });
  for (auto& x : pass.leaves())
    if (Var g = pass.take(*x); g.defined()) results.emplace_back(x, std::move(g));
  pass.commit();  // from here on nothing is allocated, except for gradients that are copied into a program's memory
  for (auto& [x, g] : results) store(*x, std::move(g), options);
}

// Every function that an output depends on. The backward of a deferred function is called even if its path is cut
// before the input, as in the original.
template <class T>
std::vector<FunctionNode*> functions_behind(VarsRef outputs, const Pass<T>& pass) {
  std::vector<FunctionNode*> reach, todo;
  PointerSet<FunctionNode> seen;
  const auto visit = [&](FunctionNode* f) {
    if (!f || pass.stops_at(f) || !seen.insert(f).second) return;
    reach.push_back(f);
    todo.push_back(f);
  };
  for (const Var& y : outputs) {
    check_old_style(*y.node);
    check_released(*y.node);
    visit(creator_of(*y.node));
  }
  while (!todo.empty()) {
    FunctionNode* f = todo.back();
    todo.pop_back();
    for (auto& x : f->inputs) {
      if (!x) continue;
      check_old_style(*x);
      if (x->requires_grad || f->call) visit(creator_of(*x));
    }
  }
  return reach;
}
// Marks, in forward order, the nodes behind the outputs that depend on an input.
template <class T>
void mark_paths(VarsRef outputs, VarsRef inputs, Pass<T>& pass) {
  std::vector<FunctionNode*> reach = functions_behind(outputs, pass);
  std::stable_sort(reach.begin(), reach.end(), [](auto* a, auto* b) { return a->rank < b->rank; });
  for (const Var& x : inputs) pass.mark(*x.node);
  for (FunctionNode* f : reach) {
    for (auto& x : f->inputs)
      if (f->call && x && x->creator && x->creator->call && x->creator->rank >= f->rank)
        throw std::runtime_error(
            "the graph has a cycle: " + binding.label(*f) +
            " depends on its own result, because a Variable was rewired to a result that is computed from it");
    const bool leads = std::any_of(f->inputs.begin(), f->inputs.end(),
                                   [&](auto& x) { return x && (x->requires_grad || f->call) && pass.is_marked(*x); });
    if (!leads) continue;
    for (auto& y : f->outputs)
      if (y.node) pass.mark(*y.node);
  }
}

template <class T>
Vars grad_in(VarsRef outputs, VarsRef inputs, VarsRef gys, VarsRef initial, const PassOptions& options) {
  Pass<T> pass(options, true);
  mark_paths(outputs, inputs, pass);
  for (size_t k = 0; k < outputs.size(); ++k) pass.replace(*outputs[k].node, gys[k]);
  for (size_t k = 0; k < initial.size(); ++k)
    if (initial[k].defined()) pass.replace(*inputs[k].node, initial[k]);
  for (const Var& y : outputs)
    if (y.node->creator) pass.push(y.node->creator.get());

  std::vector<std::pair<Ref<VariableNode>, Var>> intermediates;
  // The nodes of the inputs, each once, because several inputs can be one node.
  struct Asked {
    size_t first;  // index of the first input that is this node
    bool found;
  };
  PointerMap<VariableNode, Asked> asked;
  std::vector<size_t> first(inputs.size());
  for (size_t k = 0; k < inputs.size(); ++k) {
    const auto [entry, made] = asked.insert(inputs[k].node.get());
    if (made) *entry = {k, false};
    first[k] = entry->first;
  }
  Vars result(inputs.size());
  pass.run([&](VariableNode& y, const Var& g) {
    if (Asked* a = asked.find(&y)) {
      result[a->first] = g;
      a->found = true;
    }
    if (options.retain_grad && y.variable && !y.deferred) intermediates.emplace_back(&y, g);
  });
  for (auto& [y, g] : intermediates) store(*y, std::move(g), options);
  for (size_t k = 0; k < inputs.size(); ++k)
    if (first[k] != k)
      result[k] = result[first[k]];
    else if (!asked.find(inputs[k].node.get())->found)
      result[k] = pass.take(*inputs[k].node);
  return result;
}

}  // namespace

void (*add_to_torch)(const at::Tensor&, Var) = nullptr;

template <class Slot>
static bool has_object(const Slot* slot) {
  if constexpr (requires { slot->load_pyobj(); })  // torch 2.9 has another function for this question
    return slot->load_pyobj();
  else
    return slot->check_pyobj().value_or(nullptr);
}
bool has_python_object(const Tensor& t) { return has_object(t.unsafeGetTensorImpl()->pyobj_slot()); }

void backward(VarsRef outputs, VarsRef gys, const PassOptions& options) {
  const EngineScope engine;
  ModeScope enabled(Mode::enable_backprop, options.create_graph), recording(Mode::recording, options.create_graph);
  if (options.create_graph || options.show_functions)
    backward_in<Var>(outputs, gys, options);
  else
    backward_in<Tensor>(outputs, gys, options);
}

Vars grad(VarsRef outputs, VarsRef inputs, VarsRef gys, VarsRef initial, const PassOptions& options) {
  const EngineScope engine;
  ModeScope enabled(Mode::enable_backprop, options.create_graph), recording(Mode::recording, options.create_graph);
  if (options.create_graph || options.show_functions) return grad_in<Var>(outputs, inputs, gys, initial, options);
  return grad_in<Tensor>(outputs, inputs, gys, initial, options);
}

Vars function_backward(FunctionNode& f, VarsRef gys, c10::ArrayRef<bool> wanted) {
  const EngineScope engine;
  Vars gxs(wanted.size()), own(gys.begin(), gys.end());
  run_formula(f, own, gxs, wanted);
  fit_all(gxs, f.inputs);
  return gxs;
}

}  // namespace cg
