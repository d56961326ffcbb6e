// Declarations shared by the functions in torch's graph that represent pieces of the engine's graph.
#pragma once
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/functions/utils.h>

#include "python/torch_graph.h"

namespace cg::py {

// The only object of type T, which exists until the process ends.
template <class T>
T& immortal() {
  static T* one = new T();
  return *one;
}

// Runs `f` for torch's engine, which has its own exception class for Python errors.
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
// Makes a pointer of this torch's type; older versions of torch delete nodes in their own way.
template <class T, class... A>
auto make_torch_node(A&&... a) {
  if constexpr (std::is_same_v<TorchNodePtr, std::shared_ptr<ta::Node>>)
    return std::shared_ptr<T>(new T(std::forward<A>(a)...), [](T* n) { deleteNode(n); });
  else
    return c10::make_intrusive<T>(std::forward<A>(a)...);
}

// A piece of the engine's graph for one function in torch's graph: the variables that leave the engine, and those they
// depend on.
struct Piece {
  Vars ys, xs;
  ta::edge_list ends;                        // in torch's graph, one for each of xs
  std::vector<Ref<FunctionNode>> functions;  // functions that belong to no other piece
  Frontend* frontend;
  PyObject* grad = nullptr;  // the frontend's gradient function, or null
  bool bounded = false;      // the piece ends at places of torch's graph, from where torch continues
};

// A function at which torch's passes may end; see EndedPass.
struct EndingNode : ta::Node {
  using ta::Node::Node;
};
bool ends_here(const ta::Node* n);  // whether torch's running pass ends at `n`
void unite(const ta::variable_list& given, ta::variable_list& gs);
at::Tensor data_of(const VariableNode& x);
ta::Edge edge_of_leaf(const Var& x, Frontend* f);
Var left_leaf(const ta::Node& n);  // the leaf that `n` represents; undefined for other functions

}  // namespace cg::py
