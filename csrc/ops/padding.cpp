// Padding of axes, and padding of sequences to one length.
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/full.h>

#include <algorithm>

#include "ops/few.h"
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
  // Writes the axes from k on, from front to back; each[k] numbers are one step along axis k.
  template <class T>
  T* write(const Ints& sizes, const Ints& each, size_t k, const T*& from, T* to) const {
    const size_t whole = sizes.size() - pad_width.size() / 2;
    const int64_t before = k < whole ? 0 : pad_width[2 * (k - whole)],
                  after = k < whole ? 0 : pad_width[2 * (k - whole) + 1];
    to = std::fill_n(to, before * each[k], static_cast<T>(value));
    if (k + 1 == sizes.size()) {
      to = std::copy_n(from, sizes[k], to);
      from += sizes[k];
    } else {
      for (int64_t i = 0; i < sizes[k]; ++i) to = write(sizes, each, k + 1, from, to);
    }
    return std::fill_n(to, after * each[k], static_cast<T>(value));
  }
  // Without ATen, which first fills the whole result; an undefined tensor if ATen has to pad.
  Tensor written(const Tensor& x) const {
    if (!few::ordinary(x) || !few::nobody_watches() || x.dim() == 0 || x.numel() == 0) return {};
    const size_t ndim = x.dim(), whole = ndim - pad_width.size() / 2;
    const Ints sizes = ints(x.sizes());
    Ints padded = sizes, each(ndim, 1);
    for (size_t i = ndim; i-- > 0;) {
      if (i >= whole) padded[i] += pad_width[2 * (i - whole)] + pad_width[2 * (i - whole) + 1];
      if (i > 0) each[i - 1] = each[i] * padded[i];
    }
    const Tensor y = few::empty(padded, x);
    kernels::with_dtype(x, [&]<class T>(T) {
      const T* const from = x.const_data_ptr<T>();
      T* const to = y.mutable_data_ptr<T>();
      const int64_t before = whole == 0 ? pad_width[0] : 0, read = x.numel() / sizes[0];
      std::fill_n(to, before * each[0], static_cast<T>(value));
      kernels::in_threads(sizes[0], kernels::kGrain / each[0] + 1, [&](int64_t begin, int64_t end) {
        const T* slice = from + begin * read;
        T* at = to + (before + begin) * each[0];
        if (ndim == 1)
          std::copy_n(slice, end - begin, at);
        else
          for (int64_t i = begin; i < end; ++i) at = write(sizes, each, 1, slice, at);
      });
      const int64_t inner = (before + sizes[0]) * each[0];
      std::fill_n(to + inner, y.numel() - inner, static_cast<T>(value));
    });
    return y;
  }
  Tensor forward(const Tensor& x) {
    const int64_t widths = pad_width.size();
    TORCH_CHECK_VALUE(widths % 2 == 0 && widths <= 2 * x.dim(), "pad: pad_width has ", widths, " numbers for ", x.dim(),
                      " axes");
    for (int64_t n : pad_width) TORCH_CHECK_VALUE(n >= 0, "pad: pad_width must not be negative, got ", n);
    const Tensor y = written(x);
    if (y.defined()) return y;
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
