// Resizing of images of bytes in the whole-number arithmetic of OpenCV: first along rows, with weights in units of
// 1 / 2048, then along columns, with one of its three ways of rounding.
#include <ATen/ops/empty.h>

#include <algorithm>
#include <vector>

#include "kernels/simd.h"
#include "kernels/threads.h"
#include "kernels/trace.h"
#include "ops/functions.h"

namespace cg {
namespace {

// Four integers in one register. `load` reads them from any address.
typedef int32_t Four __attribute__((vector_size(16)));
CG_INLINE Four load(const int32_t* p) {
  Four r;
  std::memcpy(&r, p, sizeof r);
  return r;
}

// Makes n pixels of `C` numbers each from a row that holds four integers per pixel. Each step stores four numbers; the
// next step overwrites those that do not belong to its pixel.
template <int C>
CG_INLINE void across(int64_t n, int64_t taps, const int32_t* from, const int32_t* at, const int32_t* w, int32_t* to) {
  for (int64_t i = 0; i < n; ++i, at += taps, w += taps, to += C) {
    Four sum = load(from + at[0] * 4) * w[0];
    for (int64_t k = 1; k < taps; ++k) sum += load(from + at[k] * 4) * w[k];
    std::memcpy(to, &sum, sizeof sum);
  }
}
CG_SIMD void across_row(int64_t channels, int64_t n, int64_t taps, const int32_t* from, const int32_t* at,
                        const int32_t* w, int32_t* to) {
  switch (channels) {
    case 1:
      return taps == 2 ? across<1>(n, 2, from, at, w, to) : across<1>(n, taps, from, at, w, to);
    case 2:
      return across<2>(n, taps, from, at, w, to);
    case 3:
      return taps == 2   ? across<3>(n, 2, from, at, w, to)
             : taps == 4 ? across<3>(n, 4, from, at, w, to)
                         : across<3>(n, taps, from, at, w, to);
    default:
      return across<4>(n, taps, from, at, w, to);
  }
}

CG_INLINE uint8_t byte(int32_t x) { return static_cast<uint8_t>(std::min(std::max(x, 0), 255)); }

// The sums of OpenCV's vectorized bilinear loop, which drops bits before the last one is rounded.
CG_SIMD void down_linear(int64_t n, const int32_t* a, int32_t wa, const int32_t* b, int32_t wb, uint8_t* to) {
  CG_IVDEP
  for (int64_t i = 0; i < n; ++i)
    to[i] = static_cast<uint8_t>((((a[i] >> 4) * wa >> 16) + ((b[i] >> 4) * wb >> 16) + 2) >> 2);
}
CG_SIMD void down_whole(int64_t n, int64_t taps, const int32_t* const* rows, const int32_t* w, int bits, uint8_t* to) {
  constexpr int64_t block = 64;
  for (int64_t begin = 0; begin < n; begin += block) {
    const int64_t m = std::min(block, n - begin);
    uint32_t sums[block];  // unsigned, because sums of many taps may overflow, as OpenCV's do
    for (int64_t i = 0; i < m; ++i) sums[i] = 1u << (bits - 1);
    for (int64_t k = 0; k < taps; ++k) {
      const int32_t* row = rows[k] + begin;
      const uint32_t weight = static_cast<uint32_t>(w[k]);
      CG_IVDEP
      for (int64_t i = 0; i < m; ++i) sums[i] += static_cast<uint32_t>(row[i]) * weight;
    }
    CG_IVDEP
    for (int64_t i = 0; i < m; ++i) to[begin + i] = byte(static_cast<int32_t>(sums[i]) >> bits);
  }
}
// In single precision, as OpenCV's vectorized bicubic loop, which rounds halves to even.
CG_SIMD void down_cubic(int64_t n, const int32_t* a, const int32_t* b, const int32_t* c, const int32_t* d,
                        const float* w, uint8_t* to) {
  constexpr float shift = 12582912.0f;  // 1.5 * 2^23: the sum's low bits are the rounded number
  CG_IVDEP
  for (int64_t i = 0; i < n; ++i) {
    const float y = static_cast<float>(a[i]) * w[0] + static_cast<float>(b[i]) * w[1] +
                    static_cast<float>(c[i]) * w[2] + static_cast<float>(d[i]) * w[3];
    to[i] = byte(static_cast<int32_t>(simd::detail::bits(y + shift)) - 0x4b400000);
  }
}

// The taps of an axis: positions and weights, both (results, taps).
struct Axis {
  int64_t results, taps;
  const int32_t *at, *weight;
  Axis(const Tensor& positions, const Tensor& weights, int64_t size, const char* name)
      : results(positions.size(0)),
        taps(positions.size(1)),
        at(positions.const_data_ptr<int32_t>()),
        weight(weights.const_data_ptr<int32_t>()) {
    for (int64_t i = 0; i < results * taps; ++i)
      TORCH_CHECK_INDEX(at[i] >= 0 && at[i] < size, "resize_bytes: ", name, " has ", at[i], ", but there are ", size);
  }
};

// Rows of an image after they were resized along their length. Adjacent results share most of their rows.
class Rows {
  const uint8_t* pixels_;
  const Axis& columns_;
  const int64_t width_, channels_, stride_;
  std::vector<int32_t> wide_, kept_;
  std::vector<int64_t> owner_;

