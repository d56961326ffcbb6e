#include "core/unread.h"

#include <ATen/ops/equal.h>

#include <algorithm>
#include <memory>

#include "core/op.h"
#include "kernels/attention.h"
#include "kernels/one_thread.h"
#include "kernels/raw.h"

namespace cg {

size_t unread = 0;
bool unread_gradients = false;

namespace {

constexpr int64_t kLeastScores = 1 << 20;  // scores; fewer stay in the cache

const OpInfo* const& op_named(const OpInfo*& cached, const char* name) {
  if (!cached) cached = find_op(name);
  return cached;
}
#define CG_FIND(NAME)                    \
  ([]() -> const OpInfo* {               \
    static const OpInfo* found = nullptr; \
    return op_named(found, NAME);        \
  }())

void set(FunctionNode& f, std::string_view name, auto value) {
  for (const ParamInfo& p : f.info()->params)
    if (p.name == name) *static_cast<decltype(value)*>(p.address(f.params())) = value;
}
template <class V>
const V& parameter(FunctionNode& f, size_t k = 0) {
  return *static_cast<const V*>(f.info()->params[k].address(f.params()));
}
// The results of an op for tensors.
struct Run1 {
  Ref<FunctionNode> f;
  explicit Run1(const OpInfo* op) : f(op->create()) {}
  Run1& with(std::string_view name, auto value) {
    set(*f, name, value);
    return *this;
  }
  Tensors all(std::initializer_list<at::Tensor> xs) {
    Vars in;
    for (const at::Tensor& x : xs) in.emplace_back(x);
    return f->forward(in);
  }
  at::Tensor operator()(std::initializer_list<at::Tensor> xs) { return std::move(all(xs)[0]); }
};

// What a program has made of q and k so far. q, k and mask are copies, because it may write into its own arrays.
struct Scores {
  at::Tensor q, k, mask;
  std::optional<c10::Scalar> scale;
  bool weights = false;  // softmax was applied
  double factor() const { return scale ? scale->toDouble() : 1; }
};

// An array that nobody has read.
struct Unread {
  enum Kind : uint8_t { OfScores, OfWeightsGradient, OfScoresGradient, OfValuesGradient } kind = OfScores;
  Scores scores;
  // of the gradients: the weights, v and the gradient of the product
  at::Tensor weights, v, gy;
  at::Tensor of_v;                        // the gradient of v, which is computed together with those of q and k
  std::optional<c10::Scalar> scaled = {};  // the gradient of the scores was multiplied by the scale

  Unread() { ++unread; }
  Unread(const Unread&) = delete;
  ~Unread() { --unread; }
  at::Tensor compute() const;
};

void drop(void* p) { delete static_cast<Unread*>(p); }
c10::StorageImpl* storage_of(const at::Tensor& t) {
  return t.has_storage() ? t.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl() : nullptr;
}
Unread* find(const at::Tensor& t) {
  if (!unread || !t.defined()) return nullptr;
  c10::StorageImpl* const s = storage_of(t);
  if (!s) return nullptr;
  const at::DataPtr& p = s->_mutable_data_ptr_no_checks();
  return p.get_deleter() == &drop ? static_cast<Unread*>(p.get_context()) : nullptr;
}
at::Tensor make(std::unique_ptr<Unread> u, at::IntArrayRef sizes, const at::Tensor& like) {
  c10::Storage storage(c10::Storage::use_byte_size_t(), c10::multiply_integers(sizes) * like.element_size(),
                       at::DataPtr(nullptr, u.get(), &drop, at::kCPU), c10::GetAllocator(c10::kCPU), true);
  u.release();
  storage.unsafeGetStorageImpl()->release_data_and_set_meta_custom_data_ptr_error_msg_(
      "compatgrad: the scores of an attention are read before they are computed; please report it");
  auto t = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU),
                                                    like.dtype());
  t.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  return t;
}
// Gives t the values of `from`, which nobody else holds.
void fill(const at::Tensor& t, const at::Tensor& from) {
  const at::Tensor values = from.contiguous();
  c10::StorageImpl* const s = storage_of(t);
  s->clear_data_ptr_access_error_msg_();
  const at::DataPtr old = s->set_data_ptr(values.storage().set_data_ptr(at::DataPtr(nullptr, at::kCPU)));
}

