// Padding of axes, and padding of sequences to one length.
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/full.h>

#include "ops/index.h"

namespace cg {
namespace {

struct Pad {
  Ints pad_width;  // widths before and after each axis, or each of the last axes
  double value = 0;
  static constexpr auto params() {
    return std::make_tuple(required("pad_width", &Pad::pad_width), param("value", &Pad::value));
  }
  static constexpr Mask saves = 0;
  Tensor forward(const Tensor& x) {
    const int64_t widths = pad_width.size();
    TORCH_CHECK_VALUE(widths % 2 == 0 && widths <= 2 * x.dim(), "pad: pad_width has ", widths, " numbers for ", x.dim(),
                      " axes");
    for (int64_t n : pad_width) TORCH_CHECK_VALUE(n >= 0, "pad: pad_width must not be negative, got ", n);
    Ints last_first;
    for (int64_t i = pad_width.size() / 2; i-- > 0;) {
      last_first.push_back(pad_width[2 * i]);
      last_first.push_back(pad_width[2 * i + 1]);
    }
    return at::constant_pad_nd(x, last_first, value);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] {
      Index inner;
      const size_t ndim = c.in_sizes(0).size(), whole = ndim - pad_width.size() / 2;
      for (size_t i = 0; i < ndim; ++i) {
        const int64_t before = i < whole ? 0 : pad_width[2 * (i - whole)];
        inner.push_back(IndexItem::slice(before, before + c.in_sizes(0)[i]));
      }
      return get_item(c.gy(), inner);
    });
  }
};
CG_OP(
    "pad", Pad,
    "x with pad_width[2 * i] values before and pad_width[2 * i + 1] after its axes; the last ones, if there are more.")

struct PadSequence {
  std::optional<int64_t> length;
  c10::Scalar value = 0;
  static constexpr auto params() {
    return std::make_tuple(param("length", &PadSequence::length), param("value", &PadSequence::value));
  }
  static constexpr Mask saves = 0;
  Tensor forward(TensorList xs) {
    TORCH_CHECK_VALUE(!xs.empty(), "pad_sequence: expected at least one sequence");
    int64_t longest = 0;
    for (const Tensor& x : xs) {
      TORCH_CHECK_VALUE(x.dim() > 0, "pad_sequence: a sequence must have an axis");
      TORCH_CHECK_VALUE(x.sizes().slice(1) == xs[0].sizes().slice(1), "pad_sequence: shapes differ after axis 0");
      longest = std::max(longest, x.size(0));
    }
    TORCH_CHECK_VALUE(!length || longest <= *length, "pad_sequence: a sequence is longer than length");
    Ints shape = ints(xs[0].sizes());
    shape[0] = length.value_or(longest);
    shape.insert(shape.begin(), xs.size());
    Tensor y = at::full(shape, value, xs[0].options());
    for (size_t i = 0; i < xs.size(); ++i) y.select(0, i).narrow(0, 0, xs[i].size(0)).copy_(xs[i]);
    return y;
  }
  template <class T>
  void backward(Ctx<T>& c) {
    for (size_t i = 0; i < c.inputs(); ++i)
      c.grad(i, [&] { return get_item(c.gy(), Index{IndexItem::integer(i), IndexItem::slice(0, c.in_sizes(i)[0])}); });
  }
};
CG_OP("pad_sequence", PadSequence,
      "Sequences as the rows of one tensor, padded with value to length, or to the longest sequence.")

}  // namespace
}  // namespace cg
