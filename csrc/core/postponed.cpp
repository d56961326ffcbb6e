#include "core/postponed.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "core/backprop.h"
#include "core/op.h"
#include "kernels/denormals.h"
#include "kernels/on_demand.h"
#include "kernels/raw.h"
#include "kernels/stages.h"

namespace cg {

bool postponed = false;
int may_postpone = 0;

namespace {

unsigned denormals = 0;  // how the threads that called the functions treat subnormal numbers

using kernels::Stage;

constexpr int64_t kLeast = 1 << 16;  // elements; smaller arrays stay in the cache between two functions
constexpr size_t kMost = kernels::kMostArrays;

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
// Reads the parameter of f, which an op that can wait has at most one of; false if its value is not supported.
bool read_number(FunctionNode& f, const Waits& w, double& number) {
  const auto& params = f.info()->params;
  if (params.empty()) return true;
  const auto& s = *static_cast<const c10::Scalar*>(params[0].address(f.params()));
  if (s.isComplex() || s.isSymbolic()) return false;
  number = s.toDouble();
  return w.kind != Stage::Power || number == 2 || number == 3;
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
  return t.use_count() <= known && !has_python_object(t) && t.storage().use_count() == 1 &&
         t.storage().data_ptr().get_deleter() == c10::GetAllocator(c10::kCPU)->raw_deleter();
}

int place(const at::Tensor& t) {
  if (const int i = place_of(t); i >= 0) return i;
  waiting().push_back({t, Stage{Stage::None}});
  return static_cast<int>(waiting().size()) - 1;
}
const at::Tensor& add(Stage stage, at::Tensor y) {
  stage.result = waiting().size();
  waiting().push_back({std::move(y), stage});
  postponed = true;
  return waiting().back().tensor;
}

// Computes the functions that wait already, unless functions of arrays like x can wait together with them.
void settle_unlike(const at::Tensor& x, size_t arrays, bool joins) {
  auto& all = waiting();
  const unsigned now = kernels::DenormalMode::now();
  if (postponed && (all.size() + arrays > kMost || all[0].tensor.sizes() != x.sizes() ||
                    all[0].tensor.scalar_type() != x.scalar_type() || now != denormals || !joins))
    settle();
  if (!postponed) all.clear();
  denormals = now;
}

// A tensor like x that gets memory only if it is kept.
at::Tensor without_memory(const at::Tensor& x) {
  c10::Storage storage(c10::Storage::use_byte_size_t(), x.numel() * x.element_size(), at::DataPtr(nullptr, at::kCPU),
                       c10::GetAllocator(c10::kCPU), true);
  auto t = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU),
                                                    x.dtype());
  t.unsafeGetTensorImpl()->set_sizes_contiguous(x.sizes());
  return t;
}
bool is_free(const Waiting& w) {
  const c10::Storage& s = w.tensor.storage();
  return w.stage.kind == Stage::None && w.tensor.use_count() == 1 && s.use_count() == 1 &&
         s.nbytes() == w.tensor.nbytes() && s.data_ptr().get_deleter() == c10::GetAllocator(c10::kCPU)->raw_deleter();
}
// Memory for the results that are kept. The last one, which is written when all others have been read, shares that of
// an array which nobody needs any more: the index of this array, or -1.
int allocate(std::vector<Waiting>& all, const std::vector<bool>& kept) {
  int shared = -1;
  for (size_t i = 0; i < all.size(); ++i) {
    const c10::Storage& s = all[i].tensor.storage();
    if (!kept[i] || all[i].stage.kind == Stage::None || s.data()) continue;
    const auto free = std::find_if(all.begin(), all.end(), is_free);
    if (i + 1 == all.size() && free != all.end())
      shared = free - all.begin();
    else
      s.set_data_ptr_noswap(c10::GetAllocator(c10::kCPU)->allocate(s.nbytes()));
  }
  return shared;
}

// Computes the functions that wait, and forgets them. Until their loops run, an error leaves them as they are.
template <class T>
void compute(std::vector<Waiting>& all, const std::vector<bool>& kept, int shared) {
  std::vector<Stage> stages;
  std::vector<T*> arrays;
  for (size_t i = 0; i < all.size(); ++i) {
    const bool read = all[i].stage.kind == Stage::None, last = i + 1 == all.size();
    if (!read) stages.push_back(all[i].stage);
    const at::Tensor& t = all[last && shared >= 0 ? shared : i].tensor;
    arrays.push_back(read      ? const_cast<T*>(t.const_data_ptr<T>())
                     : kept[i] ? static_cast<T*>(t.storage().mutable_data())
                               : nullptr);
  }
  postponed = false;
  const auto done = std::exchange(all, {});
  const kernels::DenormalMode same(denormals);
  constexpr int64_t kItem = kernels::kGrain / 4, kTogether = 8;  // multiples of a cache line
  const int64_t n = done[0].tensor.numel();
  kernels::on_demand((n + kItem - 1) / kItem, kernels::kGrain / kItem, kTogether, [&](auto&& next) {
    for (kernels::Shares::Piece piece; next(piece);)
      kernels::run_stages<T>(stages, arrays, piece.begin * kItem, std::min(n, piece.end * kItem));
  });
  if (shared >= 0) {
    const c10::Storage& from = done[shared].tensor.storage();
    done.back().tensor.storage().set_data_ptr_noswap(from.set_data_ptr(at::DataPtr(nullptr, at::kCPU)));
  }
}

}  // namespace

