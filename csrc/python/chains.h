// Chains: several ops that a frontend's function runs in one call. Shared by chains.cpp and joined.cpp.
#pragma once
#include <optional>

#include "python/deferred.h"

namespace cg::py {

struct ChainStep {
  const OpInfo* op;
  c10::SmallVector<size_t, 4> inputs;       // the numbers of the values that the step reads
  std::vector<std::pair<size_t, Obj>> set;  // indices and values of the parameters that the chain sets
  Obj spec, arguments;                      // the frontend's description of the function; null: none
};
struct Chain {
  static constexpr const char* kName = "compatgrad.chain";  // of its capsule
  Frontend* frontend;
  size_t inputs = 0;
  std::vector<ChainStep> steps;
  c10::SmallVector<size_t, 4> outputs;
  // The op in place of the steps from `first` on (joined.h): its inputs are values, its outputs get these numbers.
  std::optional<ChainStep> joined;
  size_t first = 0, first_value = 0;  // first_value: the number of the first output of step `first`
  c10::SmallVector<size_t, 4> joined_outputs;
  static const Chain* of(PyObject* capsule) { return static_cast<Chain*>(PyCapsule_GetPointer(capsule, kName)); }
};

using Values = c10::SmallVector<Ref<VariableNode>, 16>;
const Ref<VariableNode>& value_at(const Values& values, size_t n);

struct Applied {
  Ref<FunctionNode> node;
  Vars results;
};
Applied apply_step(const ChainStep& step, const Chain& chain, const Values& values);
// Appends the results of a step to the values.
void run_step(const ChainStep& step, const Chain& chain, Values& values, PyObject* context);
// Frees what a program would free by dropping the values from number `from` on that have no Python objects.
void release_from(Values& values, size_t from);

// ---- joined.cpp -----------------------------------------------------------------------------------------------------
// Whether the chain's op may stand for its last functions now. If the op refuses the inputs, it raises an error.
bool may_join(const Chain& chain);
// Runs this op. capsule: of the chain.
void run_joined(const Chain& chain, PyObject* capsule, Values& values, PyObject* context);

}  // namespace cg::py
