#include "core/unread.h"

#include <algorithm>

#include "core/door.h"
#include "core/unread_arrays.h"
#include "kernels/attention.h"
#include "kernels/attention_heads.h"
#include "kernels/denormals.h"
#include "kernels/one_thread.h"
#include "kernels/raw.h"

namespace cg {

std::atomic<size_t> unread = 0;

namespace unread_arrays {

constexpr int64_t kFewestScores = 1 << 20;   // fewer stay in the cache
constexpr int64_t kFewestInLanes = 1 << 15;  // scores for which a kernel saves more than the copies of q and k cost

namespace {
// Belongs to the storage of an array, and is deleted with it or when the array gets its values.
struct Holder {
  const State state;
  explicit Holder(State s) : state(std::move(s)) { ++unread; }
  ~Holder() { --unread; }
  Holder(const Holder&) = delete;
};
void drop(void* p) { delete static_cast<Holder*>(p); }
c10::StorageImpl* storage_of(const at::Tensor& t) {
  return t.has_storage() ? t.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl() : nullptr;
}

// Values do not depend on torch's modes, nor on the treatment of subnormal numbers, at the time of the read.
struct AsAtTheCall {
  const c10::impl::ForceDispatchKeyGuard keys{c10::impl::LocalDispatchKeySet(c10::impl::PODLocalDispatchKeySet{})};
  const EngineScope engine;
  const kernels::DenormalMode denormals;
  const kernels::OneThread one;
  explicit AsAtTheCall(unsigned mode) : denormals(mode) {}
};

at::Tensor values_of(const Scores& s) {
  at::Tensor y = Named(CG_NAMED("matmul")).with("transb", true)(s.q, s.k);
  if (s.scale) y = Named(CG_NAMED("mul_scalar")).with("value", *s.scale)(y);
  if (s.mask.defined()) y = Named(CG_NAMED("add"))(y, s.mask);
  return s.weights ? Named(CG_NAMED("softmax")).with("axis", y.dim() - 1)(y) : y;
}
void compute(const at::Tensor& t, bool unlock) {
  const State u = find(t);
  if (!u) return;
  settle();
  if (u->weights.defined()) read(u->weights);
  at::Tensor values;
  {
    const AsAtTheCall scope(u->kind == Unread::OfScores ? u->scores.denormals : kernels::DenormalMode::now());
    const Unlocked unlocked(unlock);
    values = u->compute().contiguous();
  }
  if (find(t)) fill(t, values);  // another thread may have done so
}
}  // namespace

State find(const at::Tensor& t) {
  if (!unread || !t.defined()) return nullptr;
  c10::StorageImpl* const s = storage_of(t);
  if (!s) return nullptr;
  const at::DataPtr& p = s->_mutable_data_ptr_no_checks();
  return p.get_deleter() == &drop ? static_cast<const Holder*>(p.get_context())->state : nullptr;
}

at::Tensor make(Unread u, at::IntArrayRef sizes, const at::Tensor& like) {
  auto* const holder = new Holder(std::make_shared<const Unread>(std::move(u)));
  c10::Storage storage(c10::Storage::use_byte_size_t(), c10::multiply_integers(sizes) * like.element_size(),
                       at::DataPtr(nullptr, holder, &drop, at::kCPU), c10::GetAllocator(c10::kCPU), true);
  storage.unsafeGetStorageImpl()->release_data_and_set_meta_custom_data_ptr_error_msg_(
      "compatgrad: the scores of an attention are read before they are computed; please report it");
  auto t = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU),
                                                    like.dtype());
  t.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  return t;
}

void fill(const at::Tensor& t, const at::Tensor& values) {
  c10::StorageImpl* const s = storage_of(t);
  s->clear_data_ptr_access_error_msg_();
  const at::DataPtr old = s->set_data_ptr(values.storage().set_data_ptr(at::DataPtr(nullptr, at::kCPU)));
}

at::Tensor Unread::compute() const {
  const auto matmul = [] { return Named(CG_NAMED("matmul")); };
  if (kind == OfScores) return values_of(scores);
  if (kind == OfValuesGradient) return matmul().with("transa", true)(weights, gy);
  at::Tensor g = matmul().with("transb", true)(gy, v);
  if (kind == OfWeightsGradient) return g;
  g = Named(CG_NAMED("softmax_grad")).with("axis", g.dim() - 1)(g, weights);
  return scaled ? Named(CG_NAMED("mul_scalar")).with("value", *scaled)(g) : g;
}