 public:
  Rows(const Tensor& image, const Axis& columns, int64_t taps)
      : pixels_(image.const_data_ptr<uint8_t>()),
        columns_(columns),
        width_(image.size(1)),
        channels_(image.size(2)),
        stride_(columns.results * channels_ + 4),  // the last pixel is stored as four numbers
        wide_(width_ * 4),
        kept_(taps * stride_),
        owner_(taps, -1) {}

  // Returns row `at[k]` of the image, resized. Rows that `at` names are not dropped.
  const int32_t* get(const int32_t* at, int64_t k) {
    auto slot = std::find(owner_.begin(), owner_.end(), at[k]);
    const bool found = slot != owner_.end();
    if (!found) {
      const int32_t* end = at + owner_.size();
      slot = std::find_if(owner_.begin(), owner_.end(), [&](int64_t row) { return std::find(at, end, row) == end; });
    }
    int32_t* row = kept_.data() + (slot - owner_.begin()) * stride_;
    if (found) return row;
    *slot = at[k];
    const uint8_t* from = pixels_ + at[k] * width_ * channels_;
    for (int64_t j = 0; j < width_; ++j)
      for (int64_t c = 0; c < channels_; ++c) wide_[j * 4 + c] = from[j * channels_ + c];
    across_row(channels_, columns_.results, columns_.taps, wide_.data(), columns_.at, columns_.weight, row);
    return row;
  }
};

struct ResizeBytes {
  std::string rounding = "whole";
  int64_t bits = 22;
  static constexpr auto params() {
    return std::make_tuple(param("rounding", &ResizeBytes::rounding), param("bits", &ResizeBytes::bits));
  }
  static constexpr bool any_dtype = true;
  static constexpr Mask saves = 0;

