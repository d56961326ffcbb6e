// One op in place of the last functions of a chain: the gates of an LSTM are nine functions, whose objects and visits
// take three times as long as their arithmetic. In a graph that runs at once the op that the chain names stands for
// them, and nobody sees it: separate_all() puts the functions in its place before Python looks at a graph.
#pragma once
#include "core/scope.h"
#include "python/object.h"

namespace cg::py {

bool is_joined(PyObject* info);  // whether it is the `info` of such an op

// Puts the functions of chains in the place of the ops that stand for them. Called before Python gets functions of a
// graph, and before a pass that is recorded or calls hooks. While a pass runs it does nothing.
void separate_all();

// A pass that visits functions, as long as this exists.
class RunningPass : Pinned {
 public:
  RunningPass() { ++count_; }
  ~RunningPass() { --count_; }
  static bool any() { return count_ > 0; }

 private:
  static int count_;
};

}  // namespace cg::py
