// One definition per op.
//
// An op is a struct; its data members are its parameters:
//
//   struct LeakyReLU {
//     double slope = 0.2;
//     static constexpr auto params() { return std::make_tuple(param("slope", &LeakyReLU::slope)); }
//     static constexpr Mask saves = in_bit(0);
//     Tensor forward(const Tensor& x) { return at::leaky_relu(x, slope); }
//     template <class T> void backward(Ctx<T>& c) { c.grad(0, [&] { return c.gy() * step(c.in(0), slope); }); }
//   };
//   CG_OP("leaky_relu", LeakyReLU, "max(x, slope * x)")
//
// - `forward` takes one Tensor per input, or one TensorList, and returns a Tensor, a std::tuple of them or a
//   std::vector. It may store what its backward needs in members that are not parameters; `stored()` lists the members
//   that backward reads, as `params()` lists parameters.
// - `static constexpr Mask optional = in_bit(2)`: input 2 may be left out (an undefined Tensor).
// - `static constexpr bool any_dtype = true`: the inputs may differ in dtype (indices, labels).
// - `static constexpr Mask integers = in_bit(1)`: input 1 is indices or labels. The fraction of floats is cut off; with
//   `static constexpr bool floors = true` they are rounded down.
// - `infer`, with the signature of `forward`: its inputs have no data, and only shapes and dtypes of its results are
//   used. Without it, `forward` runs on torch's meta device, which imports sympy for most functions: 30 MB and a
//   second. An undefined tensor, or no tensor, leaves the answer, which is mostly an error, to that device.
// - `static constexpr Mask reuses = in_bit(0)`: backward reads input 0 once, by c.in(0, true) (an output: c.out). If
//   nobody else needs it, may_overwrite() is then true for it.
// - `forward_into(y, ...)` writes the result into y, which may be one of the inputs, if a pass is about to free it.
// - A recorded backward reads tensors that forward stored in members by `c.saved(member)`.
// - `Mask saves_for(ArrayRef<bool> needs)` instead of `saves`, if what backward reads depends on which gradients are
//   needed.
// - `backward` is compiled twice: T = Tensor for a plain pass, T = Var for a recorded one. It calls the functions of
//   `ops/functions.h`. If an input was broadcast, the pass sums the gradient to the input's shape; formulas need not do
//   it.
#pragma once
#include <c10/core/Scalar.h>

#include <functional>
#include <tuple>

#include "core/function.h"

