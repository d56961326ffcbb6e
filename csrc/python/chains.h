// See chains.cpp.
#pragma once
#include "core/scope.h"

namespace cg::py {

// Puts the functions of chains in the place of the ops that stand for them. Called before Python gets functions of a
// graph, and before a pass that is recorded or calls hooks. While a pass runs it does nothing.
void separate_all();

// A pass that visits functions, as long as this exists.
class RunningPass : Pinned {
 public:
  RunningPass();
  ~RunningPass();
};

}  // namespace cg::py
