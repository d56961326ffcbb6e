// What forward and backward passes over deferred functions share.
#pragma once
#include <unordered_map>

#include "core/deferred.h"

namespace cg {

void require_parent(const VariableNode& y);
bool reads_input(unsigned mask, size_t i);                   // by an op's `saves`
c10::SmallVector<bool, 4> wanted_of(const FunctionNode& f);  // which inputs need a gradient
// Frees what nobody reads any more after `f` ran. `clear_unread`: also what no gradient reads; `again`: `f` ran for the
// sake of a gradient, so what is to be computed again stays.
struct Uses {
  uint32_t seen = 0;  // uses so far
  bool kept = false;  // some gradient reads the data
};
void clear_inputs(FunctionNode& f, bool clear_all, bool clear_unread, bool again,
                  std::unordered_map<const Deferred*, Uses>& uses);

}  // namespace cg