namespace cg {

using at::Tensor;
using at::TensorList;
using Ints = c10::SmallVector<int64_t, 4>;

struct IndexItem;  // ops/index.h
using Index = std::vector<IndexItem>;

// The types of parameters, and their names in op_info.
#define CG_PARAM_KINDS(_)                        \
  _(Bool, bool, "bool")                          \
  _(Int, int64_t, "int")                         \
  _(Float, double, "float")                      \
  _(Str, std::string, "str")                     \
  _(Ints, Ints, "ints")                          \
  _(OptInt, std::optional<int64_t>, "int?")      \
  _(OptFloat, std::optional<double>, "float?")   \
  _(OptInts, std::optional<Ints>, "ints?")       \
  _(Scalar, c10::Scalar, "scalar")               \
  _(Tensor, Tensor, "tensor")                    \
  _(OptTensor, std::optional<Tensor>, "tensor?") \
  _(DType, at::ScalarType, "dtype")              \
  _(Index, Index, "index")

#define CG_KIND(KIND, TYPE, NAME) KIND,
enum class ParamKind : uint8_t { CG_PARAM_KINDS(CG_KIND) };
#undef CG_KIND
template <class V>
struct KindOf;
#define CG_KIND(KIND, TYPE, NAME)                 \
  template <>                                     \
  struct KindOf<TYPE> {                           \
    static constexpr auto kind = ParamKind::KIND; \
  };
CG_PARAM_KINDS(CG_KIND)
#undef CG_KIND

template <class Op, class V>
struct Param {
  const char* name;
  V Op::* member;
  bool required;
};
// A parameter whose default is the member's initial value.
template <class Op, class V>
constexpr Param<Op, V> param(const char* name, V Op::* member) {
  return {name, member, false};
}
// A parameter that every call must pass.
template <class Op, class V>
constexpr Param<Op, V> required(const char* name, V Op::* member) {
  return {name, member, true};
}

struct ParamInfo {
  const char* name;
  ParamKind kind;
  bool required;
  void* (*address)(void* op);
};

struct OpInfo {
  const char* name;
  const char* doc;
  int inputs;     // -1: a list
  Mask optional;  // inputs that may be left out
  bool any_dtype;
  bool pointwise;  // the result has the inputs' broadcast shape, and the dtype of the first input
  Mask integers;   // inputs that are indices or labels
  c10::SmallVector<ParamInfo, 4> params;
  FunctionNode* (*create)();
  mutable void* override_backward = nullptr;  // a user's replacement, owned by the binding
  bool real = false;                          // the gradient formula is wrong for complex numbers
  bool floors = false;                        // whether `integers` are rounded down
  c10::SmallVector<ParamInfo, 1> stored{};    // tensors that forward stores in the op for backward
};

// Name -> op. Filled while the library is loaded.
const OpInfo* find_op(std::string_view name);
std::vector<const OpInfo*> all_ops();
void add_op(const OpInfo* info);

// ---- from a struct to a node ----------------------------------------------------------------------------------------
template <class F>
struct ForwardTraits;
template <class R, class Op, class... A>
struct ForwardTraits<R (Op::*)(A...)> {
  static constexpr int arity = sizeof...(A);
  static constexpr bool list = (std::is_same_v<std::decay_t<A>, TensorList> || ...);
};
template <class R, class Op, class... A>
struct ForwardTraits<R (Op::*)(A...) const> : ForwardTraits<R (Op::*)(A...)> {};

template <class Op>
struct OpNode final : FunctionNode {
  using Traits = ForwardTraits<decltype(&Op::forward)>;
  Op op;
  explicit OpNode(Op o = {}) : op(std::move(o)) {}
  static const OpInfo* static_info;
  const OpInfo* info() const override { return static_info; }
  void* params() override { return &op; }
  void backward(Ctx<Tensor>& c) override { op.backward(c); }
  void backward(Ctx<Var>& c) override { op.backward(c); }

  Mask saves(c10::ArrayRef<bool> needs) const override {
    if constexpr (requires { op.saves_for(needs); })
      return op.saves_for(needs);
    else
      return Op::saves;
  }
  Tensors infer(VarsRef in) override {
    if constexpr (requires { &Op::infer; }) {
      Tensors ys = call(in, [this](const auto&... x) { return op.infer(x...); });
      if (!ys.empty() && ys[0].defined()) return ys;
    }
    return FunctionNode::infer(in);
  }
  Tensors forward(VarsRef in) override {
    return call(in, [this](const auto&... x) { return op.forward(x...); });
  }
  Mask reuses() const override {
    if constexpr (requires { Op::reuses; }) return Op::reuses;
    return 0;
  }
  bool has_forward_into() const override {
    return requires { &Op::forward_into; };
  }
  Tensors forward_into([[maybe_unused]] const Tensor& y, [[maybe_unused]] VarsRef in) override {
    if constexpr (requires { &Op::forward_into; })
      return call(in, [&](const auto&... x) { return op.forward_into(y, x...); });
    return {};
  }

