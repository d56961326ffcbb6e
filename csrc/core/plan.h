// What forward and backward passes over deferred functions share.
#pragma once
#include "core/deferred.h"
#include "core/door.h"
#include "core/pointer_map.h"

namespace cg {

void require_parent(const VariableNode& y);
c10::ArrayRef<Ref<FunctionNode>> functions_of(const Plan& plan);  // empty while a pass uses the plan
c10::SmallVector<bool, 4> wanted_of(const FunctionNode& f);       // which inputs need a gradient
// Computes the data that a function's gradient reads if it was freed or never computed.
void compute_missing(FunctionNode& f, c10::ArrayRef<bool> wanted);
const at::Tensor& value_of(VariableNode& x);  // computed if it is missing; existing data is not changed
at::Tensor value_of(const Var& x);
void add_to_leaf(Array& grad, at::Tensor g);  // as a backward pass over deferred functions does
// Frees data that is not read any more, function by function. `unread`: also data that no gradient reads. `again`:
// functions run for a gradient, so data of variables with `recompute` is kept.
class Freeing {
 public:
  Freeing(bool all, bool unread, bool again) : all_(all), unread_(unread), again_(again) {}
  bool frees(FunctionNode& f, size_t i) const;  // whether `ran(f)` will free input i
  void ran(FunctionNode& f);
  void keep(Deferred& d) { uses_.insert(&d).first->kept = true; }  // treats the data as if a gradient read it

 private:
  struct Uses {
    uint32_t seen = 0;  // so far
    bool kept = false;  // a gradient reads the data
  };
  bool decide(const FunctionNode& f, const VariableNode& x, const Uses& u) const;
  const bool all_, unread_, again_;
  PointerMap<Deferred, Uses> uses_;
};

}  // namespace cg
