// Sequences of different lengths, either padded to one length or packed time step by time step.
//
// The number of rows depends on the values of `lengths` or `batch_sizes`, so these ops raise an error on tensors
// without data.
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>

#include <algorithm>

#include "core/named.h"
#include "kernels/trace.h"

namespace cg {
namespace {

std::vector<int64_t> numbers(const Tensor& t, const char* name) {
  TORCH_CHECK(t.dim() == 1, name, " must have one axis, not ", t.dim());
  kernels::reads_values(name, t);
  TORCH_CHECK(!t.is_meta(), name,
              " must have values when the function is called, because the result's shape depends on them");
  const Tensor n = t.to(at::kCPU, at::kLong).contiguous();
  return {n.const_data_ptr<int64_t>(), n.const_data_ptr<int64_t>() + n.numel()};
}
// How many of `counts` are greater than 0, 1, ...
std::vector<int32_t> transposed(const std::vector<int64_t>& counts) {
  std::vector<int32_t> r;
  for (int64_t k = 0;; ++k) {
    const int64_t n = std::count_if(counts.begin(), counts.end(), [k](int64_t c) { return c > k; });
    if (n == 0) return r;
    r.push_back(int32_t(n));
  }
}

// The positions of the packed rows among the rows of the padded sequence.
struct Packing {
  bool batch_first = false;
  Tensor places;
  static constexpr auto stored() { return std::make_tuple(param("places", &Packing::places)); }

  static int64_t count(at::IntArrayRef padded) { return padded[0] * padded[1]; }
  // The shape with the elements of each step flattened to one row.
  static Ints flat(int64_t rows, at::IntArrayRef step) {
    Ints r{rows, 1};
    for (int64_t n : step) r[1] *= n;
    return r;
  }
  // `sizes`: the number of samples with a row at each time step. `time`, `batch`: lengths of the padded axes.
  template <class N>
  void locate(const std::vector<N>& sizes, int64_t time, int64_t batch, at::Device device) {
    std::vector<int64_t> rows;
    for (int64_t t = 0; t < int64_t(sizes.size()); ++t)
      for (int64_t b = 0; b < int64_t(sizes[t]); ++b) rows.push_back(batch_first ? b * time + t : t * batch + b);
    places = at::tensor(rows, at::kLong).to(device);
  }
  template <class T>
  static T packed(const T& x, const T& places, int64_t rows) {
    const at::IntArrayRef step = x.sizes().slice(2);
    Ints sizes{rows};
    sizes.append(step.begin(), step.end());
    return reshape(Named(CG_NAMED("embedding"))(reshape(x, flat(count(x.sizes()), step)), places), sizes);
  }
  template <class T>
  static T unpacked(const T& x, const T& places, at::IntArrayRef padded) {
    const int64_t rows = count(padded);
    return reshape(
        Named(CG_NAMED("embedding_grad")).with("rows", rows)(reshape(x, flat(x.size(0), padded.slice(2))), places),
        padded);
  }
};

struct PackPaddedSequence : Packing {
  static constexpr auto params() { return std::make_tuple(param("batch_first", &PackPaddedSequence::batch_first)); }
  static constexpr bool any_dtype = true;
  static constexpr Mask integers = in_bit(1);
  static constexpr Mask saves = 0;

  std::tuple<Tensor, Tensor> forward(const Tensor& x, const Tensor& lengths) {
    TORCH_CHECK(x.dim() >= 2, "pack_padded_sequence: padded_sequence must have at least 2 axes, not ", x.dim());
    const int64_t time = x.size(batch_first), batch = x.size(!batch_first);
    const auto counts = numbers(lengths, "pack_padded_sequence: lengths");
    TORCH_CHECK(int64_t(counts.size()) == batch, "pack_padded_sequence: lengths must have ", batch, " elements, not ",
                counts.size());
    for (size_t b = 0; b < counts.size(); ++b) {
      TORCH_CHECK(counts[b] >= 0 && counts[b] <= time, "pack_padded_sequence: lengths must be 0 to ", time, ", not ",
                  counts[b]);
      TORCH_CHECK(b == 0 || counts[b] <= counts[b - 1], "pack_padded_sequence: lengths must not increase");
    }
    auto sizes = transposed(counts);
    sizes.resize(time, 0);
    locate(sizes, time, batch, x.device());
    return {packed(x, places, places.numel()), at::tensor(sizes, at::kInt).to(x.device())};
  }
  template <class T>
  void backward(Ctx<T>& c) {
    if (value(c.gy()).defined()) c.grad(0, [&] { return unpacked(c.gy(), c.saved(places), c.in_sizes(0)); });
  }
};
CG_OP("pack_padded_sequence", PackPaddedSequence,
      "The rows of x (time, batch, ...) that belong to the sequences of the given lengths (batch,), which must not "
      "increase, time step by time step; and the number of rows at each step. batch_first: x is (batch, time, ...).")

struct PadPackedSequence : Packing {
  double padding_value = 0;
  int64_t total_length = -1;
  static constexpr auto params() {
    return std::make_tuple(param("batch_first", &PadPackedSequence::batch_first),
                           param("padding_value", &PadPackedSequence::padding_value),
                           param("total_length", &PadPackedSequence::total_length));
  }
  static constexpr bool any_dtype = true;
  static constexpr Mask integers = in_bit(1);
  static constexpr Mask saves = 0;

  std::tuple<Tensor, Tensor> forward(const Tensor& x, const Tensor& batch_sizes) {
    TORCH_CHECK(x.dim() >= 1, "pad_packed_sequence: packed_sequence must have at least one axis");
    const auto sizes = numbers(batch_sizes, "pad_packed_sequence: batch_sizes");
    int64_t rows = 0;
    for (size_t t = 0; t < sizes.size(); ++t) {
      TORCH_CHECK(sizes[t] >= 0 && sizes[t] <= x.size(0) && (t == 0 || sizes[t] <= sizes[t - 1]),
                  "pad_packed_sequence: batch_sizes must be 0 to ", x.size(0),
                  ", the number of rows, and must not increase");
      rows += sizes[t];
    }
    TORCH_CHECK(rows == x.size(0), "pad_packed_sequence: batch_sizes have the sum ", rows,
                ", but packed_sequence has shape ", x.sizes());
    const int64_t time = std::max<int64_t>(total_length, sizes.size()), batch = sizes.empty() ? 0 : sizes[0];
    Ints padded = batch_first ? Ints{batch, time} : Ints{time, batch};
    padded.append(x.sizes().begin() + 1, x.sizes().end());
    locate(sizes, time, batch, x.device());
    Tensor y = at::full(padded, padding_value, x.options());
    y.flatten(0, 1).index_copy_(0, places, x);
    return {y, at::tensor(transposed(sizes), at::kInt).to(x.device())};
  }
  template <class T>
  void backward(Ctx<T>& c) {
    if (value(c.gy()).defined()) c.grad(0, [&] { return packed(c.gy(), c.saved(places), c.in_sizes(0)[0]); });
  }
};
CG_OP("pad_packed_sequence", PadPackedSequence,
      "The inverse of pack_padded_sequence: missing rows are filled with padding_value, up to total_length steps; and "
      "the lengths.")

}  // namespace
}  // namespace cg
