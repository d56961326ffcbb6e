// The arrays of core/unread.h, for the two files that make them.
#pragma once
#include <c10/core/Scalar.h>

#include "core/named.h"
#include "core/unread.h"

namespace cg::unread_arrays {

// What a program has made of q and k so far. q, k and mask are copies, because it may write into its own arrays.
struct Scores {
  at::Tensor q, k, mask;
  std::optional<c10::Scalar> scale;
  bool weights = false;    // softmax was applied
  unsigned denormals = 0;  // how the thread that called the functions treats subnormal numbers
  double factor() const { return scale ? scale->toDouble() : 1; }
};

struct Unread {
  enum Kind : uint8_t { OfScores, OfWeightsGradient, OfScoresGradient, OfValuesGradient } kind = OfScores;
  Scores scores;
  // Of the gradients: the weights, v, and the gradient of the product.
  at::Tensor weights, v, gy;
  at::Tensor of_v;                    // the gradient of v, which is computed together with those of q and k
  std::optional<c10::Scalar> scaled;  // the gradient of the scores was multiplied by the scale
  at::Tensor compute() const;
};
using State = std::shared_ptr<const Unread>;

// The state of t if it is such an array; otherwise null.
State find(const at::Tensor& t);
at::Tensor make(Unread u, at::IntArrayRef sizes, const at::Tensor& like);
// Gives such an array its values.
void fill(const at::Tensor& t, const at::Tensor& values);

template <class V>
const V& parameter(FunctionNode& f, size_t k = 0) {
  return *static_cast<const V*>(f.info()->params[k].address(f.params()));
}
inline bool same_heads(const at::Tensor& a, const at::Tensor& b) {
  return a.dim() == b.dim() && a.sizes().slice(0, a.dim() - 2) == b.sizes().slice(0, b.dim() - 2);
}

}  // namespace cg::unread_arrays
