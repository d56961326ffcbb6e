// Values that backward formulas read as constants, in graphs that run at once and in graphs that run later.
#include "core/deferred.h"
#include "core/mode.h"
#include "ops/functions.h"

namespace cg {

Tensor known(const Var& v) {
  const bool to_come = v.node && v.node->deferred && !mode(Mode::auto_forward) && mode(Mode::deferred);
  return to_come ? Tensor() : v.data;
}

namespace {
struct FrozenNode final : FunctionNode {
  Frozen f;
  explicit FrozenNode(Frozen g) : f(std::move(g)) {}
  Tensors forward(VarsRef in) override {
    c10::SmallVector<at::Tensor, 4> xs;
    for (const Var& x : in) xs.push_back(x.data);
    return {f(xs)};
  }
  Mask saves(c10::ArrayRef<bool>) const override { return 0; }
  void backward(Ctx<at::Tensor>&) override {}
  void backward(Ctx<Var>&) override {}
};
void make_constant(Var& v) {
  v.node->deferred->need_grad = 0;
  v.node->requires_grad = false;
}
}  // namespace

Var frozen_var(Frozen f, VarsRef xs) {
  Ref<FunctionNode> node(new FrozenNode(std::move(f)));
  if (!mode(Mode::deferred) || mode(Mode::auto_forward)) return Var(std::move(node->forward(xs)[0]));
  Var y = std::move(node->apply(xs)[0]);
  make_constant(y);
  return y;
}

// A function that reads a tensor which `owner` stores when it runs.
struct MemberNode final : FunctionNode {
  Ref<FunctionNode> owner;
  const at::Tensor* member;
  MemberNode(FunctionNode& f, const at::Tensor& m) : owner(&f), member(&m) {}
  Tensors forward(VarsRef) override { return {*member}; }
  Tensors infer(VarsRef in) override { return {hollow(member->sizes(), member->scalar_type(), in[0].data.device())}; }
  Mask saves(c10::ArrayRef<bool>) const override { return 0; }
  void backward(Ctx<at::Tensor>&) override {}
  void backward(Ctx<Var>&) override {}
};

Var read_member(FunctionNode& f, const at::Tensor& member) {
  if (!member.defined() || !mode(Mode::deferred) || mode(Mode::auto_forward)) return Var(member);
  // It has the function's output as its input, so that it runs after the function.
  Ref<FunctionNode> reader(new MemberNode(f, member));
  const Var y = deferred_var(output_node(f, 0), nullptr, 0);
  Var value = std::move(reader->apply(VarsRef(y))[0]);
  make_constant(value);
  return value;
}

}  // namespace cg
