// One op in place of the last functions of a chain: the gates of an LSTM are nine functions, whose objects and visits
// take three times as long as their arithmetic. In a graph that runs at once the op that the chain names stands for
// them, and nobody sees it: Python gets recorded functions as `Shown` only, which puts the functions in the op's place.
#pragma once
#include <vector>

#include "python/common.h"

namespace cg::py {

bool is_joined(PyObject* info);  // whether it is the `info` of such an op

// A pass that visits functions, as long as this exists. shows: the pass is recorded or calls hooks, so no op may stand
// for functions.
class RunningPass : Pinned {
 public:
  explicit RunningPass(bool shows);
  ~RunningPass() { --count_; }
  static bool any() { return count_ > 0; }

 private:
  static int count_;
};

// A function that Python may get, or null. All ways to recorded functions first put the functions of chains in the
// place of the ops that stand for them, except while a pass runs.
class Shown {
 public:
  static Shown creator(VariableNode& n);
  static std::vector<Shown> users(VariableNode& n);            // in the order in which they were added
  static std::vector<Shown> order(VariableNode& y);            // all functions that y depends on, inputs first
  static Shown visited(FunctionNode& f) { return Shown(&f); }  // f runs now, or a RunningPass that shows visits it
  const Ref<FunctionNode>& operator*() const { return f_; }

 private:
  explicit Shown(FunctionNode* f) : f_(f) {}
  Ref<FunctionNode> f_;
};

}  // namespace cg::py