std::vector<at::Tensor>& gradients() {
  static auto* const all = new std::vector<at::Tensor>;  // never destroyed: torch may be gone by then
  return *all;
}
// Forgets gradients that nobody needs any more.
void prune() {
  auto& all = gradients();
  all.erase(std::remove_if(all.begin(), all.end(), [](const at::Tensor& g) { return g.use_count() == 1 || !find(g); }),
            all.end());
  unread_gradients = !all.empty();
}
at::Tensor gradient(std::unique_ptr<Unread> u, at::IntArrayRef sizes) {
  prune();
  const at::Tensor like = u->gy;
  at::Tensor t = make(std::move(u), sizes, like);
  gradients().push_back(t);
  unread_gradients = true;
  return t;
}
std::unique_ptr<Unread> gradient_like(const Unread& from, Unread::Kind kind) {
  auto u = std::make_unique<Unread>();
  u->kind = kind;
  u->weights = from.weights, u->v = from.v, u->gy = from.gy, u->of_v = from.of_v, u->scaled = from.scaled;
  return u;
}

at::Tensor values_of(const Scores& s) {
  at::Tensor y = Run1(CG_FIND("matmul")).with("transb", true)({s.q, s.k});
  if (s.scale) y = Run1(CG_FIND("mul_scalar")).with("value", *s.scale)({y});
  if (s.mask.defined()) y = Run1(CG_FIND("add"))({y, s.mask});
  return s.weights ? Run1(CG_FIND("softmax")).with("axis", y.dim() - 1)({y}) : y;
}
at::Tensor Unread::compute() const {
  const auto matmul = [] { return Run1(CG_FIND("matmul")); };
  if (kind == OfScores) return values_of(scores);
  if (kind == OfValuesGradient) return matmul().with("transa", true)({read(weights), gy});
  at::Tensor g = matmul().with("transb", true)({gy, v});
  if (kind == OfWeightsGradient) return g;
  g = Run1(CG_FIND("softmax_grad")).with("axis", g.dim() - 1)({g, read(weights)});
  return scaled ? Run1(CG_FIND("mul_scalar")).with("value", *scaled)({g}) : g;
}

bool same_heads(const at::Tensor& a, const at::Tensor& b) {
  return a.dim() == b.dim() && a.sizes().slice(0, a.dim() - 2) == b.sizes().slice(0, b.dim() - 2);
}
// A copy that is as large as the memory of x: axes along which x repeats itself are not repeated.
at::Tensor copy_of(at::Tensor x) {
  const at::IntArrayRef sizes = x.sizes();
  const c10::DimVector all(sizes.begin(), sizes.end());
  for (int64_t a = 0; a < x.dim(); ++a)
    if (x.stride(a) == 0 && x.size(a) > 1) x = x.narrow(a, 0, 1);
  return x.clone(at::MemoryFormat::Contiguous).expand(all);
}
at::Tensor next(const Scores& s, const at::Tensor& like) {
  auto u = std::make_unique<Unread>();
  u->scores = s;
  return make(std::move(u), like.sizes(), like);
}