 private:
  template <class F>
  Tensors call(VarsRef in, F&& f) {
    if constexpr (Traits::list) {
      c10::SmallVector<Tensor, 8> ts;
      for (const Var& x : in) ts.push_back(x.data);
      return pack(f(TensorList(ts.data(), ts.size())));
    } else {
      return call(in, std::make_index_sequence<Traits::arity>(), f);
    }
  }
  template <size_t... I, class F>
  Tensors call(VarsRef in, std::index_sequence<I...>, F&& f) {
    static const Tensor none;
    return pack(f((I < in.size() ? in[I].data : none)...));
  }
  static Tensors pack(Tensor y) {
    Tensors r;
    r.push_back(std::move(y));
    return r;
  }
  static Tensors pack(std::vector<Tensor> ys) {
    Tensors r;
    for (auto& y : ys) r.push_back(std::move(y));
    return r;
  }
  template <class... Y>
  static Tensors pack(std::tuple<Y...> ys) {
    Tensors r;
    std::apply([&](auto&... y) { (r.push_back(std::move(y)), ...); }, ys);
    return r;
  }
};

// Appends the members that params() or stored() lists.
template <class Op, auto Get>
void list_members(c10::SmallVectorImpl<ParamInfo>& to) {
  constexpr auto ps = Get();
  [&]<size_t... I>(std::index_sequence<I...>) {
    (to.push_back({std::get<I>(ps).name,
                   KindOf<std::decay_t<decltype(std::declval<Op&>().*(std::get<I>(ps).member))>>::kind,
                   std::get<I>(ps).required,
                   [](void* op) -> void* { return &(static_cast<Op*>(op)->*(std::get<I>(Get()).member)); }}),
     ...);
  }(std::make_index_sequence<std::tuple_size_v<decltype(ps)>>());
}

template <class Op>
OpInfo describe_op(const char* name, const char* doc, bool pointwise) {
  using Traits = ForwardTraits<decltype(&Op::forward)>;
  OpInfo info{name, doc,   Traits::list ? -1 : Traits::arity,
              0,    false, pointwise,
              0,    {},    [] { return static_cast<FunctionNode*>(new OpNode<Op>); }};
  if constexpr (requires { Op::optional; }) info.optional = Op::optional;
  if constexpr (requires { Op::any_dtype; }) info.any_dtype = Op::any_dtype;
  if constexpr (requires { Op::real; }) info.real = Op::real;
  if constexpr (requires { Op::integers; }) info.integers = Op::integers;
  if constexpr (requires { Op::floors; }) info.floors = Op::floors;
  if constexpr (requires { Op::params(); }) list_members<Op, [] { return Op::params(); }>(info.params);
  if constexpr (requires { Op::stored(); }) list_members<Op, [] { return Op::stored(); }>(info.stored);
  return info;
}

#define CG_OP(NAME, OP, DOC) CG_OP_OF(NAME, OP, DOC, false)
// An element-wise op: see OpInfo::pointwise.
#define CG_POINTWISE(NAME, OP, DOC) CG_OP_OF(NAME, OP, DOC, true)
#define CG_OP_OF(NAME, OP, DOC, POINTWISE)                               \
  static const OpInfo OP##_info = describe_op<OP>(NAME, DOC, POINTWISE); \
  template <>                                                            \
  const OpInfo* OpNode<OP>::static_info = &OP##_info;                    \
  [[maybe_unused]] static const bool OP##_added = (add_op(&OP##_info), true);

// ---- calling an op from C++ -----------------------------------------------------------------------------------------
// On tensors only forward runs. On Vars the op is recorded if the current mode says so.
template <class Op, class... X>
Tensor run(Op op, const Tensor& x, const X&... xs) {
  return op.forward(x, xs...);
}
template <class Op, class... X>
Var run(Op op, const Var& x, const X&... xs) {
  Ref<FunctionNode> node(new OpNode<Op>(std::move(op)));
  const Var in[] = {x, Var(xs)...};
  return std::move(node->apply(in)[0]);
}
// Ops with several outputs.
template <class Op, class... X>
Tensors run_all(Op op, const Tensor& x, const X&... xs) {
  OpNode<Op> node(std::move(op));
  const Var in[] = {Var(x), Var(xs)...};
  return node.forward(in);
}
template <class Op, class... X>
Vars run_all(Op op, const Var& x, const X&... xs) {
  Ref<FunctionNode> node(new OpNode<Op>(std::move(op)));
  const Var in[] = {x, Var(xs)...};
  return node->apply(in);
}
// Ops on a list.
template <class Op>
Tensor run_list(Op op, c10::ArrayRef<Tensor> xs) {
  return op.forward(xs);
}
template <class Op>
Var run_list(Op op, VarsRef xs) {
  Ref<FunctionNode> node(new OpNode<Op>(std::move(op)));
  return std::move(node->apply(xs)[0]);
}

}  // namespace cg
