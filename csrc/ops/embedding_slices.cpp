// Slices of a table by index, with the arguments of nnabla's embed: the indices first, then a table with any number of
// axes.
#include "core/deferred.h"
#include "core/named.h"

namespace cg {
namespace {

// The gradient of a table whose rows `ids` were looked up.
struct SlicesToTable {
  template <class T>
  static T of(const T& ids, const T& gy, at::IntArrayRef table) {
    return Named(CG_NAMED("embedding_grad")).with("rows", table[0])(gy, ids);
  }
};

struct Embed {
  static constexpr bool any_dtype = true;
  static constexpr Mask integers = in_bit(0);
  static constexpr Mask saves = in_bit(0);

  // The shape of the table for the ops on rows.
  static Ints rows(at::IntArrayRef table) {
    int64_t width = 1;
    for (int64_t n : table.slice(1)) width *= n;
    return {table[0], width};
  }
  static Ints result(const Tensor& ids, const Tensor& w) {
    TORCH_CHECK(w.dim() >= 1, "embed: w must have at least one axis");
    Ints sizes = ints(ids.sizes());
    sizes.append(w.sizes().begin() + 1, w.sizes().end());
    return sizes;
  }
  // torch's shape function of a look-up is written in Python and imports torch's compiler.
  Tensor infer(const Tensor& ids, const Tensor& w) { return hollow(result(ids, w), w.scalar_type(), w.device()); }
  Tensor forward(const Tensor& ids, const Tensor& w) {
    const Ints sizes = result(ids, w);
    return shaped(Named(CG_NAMED("embedding"))(shaped(w, rows(w.sizes())), ids), sizes);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    if (c.in_sizes(1).size() == 2) return c.template grad_of_rows<SlicesToTable>(1, c.in(0), c.gy());
    c.grad(1, [&] {
      const Ints table = rows(c.in_sizes(1));
      Ints sizes = ints(c.in_sizes(0));
      sizes.push_back(table[1]);
      const T gy = shaped(c.gy(), sizes);
      return shaped(Named(CG_NAMED("embedding_grad")).with("rows", table[0])(gy, c.in(0)), c.in_sizes(1));
    });
  }
};
CG_OP("embed", Embed, "w[ids]: slices of w along its first axis. Negative ids count from the end.")

}  // namespace
}  // namespace cg
