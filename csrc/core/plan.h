// What forward and backward passes over deferred functions share.
#pragma once
#include <unordered_map>

#include "core/deferred.h"
#include "core/door.h"

namespace cg {

void require_parent(const VariableNode& y);
c10::ArrayRef<Ref<FunctionNode>> functions_of(const Plan& plan);  // those that it holds; none while a pass uses it
c10::SmallVector<bool, 4> wanted_of(const FunctionNode& f);       // which inputs need a gradient
// Runs what a function's gradient reads and is not there: freed, or not computed yet.
void compute_missing(FunctionNode& f, c10::ArrayRef<bool> wanted);
const at::Tensor& value_of(VariableNode& x);  // computed where it is not there; what is there stays as it is
at::Tensor value_of(const Var& x);
void add_to_leaf(Array& grad, at::Tensor g);  // as a backward pass over deferred functions does
// Frees what nobody reads any more, function by function. `unread`: also what no gradient reads; `again`: functions run
// for the sake of a gradient, so what is to be computed again stays.
class Freeing {
 public:
  Freeing(bool all, bool unread, bool again) : all_(all), unread_(unread), again_(again) {}
  bool frees(FunctionNode& f, size_t i) const;  // whether `ran(f)` is going to free input i
  void ran(FunctionNode& f);

 private:
  struct Uses {
    uint32_t seen = 0;  // so far
    bool kept = false;  // some gradient reads the data
  };
  bool decide(const FunctionNode& f, const VariableNode& x, const Uses& u) const;
  const bool all_, unread_, again_;
  std::unordered_map<const Deferred*, Uses> uses_;
};

}  // namespace cg
