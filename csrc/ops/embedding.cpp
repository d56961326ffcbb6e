// Rows of a table by index.
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/zeros.h>

#include "kernels/embedding.h"
#include "kernels/raw.h"
#include "ops/functions.h"

namespace cg {
namespace {

struct Lookup {
  std::optional<int64_t> ignore_index;

  static Tensor indices(const Tensor& ids) {
    return (ids.scalar_type() == at::kInt || ids.scalar_type() == at::kLong ? ids : ids.to(at::kLong)).contiguous();
  }
  static Ints shape(at::IntArrayRef ids, int64_t width) {
    Ints r = ints(ids);
    r.push_back(width);
    return r;
  }
  // Indices for ATen's kernels, which need nonnegative ones.
  Tensor safe(const Tensor& ids, int64_t rows) const {
    Tensor t = indices(ids);
    if (ignore_index) t = t.masked_fill(at::eq(t, *ignore_index), 0);
    return at::where(t < 0, t + rows, t);
  }
  Tensor without_ignored(const Tensor& x, const Tensor& ids) const {
    return ignore_index ? x.masked_fill(at::eq(ids, *ignore_index).unsqueeze(-1), 0) : x;
  }
};

template <class T>
T embedding(const Lookup& p, const T& w, const T& ids);

struct EmbeddingGrad : Lookup {
  int64_t rows = 0;
  static constexpr auto params() {
    return std::make_tuple(required("rows", &EmbeddingGrad::rows), param("ignore_index", &EmbeddingGrad::ignore_index));
  }
  static constexpr bool any_dtype = true;
  static constexpr Mask integers = in_bit(1);
  static constexpr Mask saves = in_bit(1);
  Tensor forward(const Tensor& gy, const Tensor& ids) {
    TORCH_CHECK_VALUE(gy.dim() > 0 && gy.sizes() == at::IntArrayRef(shape(ids.sizes(), gy.size(-1))),
                      "embedding_grad: a gradient of shape ", gy.sizes(), " does not fit ids of shape ", ids.sizes());
    const int64_t width = gy.size(-1);
    Tensor gw = kernels::zeros({rows, width}, gy);
    if (kernels::raw(gy))
      kernels::add_rows(gy.contiguous(), indices(ids), ignore_index, gw);
    else
      gw.index_add_(0, safe(ids, rows).reshape(-1), without_ignored(gy, ids).reshape({-1, width}));
    return gw;
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return embedding<T>(*this, c.gy(), c.in(1)); });
  }
};
CG_OP("embedding_grad", EmbeddingGrad,
      "The gradient of embedding with respect to its table of `rows` rows, from the gradient of the result.")

// The gradient of a table whose rows `ids` were looked up.
struct RowsToTable {
  template <class T>
  static T of(const T& ids, const T& gy, at::IntArrayRef table) {
    return run(EmbeddingGrad{{}, table[0]}, gy, ids);
  }
  static bool write(const Tensor& to, const Tensor& ids, const Tensor& gy) {
    if (!kernels::raw(gy, to)) return false;
    kernels::clear(to);
    return add(to, ids, gy);
  }
  static bool add(const Tensor& to, const Tensor& ids, const Tensor& gy) {
    if (!kernels::raw(gy, to)) return false;
    kernels::add_rows(gy.contiguous(), Lookup::indices(ids), std::nullopt, to);
    return true;
  }
  static constexpr bool adds_at_once = true;
};

struct Embedding : Lookup {
  static constexpr auto params() { return std::make_tuple(param("ignore_index", &Embedding::ignore_index)); }
  static constexpr bool any_dtype = true;
  static constexpr Mask integers = in_bit(1);
  static constexpr Mask saves = in_bit(1);
  Tensor forward(const Tensor& w, const Tensor& ids) {
    TORCH_CHECK_VALUE(w.dim() == 2, "embedding: the table must have 2 axes, not ", w.dim());
    if (!kernels::raw(w)) return without_ignored(at::embedding(w, safe(ids, w.size(0))), ids);
    Tensor y = few::empty(shape(ids.sizes(), w.size(1)), w);
    kernels::take_rows(w.contiguous(), indices(ids), ignore_index, y);
    return y;
  }
  template <class T>
  void backward(Ctx<T>& c) {
    if (ignore_index)
      c.grad(0, [&] { return run(EmbeddingGrad{*this, c.in_sizes(0)[0]}, c.gy(), c.in(1)); });
    else
      c.template grad_of_rows<RowsToTable>(0, c.in(1), c.gy());
  }
};
CG_OP("embedding", Embedding, "Rows w[ids]; zeros where an id is ignore_index. Negative ids count from the end.")

template <class T>
T embedding(const Lookup& p, const T& w, const T& ids) {
  return run(Embedding{p}, w, ids);
}

}  // namespace
}  // namespace cg
