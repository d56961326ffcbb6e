// Data that functions compute again, or for the first time, because a gradient or another graph reads it.
#pragma once
#include "core/plan.h"

namespace cg {

// Runs functions again if a function's gradient reads their data and forward has freed it. `ahead`: also functions that
// have not run yet.
class Recomputation {
 public:
  explicit Recomputation(const DeferredOptions& options, bool ahead = false) : options_(options), ahead_(ahead) {}
  void compute(VariableNode& x);
  void prepare(FunctionNode& f, c10::ArrayRef<bool> wanted);

 private:
  bool freed(const VariableNode* x) const;
  void run(FunctionNode& last, PointerSet<FunctionNode>& done);
  void run_again(FunctionNode& f);
  const DeferredOptions& options_;
  const bool ahead_;
  Freeing freeing_{false, true, true};
};

}  // namespace cg