at::Tensor begin(FunctionNode& f, const at::Tensor& a, const at::Tensor& b) {
  const bool transa = parameter<bool>(f, 0), transb = parameter<bool>(f, 1);
  if (transa || a.dim() < 3 || !kernels::raw(a, b) || !same_heads(a, b) || !kernels::attention_fits()) return {};
  const at::Tensor k = transb ? b : b.transpose(-1, -2);
  const int64_t n = a.size(-2), m = k.size(-2), depth = a.size(-1);
  if (k.size(-1) != depth || a.numel() / std::max<int64_t>(1, depth) * m < kLeastScores || 4 * depth > std::min(n, m))
    return {};
  settle();
  Scores s{a.clone(at::MemoryFormat::Contiguous), k.clone(at::MemoryFormat::Contiguous), {}, {}, false};
  auto sizes = c10::DimVector(a.sizes().begin(), a.sizes().end());
  sizes.back() = m;
  auto u = std::make_unique<Unread>();
  u->scores = std::move(s);
  return make(std::move(u), sizes, a);
}
at::Tensor scale(FunctionNode& f, const at::Tensor& x, const Scores& s) {
  const auto& number = parameter<c10::Scalar>(f);
  if (s.weights || s.scale || s.mask.defined() || number.isComplex() || number.isSymbolic()) return {};
  Scores to = s;
  to.scale = number;
  return next(to, x);
}
at::Tensor add_mask(const at::Tensor& x, const Scores& s, const Var& mask) {
  const at::Tensor& m = mask.data;
  if (s.weights || s.mask.defined() || mask.requires_grad() || !kernels::raw(x, m) || m.dim() > x.dim()) return {};
  for (int64_t i = 1; i <= m.dim(); ++i)
    if (m.size(-i) != 1 && m.size(-i) != x.size(-i)) return {};
  settle();
  Scores to = s;
  to.mask = copy_of(m);
  return next(to, x);
}
at::Tensor product(FunctionNode& f, const Scores& s, const at::Tensor& v) {
  if (!s.weights || parameter<bool>(f, 0) || parameter<bool>(f, 1) || !kernels::raw(s.q, v) || !same_heads(s.q, v) ||
      v.size(-2) != s.k.size(-2) || v.numel() == 0)
    return {};
  settle();
  const Unlocked unlocked(true);
  const kernels::OneThread one;
  return Run1(CG_FIND("attention")).with("scale", s.factor())({s.q, s.k, v, s.mask});
}

}  // namespace

void compute_unread(const at::Tensor& t) {
  if (const Unread* u = find(t)) {
    settle();
    fill(t, u->compute());
  }
}

at::Tensor join_attention(FunctionNode& f, VarsRef in) {
  const OpInfo* const op = f.info();
  const bool two = in.size() == 2 && in[1].defined();
  if (op == CG_FIND("matmul")) {
    if (const Unread* u = find(in[0].data))
      return u->kind == Unread::OfScores && !find(in[1].data) ? product(f, u->scores, in[1].data) : at::Tensor();
    return find(in[1].data) ? at::Tensor() : begin(f, in[0].data, in[1].data);
  }
  if (!unread || in.empty()) return {};
  const auto scores = [&](size_t i) -> const Scores* {
    const Unread* u = find(in[i].data);
    return u && u->kind == Unread::OfScores ? &u->scores : nullptr;
  };
  if (const Scores* s = scores(0)) {
    const at::Tensor& x = in[0].data;
    if (op == CG_FIND("mul_scalar")) return scale(f, x, *s);
    if (op == CG_FIND("add") && two && !find(in[1].data)) return add_mask(x, *s, in[1]);
    if (op == CG_FIND("softmax") && !s->weights) {
      const int64_t axis = parameter<int64_t>(f);
      if (axis != -1 && axis != x.dim() - 1) return {};
      Scores to = *s;
      to.weights = true;
      return next(to, x);
    }
  } else if (two && op == CG_FIND("add")) {
    if (const Scores* t = scores(1)) return add_mask(in[1].data, *t, in[0]);
  }
  return {};
}