void compute_postponed() {
  auto& all = waiting();
  std::vector<bool> kept;
  for (const Waiting& w : all) kept.push_back(w.tensor.use_count() > 1);
  const int shared = allocate(all, kept);
  kernels::with_dtype(all[0].tensor, [&]<class T>(T) { compute<T>(all, kept, shared); });
}
void settle_all_quietly() noexcept {
  try {
    settle();
    settle_gradients();
  } catch (const std::exception&) {
  }
}

at::Tensor postpone(FunctionNode& f, VarsRef in, int holders) {
  const Waits* const w = find_waits(f.info());
  if (!w || in[0].numel() < kLeast) return {};
  const at::Tensor& x = in[0].data;
  Stage stage{w->kind};
  for (const Var& v : in)
    if (!kernels::raw(x, v.data) || !v.data.is_contiguous() || v.data.sizes() != x.sizes()) return {};
  // ATen computes these of doubles.
  if ((w->kind == Stage::Tanh || w->kind == Stage::Erf) && x.scalar_type() != at::kFloat) return {};
  if (!read_number(f, *w, stage.number)) return {};
  const auto& all = waiting();
  settle_unlike(x, 3, std::any_of(in.begin(), in.end(), [](const Var& v) { return place_of(v.data) >= 0; }));
  if (!postponed && !w->begins) return {};
  for (const Var& v : in)
    if (const int i = place_of(v.data); !(i >= 0 && all[i].stage.kind != Stage::None) && !is_hidden(v, holders))
      return {};
  // The memory comes now, because a program expects an error for too large an array here.
  at::Tensor y = at::empty(x.sizes(), x.options());
  stage.a = place(in[0].data);
  stage.b = in.size() > 1 ? place(in[1].data) : stage.a;
  return add(stage, std::move(y));
}

bool postpone_backward(FunctionNode& f, const Tensors& gys, Tensors& gxs, c10::ArrayRef<bool> wanted) {
  const Waits* const w = find_waits(f.info());
  if (!w || gys.size() != 1 || !gys[0].defined() || gys[0].numel() < kLeast) return false;
  const at::Tensor& gy = gys[0];
  const auto fits = [&](const at::Tensor& t) {
    return kernels::raw(gy, t) && t.is_contiguous() && t.sizes() == gy.sizes();
  };
  if (!fits(gy)) return false;
  for (const auto& x : f.inputs)
    if (x->dtype != gy.scalar_type() || x->sizes != gy.sizes()) return false;
  double number = 0;
  if (!read_number(f, *w, number)) return false;
  const auto waits = [&](Stage::Kind kind, const at::Tensor& other, double s = 0) {
    settle_unlike(gy, 4, true);
    Stage stage{kind, s};
    stage.a = place(gy);
    stage.b = other.defined() ? place(other) : stage.a;
    return add(stage, without_memory(gy));
  };
  const auto product = [&](Stage::Kind kind, const at::Tensor& other, double s = 0) {
    if (!other.defined() || !fits(other)) return false;
    gxs[0] = waits(kind, other, s);
    return true;
  };
  switch (w->kind) {
    case Stage::MulNumber:
      gxs[0] = waits(Stage::MulNumber, {}, number);
      return true;
    case Stage::AddNumber:
      gxs[0] = gy;
      return true;
    case Stage::NumberSub:
    case Stage::Neg:
      gxs[0] = waits(Stage::Neg, {});
      return true;
    case Stage::Square:
      return product(Stage::PowerSlope, f.input_data(0), 2);
    case Stage::Power:
      return product(Stage::PowerSlope, f.input_data(0), number);
    case Stage::Erf:
      return gy.scalar_type() == at::kFloat && product(Stage::ErfSlope, f.input_data(0));
    case Stage::Tanh:
      return product(Stage::TanhSlope, f.output_data(0));
    case Stage::Add:
    case Stage::Sub:
      if (wanted[0]) gxs[0] = gy;
      if (wanted[1]) gxs[1] = w->kind == Stage::Add ? gy : waits(Stage::Neg, {});
      return true;
    case Stage::Mul: {
      const at::Tensor a = f.input_data(0), b = f.input_data(1);
      if ((wanted[0] && !fits(b)) || (wanted[1] && !fits(a))) return false;
      if (wanted[0]) gxs[0] = waits(Stage::Mul, b);
      if (wanted[1]) gxs[1] = waits(Stage::Mul, a);
      return true;
    }
    default:
      return false;
  }
}

at::Tensor postpone_sum(c10::ArrayRef<at::Tensor> gs) {
  if (!std::any_of(gs.begin(), gs.end(), [](const at::Tensor& g) { return place_of(g) >= 0; })) return {};
  const at::Tensor& first = waiting()[0].tensor;
  for (const at::Tensor& g : gs)
    if (!kernels::raw(first, g) || !g.is_contiguous() || g.sizes() != first.sizes()) return {};
  if (waiting().size() + 2 * gs.size() > kMost) return {};
  at::Tensor total = gs[0];
  for (const at::Tensor& g : gs.slice(1)) {
    Stage stage{Stage::Add};
    stage.a = place(total);
    stage.b = place(g);
    total = add(stage, without_memory(g));
  }
  return total;
}

}  // namespace cg