namespace {

// A copy that is as large as the memory of x: axes along which x repeats itself are not repeated.
at::Tensor copy_of(at::Tensor x) {
  const c10::DimVector sizes(x.sizes().begin(), x.sizes().end());
  for (int64_t a = 0; a < x.dim(); ++a)
    if (x.stride(a) == 0 && x.size(a) > 1) x = x.narrow(a, 0, 1);
  return x.clone(at::MemoryFormat::Contiguous).expand(sizes);
}
at::Tensor next(Scores s, const at::Tensor& x) {
  Unread u;
  u.scores = std::move(s);
  return make(std::move(u), x.sizes(), x);
}

// Whether attention as one op saves time. Few scores stay in the cache, and the gradients would compute them again.
bool pays(const at::Tensor& q, const at::Tensor& k, bool recorded, bool turned) {
  const int64_t n = q.size(-2), m = k.size(-2), depth = q.size(-1);
  if (depth == 0) return false;
  const int64_t scores = q.numel() / depth * m;
  if (scores >= kFewestScores && 4 * depth <= std::min(n, m)) return true;
  return !recorded && turned && scores >= kFewestInLanes && (n + m) * depth <= 2 * n * m &&
         q.scalar_type() == at::kFloat && kernels::attention_in_lanes(n, m);
}
at::Tensor begin(FunctionNode& f, VarsRef in) {
  const at::Tensor &a = in[0].data, &b = in[1].data;
  const bool transa = parameter<bool>(f, 0), transb = parameter<bool>(f, 1);
  if (transa || a.dim() < 3 || !kernels::raw(a, b) || !same_heads(a, b) || !kernels::attention_fits()) return {};
  const at::Tensor k = transb ? b : b.transpose(-1, -2);
  const bool recorded = mode(Mode::enable_backprop) && (in[0].requires_grad() || in[1].requires_grad()),
             turned = k.stride(-1) == 1;
  if (k.size(-1) != a.size(-1) || !pays(a, k, recorded, turned)) return {};
  settle();
  Unread u;
  u.scores.q = a.clone(at::MemoryFormat::Contiguous);
  u.scores.k = k.clone(at::MemoryFormat::Contiguous);
  u.scores.denormals = kernels::DenormalMode::now();
  c10::DimVector sizes(a.sizes().begin(), a.sizes().end());
  sizes.back() = k.size(-2);
  return make(std::move(u), sizes, a);
}
at::Tensor scale(FunctionNode& f, const at::Tensor& x, Scores s) {
  const auto& number = parameter<c10::Scalar>(f);
  if (s.weights || s.scale || s.mask.defined() || number.isComplex() || number.isSymbolic()) return {};
  s.scale = number;
  return next(std::move(s), x);
}
at::Tensor add_mask(const at::Tensor& x, Scores s, const Var& mask) {
  const at::Tensor& m = mask.data;
  if (s.weights || s.mask.defined() || mask.requires_grad() || !kernels::raw(x, m) || m.dim() > x.dim()) return {};
  for (int64_t i = 1; i <= m.dim(); ++i)
    if (m.size(-i) != 1 && m.size(-i) != x.size(-i)) return {};
  settle();
  s.mask = copy_of(m);
  return next(std::move(s), x);
}
at::Tensor normalize(FunctionNode& f, const at::Tensor& x, Scores s) {
  const int64_t axis = parameter<int64_t>(f);
  if (s.weights || (axis != -1 && axis != x.dim() - 1)) return {};
  s.weights = true;
  return next(std::move(s), x);
}
at::Tensor product(FunctionNode& f, const Scores& s, const at::Tensor& v) {
  if (!s.weights || parameter<bool>(f, 0) || parameter<bool>(f, 1) || !kernels::raw(s.q, v) || !same_heads(s.q, v) ||
      v.size(-2) != s.k.size(-2) || v.numel() == 0)
    return {};
  settle();
  Named attention(CG_NAMED("attention"));
  attention.with("scale", s.factor());
  const Unlocked unlocked(true);
  const kernels::OneThread one;
  return attention(s.q, s.k, v, s.mask);
}

}  // namespace
}  // namespace unread_arrays

using namespace unread_arrays;

bool is_unread(const at::Tensor& t) { return find(t) != nullptr; }
void compute_unread(const at::Tensor& t) { compute(at::Tensor(t), false); }
void read_inputs(VarsRef in) {
  if (!unread) [[likely]]
    return;
  for (const Var& x : in) compute(x.data, true);
}

at::Tensor join_attention(FunctionNode& f, VarsRef in) {
  const OpInfo* const op = f.info();
  const bool matmul = op == CG_NAMED("matmul");
  if (in.empty() || in.size() > 2 || (!unread && !matmul)) return {};
  const State a = find(in[0].data), b = in.size() == 2 ? find(in[1].data) : nullptr;
  if (matmul && !a && !b) return begin(f, in);
  if ((a && b) || !(a ? a : b) || (a ? a : b)->kind != Unread::OfScores) return {};
  if (op == CG_NAMED("add")) return a ? add_mask(in[0].data, a->scores, in[1]) : add_mask(in[1].data, b->scores, in[0]);
  if (!a) return {};
  if (matmul) return product(f, a->scores, in[1].data);
  if (op == CG_NAMED("mul_scalar")) return scale(f, in[0].data, a->scores);
  return op == CG_NAMED("softmax") ? normalize(f, in[0].data, a->scores) : at::Tensor();
}

}  // namespace cg