bool join_attention_backward(FunctionNode& f, const Tensors& gys, Tensors& gxs, c10::ArrayRef<bool> wanted) {
  if (!unread || gys.size() != 1 || !gys[0].defined()) return false;
  const OpInfo* const op = f.info();
  const at::Tensor& gy = gys[0];
  const Unread* const g = find(gy);
  if (!g) {  // the product with v
    if (op != CG_FIND("matmul") || !wanted[0]) return false;
    const at::Tensor &weights = f.inputs[0]->data, v = f.inputs[1]->data;
    const Unread* const u = find(weights);
    if (!u || u->kind != Unread::OfScores || !u->scores.weights || !v.defined() || find(v) || !kernels::raw(gy, v) ||
        !kernels::raw(gy, weights) || !same_heads(v, weights) || parameter<bool>(f, 0) || parameter<bool>(f, 1))
      return false;
    settle();
    auto w = std::make_unique<Unread>();
    w->kind = Unread::OfWeightsGradient;
    w->weights = weights, w->v = v, w->gy = gy;
    if (wanted[1]) {
      gxs[1] = gradient(gradient_like(*w, Unread::OfValuesGradient), v.sizes());
      w->of_v = gxs[1];
    }
    gxs[0] = gradient(std::move(w), weights.sizes());
    return true;
  }
  if (op == CG_FIND("softmax")) {
    const at::Tensor& weights = f.outputs[0].node ? f.outputs[0].node->data : f.outputs[0].saved;
    if (g->kind != Unread::OfWeightsGradient || !g->weights.is_same(weights) || !find(weights)) return false;
    gxs[0] = gradient(gradient_like(*g, Unread::OfScoresGradient), gy.sizes());
    return true;
  }
  if (g->kind != Unread::OfScoresGradient) return false;
  if (op == CG_FIND("add")) {  // the sizes of the scores are those of the result
    for (size_t i = 0; i < 2; ++i)
      if (wanted[i] && f.inputs[i]->sizes != gy.sizes()) return false;
    for (size_t i = 0; i < 2; ++i)
      if (wanted[i]) gxs[i] = gy;
    return true;
  }
  if (op == CG_FIND("mul_scalar") && !g->scaled) {
    auto u = gradient_like(*g, Unread::OfScoresGradient);
    u->scaled = parameter<c10::Scalar>(f);
    gxs[0] = gradient(std::move(u), gy.sizes());
    return true;
  }
  const Unread* const u = find(g->weights);
  if (op != CG_FIND("matmul") || !u || parameter<bool>(f, 0)) return false;
  const Scores& s = u->scores;
  const bool transb = parameter<bool>(f, 1);
  const at::Tensor &q = f.inputs[0]->data, &b = f.inputs[1]->data;
  if (g->scaled.has_value() != s.scale.has_value() || (s.scale && g->scaled->toDouble() != s.factor())) return false;
  // An array that the program has changed since gives another gradient.
  const auto kept = [](const at::Tensor& now, const at::Tensor& then) {
    return !now.defined() || (!find(now) && now.sizes() == then.sizes() && at::equal(now, then));
  };
  if (!kept(q, s.q) || !kept(b.defined() && !transb ? b.transpose(-1, -2) : b, s.k)) return false;
  settle();
  const at::Tensor of_v = g->of_v;
  Tensors all;
  {
    const Unlocked unlocked(true);
    all = Run1(CG_FIND("attention_grad")).with("scale", s.factor()).all({g->gy, s.q, s.k, g->v, s.mask});
  }
  if (wanted[0]) gxs[0] = all[0];
  if (wanted[1]) gxs[1] = transb ? all[1] : all[1].transpose(-1, -2);
  if (find(of_v)) fill(of_v, all[2]);
  prune();
  return true;
}

void compute_unread_gradients() {
  const auto all = std::exchange(gradients(), {});
  unread_gradients = false;
  for (const at::Tensor& g : all)
    if (g.use_count() > 1) read(g);
}
void forget_gradients() noexcept {
  const auto all = std::exchange(gradients(), {});
  unread_gradients = false;
}

}  // namespace cg
