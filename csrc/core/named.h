// Calls an op of another file by its name: `Named(CG_NAMED("sum_pooling")).with("ksize", k)(x)`.
#pragma once
#include "core/op.h"

namespace cg {

class Named {
 public:
  explicit Named(const OpInfo* info) : info_(info), node_(info->create()) {}

  template <class V>
  Named& with(std::string_view name, V value) {
    for (const ParamInfo& p : info_->params)
      if (p.name == name) {
        TORCH_INTERNAL_ASSERT(p.kind == KindOf<V>::kind, info_->name, ": ", name, " is of another kind");
        *static_cast<V*>(p.address(node_->params())) = std::move(value);
        return *this;
      }
    TORCH_INTERNAL_ASSERT(false, info_->name, " has no parameter ", name);
  }
  // Returns the first output: on tensors only forward runs, on Vars the op is recorded if the current mode says so.
  template <class... X>
  Tensor operator()(const Tensor& x, const X&... xs) {
    return std::move(node_->forward(inputs(x, xs...))[0]);
  }
  template <class... X>
  Var operator()(const Var& x, const X&... xs) {
    return std::move(node_->apply(inputs(x, xs...))[0]);
  }
  // Returns all outputs.
  template <class... X>
  Tensors all(const Tensor& x, const X&... xs) {
    return node_->forward(inputs(x, xs...));
  }
  template <class... X>
  Vars all(const Var& x, const X&... xs) {
    return node_->apply(inputs(x, xs...));
  }

 private:
  // The inputs including those that are left out, because backward addresses inputs by their numbers.
  template <class... X>
  Vars inputs(const X&... xs) const {
    Vars in;
    (in.emplace_back(xs), ...);
    if (static_cast<int>(in.size()) < info_->inputs) in.resize(info_->inputs);
    return in;
  }
  const OpInfo* info_;
  Ref<FunctionNode> node_;
};

// The op must exist when the library is loaded; it is looked up once per use in the code.
#define CG_NAMED(NAME)                               \
  ([]() -> const OpInfo* {                           \
    static const OpInfo* const info = find_op(NAME); \
    return info;                                     \
  }())

}  // namespace cg