  static Tensor taps(const Tensor& t, const Tensor& other, const char* name) {
    TORCH_CHECK_TYPE(t.scalar_type() == at::kInt && t.device().is_cpu(), "resize_bytes: ", name,
                     " must be int32 on the CPU, not ", t.scalar_type(), " on ", t.device());
    TORCH_CHECK_VALUE(t.dim() == 2 && t.size(1) > 0 && t.sizes() == other.sizes(), "resize_bytes: ", name,
                      " must have the shape (results, taps), as the positions and their weights both have, not ",
                      t.sizes(), " beside ", other.sizes());
    return t.contiguous();
  }
  void check(const Tensor& image, int64_t taps) const {
    TORCH_CHECK_TYPE(image.scalar_type() == at::kByte && image.device().is_cpu(),
                     "resize_bytes: the image must be uint8 on the CPU, not ", image.scalar_type(), " on ",
                     image.device());
    TORCH_CHECK_VALUE(image.dim() == 3 && image.size(2) > 0 && image.size(2) <= 4,
                      "resize_bytes: the image must be (height, width, 1 to 4 channels), not ", image.sizes());
    TORCH_CHECK_VALUE(rounding == "linear" || rounding == "cubic" || rounding == "whole",
                      "resize_bytes: rounding must be 'linear', 'cubic' or 'whole', not '", rounding, "'");
    TORCH_CHECK_VALUE(rounding == "whole" || taps == (rounding == "linear" ? 2 : 4), "resize_bytes: rounding '",
                      rounding, "' is not for ", taps, " taps");
    TORCH_CHECK_VALUE(bits > 0 && bits < 31, "resize_bytes: bits must be 1 to 30, not ", bits);
  }
  // One row of the result, of n numbers.
  void down(int64_t n, std::vector<const int32_t*>& rows, const int32_t* w, uint8_t* to) const {
    if (rounding == "linear") return down_linear(n, rows[0], w[0], rows[1], w[1], to);
    const int64_t vectors = rounding == "cubic" ? n & ~int64_t(7) : 0;  // OpenCV's loop takes eight numbers at once
    if (vectors) {
      float scaled[4];
      for (int k = 0; k < 4; ++k) scaled[k] = static_cast<float>(w[k]) * (1.0f / (1 << 22));
      down_cubic(vectors, rows[0], rows[1], rows[2], rows[3], scaled, to);
    }
    for (auto& row : rows) row += vectors;
    down_whole(n - vectors, static_cast<int64_t>(rows.size()), rows.data(), w, static_cast<int>(bits), to + vectors);
  }
  Tensor forward(const Tensor& image, const Tensor& row_at, const Tensor& row_weights, const Tensor& column_at,
                 const Tensor& column_weights) const {
    kernels::reads_values("resize_bytes", image, row_at, row_weights, column_at, column_weights);
    const Tensor row = taps(row_at, row_weights, "row_at"), row_weight = taps(row_weights, row_at, "row_weights");
    const Tensor column = taps(column_at, column_weights, "column_at");
    const Tensor column_weight = taps(column_weights, column_at, "column_weights");
    check(image, row.size(1));
    const Axis rows(row, row_weight, image.size(0), "row_at");
    const Axis columns(column, column_weight, image.size(1), "column_at");
    const Tensor x = image.contiguous();
    Tensor y = at::empty({rows.results, columns.results, x.size(2)}, x.options());
    const int64_t n = columns.results * x.size(2), each = rows.taps;
    uint8_t* out = y.mutable_data_ptr<uint8_t>();
    kernels::in_threads(rows.results, std::max<int64_t>(1, kernels::kGrain / std::max<int64_t>(1, n * each)),
                        [&](int64_t begin, int64_t end) {
                          Rows kept(x, columns, each);
                          std::vector<const int32_t*> sources(each);
                          for (int64_t i = begin; i < end; ++i) {
                            const int32_t* at = rows.at + i * each;
                            for (int64_t k = 0; k < each; ++k) sources[k] = kept.get(at, k);
                            down(n, sources, rows.weight + i * each, out + i * n);
                          }
                        });
    return y;
  }
  template <class T>
  void backward(Ctx<T>&) {}
};
CG_OP("resize_bytes", ResizeBytes,
      "An image of bytes (height, width, channels) in another size, in OpenCV's whole-number arithmetic. Inputs: the "
      "image, and for the rows and the columns of the result the positions and the weights of the rows and columns "
      "that are summed, all int32 of shape (results, taps). rounding: how sums along columns are rounded, as in "
      "OpenCV's bilinear ('linear') or bicubic loop ('cubic'), or once ('whole'); bits: the sum's fraction.")

}  // namespace
}  // namespace cg
