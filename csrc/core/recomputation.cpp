#include "core/recomputation.h"

#include <algorithm>

#include "core/mode.h"
#include "core/order.h"

namespace cg {

void Recomputation::compute(VariableNode& x) {
  PointerSet<FunctionNode> done;
  if (freed(&x)) run(*x.creator, done);
}
void Recomputation::prepare(FunctionNode& f, c10::ArrayRef<bool> wanted) {
  const Mask mask = f.saves(wanted);
  PointerSet<FunctionNode> done;
  for (size_t j = 0; j < f.outputs.size(); ++j)
    if (mask.output(j) && freed(f.outputs[j].node)) run(f, done);
  for (size_t i = 0; i < f.inputs.size(); ++i)
    if (mask.input(i) && freed(f.inputs[i].get())) run(*f.inputs[i]->creator, done);
}
bool Recomputation::freed(const VariableNode* x) const {
  if (!x || !x->deferred || !x->creator || !x->creator->call) return false;
  const Array& data = *x->deferred->store->data;
  return data.cleared || (ahead_ && !data.touched);
}
void Recomputation::run(FunctionNode& last, PointerSet<FunctionNode>& done) {
  if (!done.insert(&last).second) return;
  inputs_first(
      Ref<FunctionNode>(&last), [&](const VariableNode& x) { return freed(&x) && done.insert(x.creator.get()).second; },
      [&](FunctionNode& f) { run_again(f); });
}
void Recomputation::run_again(FunctionNode& f) {
  const auto& ys = f.call->outputs;
  run_on_own(f, std::any_of(ys.begin(), ys.end(), [](auto& y) { return y->data->cleared; }));
  if (!ahead_) freeing_.ran(f);
  if (options_.finished) user_code(options_.finished, f);
}

void compute_missing(FunctionNode& f, c10::ArrayRef<bool> wanted) {
  const ModeScope plain(Mode::deferred, false);
  Recomputation(DeferredOptions(), true).prepare(f, wanted);
}

const at::Tensor& value_of(VariableNode& x) {
  const EngineScope engine;
  const ModeScope plain(Mode::deferred, false);
  Recomputation(DeferredOptions(), true).compute(x);
  return x.deferred->store->data->read();
}

at::Tensor value_of(const Var& x) { return x.node && x.node->deferred ? value_of(*x.node) : x.data; }

}  // namespace cg
