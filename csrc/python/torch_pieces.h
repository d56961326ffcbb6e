// What the functions in torch's graph that stand for pieces of the engine's share.
#pragma once
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/functions/utils.h>

#include "python/torch_graph.h"

namespace cg::py {

// The one T of its kind, which is there also while the process ends.
template <class T>
T& immortal() {
  static T* one = new T();
  return *one;
}

// Runs `f` for torch's engine, which carries Python's exceptions in its own way.
template <class F>
auto for_torch(F&& f) {
  try {
    return f();
  } catch (PyError&) {
    python_error e;
    e.persist();
    throw e;
  }
}

template <class T>
struct WeakOf {
  using type = c10::weak_intrusive_ptr<ta::Node>;
};
template <class T>
struct WeakOf<std::shared_ptr<T>> {
  using type = std::weak_ptr<T>;
};
// Of the kind of pointer that this torch has; the older one has its own way to delete.
template <class T, class... A>
auto make_torch_node(A&&... a) {
  if constexpr (std::is_same_v<TorchNodePtr, std::shared_ptr<ta::Node>>)
    return std::shared_ptr<T>(new T(std::forward<A>(a)...), [](T* n) { deleteNode(n); });
  else
    return c10::make_intrusive<T>(std::forward<A>(a)...);
}

// A piece of the engine's graph for one function of torch's: what leaves the engine, and what it is a function of.
struct Piece {
  Vars ys, xs;
  ta::edge_list ends;                        // of torch's graph, one for each of xs
  std::vector<Ref<FunctionNode>> functions;  // that no other piece runs
  Frontend* frontend;
  PyObject* grad = nullptr;  // the frontend's own, or null
  bool bounded = false;      // it ends in places of torch's graph: behind it torch goes on, not the engine
};

// A function that torch's passes may end at, as EndedPass says.
struct EndingNode : ta::Node {
  using ta::Node::Node;
};
bool ends_here(const ta::Node* n);  // whether torch's pass that runs ends at `n`
void unite(const ta::variable_list& given, ta::variable_list& gs);
at::Tensor data_of(const VariableNode& x);
ta::Edge edge_of_leaf(const Var& x, Frontend* f);
Var left_leaf(const ta::Node& n);  // the leaf that `n` stands for; undefined for other functions

}  // namespace cg::py
