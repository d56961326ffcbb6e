#include "core/postponed.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "core/op.h"
#include "kernels/raw.h"
#include "kernels/stages.h"
#include "kernels/threads.h"

namespace cg {

bool postponed = false;
int may_postpone = 0;

namespace {

using kernels::Stage;

constexpr int64_t kLeast = 1 << 16;  // elements; smaller arrays stay in the cache between two functions
constexpr size_t kMost = 24;

// An op that can wait. begins: also if no function waits yet; a sum of two arrays alone gains nothing.
struct Waits {
  const OpInfo* op;
  Stage::Kind kind;
  bool begins;
};
const Waits* find_waits(const OpInfo* op) {
  static const auto all = [] {
    std::vector<Waits> r;
    const auto add = [&](const char* name, Stage::Kind kind, bool begins) {
      r.push_back({find_op(name), kind, begins});
    };
    add("mul_scalar", Stage::MulNumber, true);
    add("add_scalar", Stage::AddNumber, true);
    add("rsub_scalar", Stage::NumberSub, true);
    add("pow_scalar", Stage::Power, true);
    add("neg", Stage::Neg, true);
    add("square", Stage::Square, true);
    add("erf", Stage::Erf, true);
    add("tanh", Stage::Tanh, true);
    add("add", Stage::Add, false);
    add("sub", Stage::Sub, false);
    add("mul", Stage::Mul, false);
    return r;
  }();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Waits& w) { return w.op == op; });
  return found == all.end() ? nullptr : &*found;
}

// An array that functions read, or the result of one.
struct Waiting {
  at::Tensor tensor;
  Stage stage;
};
std::vector<Waiting>& waiting() {
  static auto* const all = new std::vector<Waiting>;  // never destroyed: torch may be gone by then
  return *all;
}

int place_of(const at::Tensor& t) {
  const auto& all = waiting();
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].tensor.is_same(t)) return i;
  return -1;
}

// Whether only the engine can reach the memory of x: a program might write into memory that it sees, before x is read.
bool is_hidden(const Var& x, int holders) {
  const at::Tensor& t = x.data;
  const size_t known = holders + (x.node && x.node->data.is_same(t)) + (place_of(t) >= 0);
  return t.use_count() <= known && t.storage().use_count() == 1 &&
         t.storage().data_ptr().get_deleter() == c10::GetAllocator(c10::kCPU)->raw_deleter();
}

template <class T>
void compute(const std::vector<Waiting>& all, const std::vector<bool>& stored) {
  std::vector<Stage> stages;
  std::vector<T*> arrays;
  for (size_t i = 0; i < all.size(); ++i) {
    const bool read = all[i].stage.kind == Stage::None;
    if (!read) stages.push_back(all[i].stage);
    arrays.push_back(read ? const_cast<T*>(all[i].tensor.const_data_ptr<T>())
                     : stored[i] ? all[i].tensor.mutable_data_ptr<T>()
                                 : nullptr);
  }
  kernels::in_threads(all[0].tensor.numel(), kernels::kGrain, [&](int64_t begin, int64_t end) {
    kernels::run_stages<T>(stages, arrays, begin, end);
  });
}

}  // namespace

void compute_postponed() {
  postponed = false;
  const auto all = std::exchange(waiting(), {});
  std::vector<bool> stored;
  for (const Waiting& w : all) stored.push_back(w.tensor.use_count() > 1);
  kernels::with_dtype(all[0].tensor, [&]<class T>(T) { compute<T>(all, stored); });
}

at::Tensor postpone(FunctionNode& f, VarsRef in, int holders) {
  const Waits* const w = find_waits(f.info());
  const at::Tensor& x = in[0].data;
  if (!w || x.numel() < kLeast) return {};
  Stage stage{w->kind};
  for (const Var& v : in)
    if (!kernels::raw(x, v.data) || !v.data.is_contiguous() || v.data.sizes() != x.sizes()) return {};
  if (const auto& params = f.info()->params; !params.empty()) {
    const auto& number = *static_cast<const c10::Scalar*>(params[0].address(f.params()));
    if (number.isComplex() || number.isSymbolic()) return {};
    stage.number = number.toDouble();
    if (w->kind == Stage::Power && stage.number != 2 && stage.number != 3) return {};
  }
  if (w->kind == Stage::Tanh && x.scalar_type() != at::kFloat) return {};
  auto& all = waiting();
  const auto waits = [&](const Var& v) { return place_of(v.data) >= 0; };
  if (postponed) {
    const at::Tensor& first = all[0].tensor;
    const bool joins = all.size() + 3 <= kMost && first.sizes() == x.sizes() &&
                       first.scalar_type() == x.scalar_type() && std::any_of(in.begin(), in.end(), waits);
    if (!joins) settle();
  }
  if (!postponed && !w->begins) return {};
  if (!postponed) all.clear();
  for (const Var& v : in)
    if (!(waits(v) && all[place_of(v.data)].stage.kind != Stage::None) && !is_hidden(v, holders)) return {};
  const auto place = [&](const Var& v) {
    if (const int i = place_of(v.data); i >= 0) return i;
    all.push_back({v.data, Stage{Stage::None}});
    return static_cast<int>(all.size()) - 1;
  };
  stage.a = place(in[0]);
  stage.b = in.size() > 1 ? place(in[1]) : stage.a;
  stage.result = all.size();
  all.push_back({at::empty(x.sizes(), x.options()), stage});
  postponed = true;
  return all.back().tensor;
}

}  // namespace cg
