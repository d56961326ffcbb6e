// The gradients of core/unread.h.
#include <ATen/ops/equal.h>

#include <algorithm>
#include <iterator>

#include "core/unread_arrays.h"
#include "kernels/raw.h"

namespace cg {

bool unread_gradients = false;

namespace {

using namespace unread_arrays;

// The gradients that may have no values yet. They refer to v and to the gradient of the product, of which there are no
// copies.
std::vector<at::Tensor>& gradients() {
  static auto* const all = new std::vector<at::Tensor>;  // never destroyed: torch may be gone by then
  return *all;
}
// Forgets those that nobody needs any more. They may be the last to hold arrays of Python, whose finalizers come back
// here; so they are released after the list is complete again.
void prune() {
  auto& all = gradients();
  const auto needed = [](const at::Tensor& g) { return g.use_count() > 1 && find(g); };
  const auto end = std::stable_partition(all.begin(), all.end(), needed);
  const std::vector<at::Tensor> over(std::make_move_iterator(end), std::make_move_iterator(all.end()));
  all.erase(end, all.end());
  unread_gradients = !all.empty();
}
at::Tensor gradient(Unread u, Unread::Kind kind, at::IntArrayRef sizes) {
  prune();
  u.kind = kind;
  const at::Tensor like = u.gy;
  at::Tensor t = make(std::move(u), sizes, like);
  gradients().push_back(t);
  unread_gradients = true;
  return t;
}

bool of_product(FunctionNode& f, const at::Tensor& gy, Tensors& gxs, c10::ArrayRef<bool> wanted) {
  if (!wanted[0] || !f.inputs[0] || !f.inputs[1]) return false;
  const at::Tensor &weights = f.inputs[0]->data, &v = f.inputs[1]->data;
  const State u = find(weights);
  if (!u || u->kind != Unread::OfScores || !u->scores.weights || !v.defined() || find(v) || !kernels::raw(gy, v) ||
      !kernels::raw(gy, weights) || !same_heads(v, weights) || parameter<bool>(f, 0) || parameter<bool>(f, 1))
    return false;
  settle();
  Unread g;
  g.weights = weights, g.v = v, g.gy = gy;
  if (wanted[1]) gxs[1] = g.of_v = gradient(g, Unread::OfValuesGradient, v.sizes());
  gxs[0] = gradient(std::move(g), Unread::OfWeightsGradient, weights.sizes());
  return true;
}
bool of_softmax(FunctionNode& f, const Unread& g, const at::Tensor& gy, Tensors& gxs) {
  const at::Tensor& weights = f.outputs[0].node ? f.outputs[0].node->data : f.outputs[0].saved;
  if (g.kind != Unread::OfWeightsGradient || !g.weights.is_same(weights) || !find(weights)) return false;
  gxs[0] = gradient(g, Unread::OfScoresGradient, gy.sizes());
  return true;
}
bool of_mask(FunctionNode& f, const at::Tensor& gy, Tensors& gxs, c10::ArrayRef<bool> wanted) {
  for (size_t i = 0; i < 2; ++i)
    if (wanted[i] && f.inputs[i]->sizes != gy.sizes()) return false;
  for (size_t i = 0; i < 2; ++i)
    if (wanted[i]) gxs[i] = gy;
  return true;
}
bool of_scale(FunctionNode& f, const Unread& g, const at::Tensor& gy, Tensors& gxs) {
  if (g.scaled) return false;
  Unread u = g;
  u.scaled = parameter<c10::Scalar>(f);
  gxs[0] = gradient(std::move(u), Unread::OfScoresGradient, gy.sizes());
  return true;
}
bool of_scores(FunctionNode& f, const Unread& g, Tensors& gxs, c10::ArrayRef<bool> wanted) {
  const State u = find(g.weights);
  if (!u || parameter<bool>(f, 0)) return false;
  const Scores& s = u->scores;
  if (g.scaled.has_value() != s.scale.has_value() || (s.scale && g.scaled->toDouble() != s.factor())) return false;
  const bool transb = parameter<bool>(f, 1);
  const at::Tensor &q = f.inputs[0]->data, &b = f.inputs[1]->data;
  // An array that the program has changed since then gives another gradient.
  const auto unchanged = [](const at::Tensor& now, const at::Tensor& then) {
    return !now.defined() || (!find(now) && now.sizes() == then.sizes() && at::equal(now, then));
  };
  if (!unchanged(q, s.q) || !unchanged(b.defined() && !transb ? b.transpose(-1, -2) : b, s.k)) return false;
  settle();
  Named attention_grad(CG_NAMED("attention_grad"));
  attention_grad.with("scale", s.factor());
  Tensors all;
  {
    const Unlocked unlocked(true);
    all = attention_grad.all(g.gy, s.q, s.k, g.v, s.mask);
  }
  if (wanted[0]) gxs[0] = all[0];
  if (wanted[1]) gxs[1] = transb ? all[1] : all[1].transpose(-1, -2);
  if (find(g.of_v)) fill(g.of_v, all[2]);
  prune();
  return true;
}

}  // namespace

bool join_attention_backward(FunctionNode& f, const Tensors& gys, Tensors& gxs, c10::ArrayRef<bool> wanted) {
  if (!unread || gys.size() != 1 || !gys[0].defined()) return false;
  const OpInfo* const op = f.info();
  const at::Tensor& gy = gys[0];
  const State g = find(gy);
  if (!g) return op == CG_NAMED("matmul") && of_product(f, gy, gxs, wanted);
  if (op == CG_NAMED("softmax")) return of_softmax(f, *g, gy, gxs);
  if (g->kind != Unread::OfScoresGradient) return false;
  if (op == CG_NAMED("add")) return of_mask(f, gy, gxs, wanted);
  if (op == CG_NAMED("mul_scalar")) return of_scale(f, *g, gy, gxs);
  return op == CG_NAMED("matmul") && of_scores(f, *g, gxs, wanted);
}

void compute_unread_gradients() {
  prune();
  for (auto& all = gradients(); !all.empty();) {
    const at::Tensor g = std::move(all.back());
    all.pop_back();  // before finalizers that read() runs come here
    try {
      if (g.use_count() > 1) read(g);
    } catch (...) {
      all.push_back(g);
      unread_gradients = true;
      throw;
    }
  }
  unread_gradients = false;
}

}  // namespace cg
