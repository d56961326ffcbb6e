#include "kernels/pooling_channels.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/max_pool2d.h>

#include <algorithm>

#include "kernels/lanes.h"
#include "kernels/raw.h"

namespace cg::kernels {
namespace {

using lanes::L, lanes::V;

struct ChannelShape {
  int64_t channels, in[2], out[2];
};

// The rows from `first` to `last` of all images' pooled rows.
CG_LANES void pool_rows(const PoolWindow& w, const ChannelShape& s, const float* x, float* y, int64_t first,
                        int64_t last) {
  const int64_t n = s.channels, whole = n / L * L;
  for (int64_t row = first; row < last; ++row) {
    const float* image = x + row / s.out[0] * s.in[0] * s.in[1] * n;
    const int64_t top = row % s.out[0] * w.stride[1] - w.pad[1];
    const int64_t above = std::max<int64_t>(top, 0), below = std::min(top + w.ksize[1], s.in[0]);
    for (int64_t b = 0; b < s.out[1]; ++b) {
      const int64_t edge = b * w.stride[2] - w.pad[2];
      const int64_t left = std::max<int64_t>(edge, 0), right = std::min(edge + w.ksize[2], s.in[1]);
      float* to = y + (row * s.out[1] + b) * n;
      const float* corner = image + (above * s.in[1] + left) * n;
      for (int64_t c = 0; c < whole; c += L) {
        V best, v;
        lanes::load(best, corner + c);
        for (int64_t i = above; i < below; ++i) {
          const float* from = image + (i * s.in[1] + left) * n + c;
          for (int64_t j = left; j < right; ++j, from += n) {
            lanes::load(v, from);
            best = (v > best) | (v != v) ? v : best;
          }
        }
        lanes::store(to + c, best);
      }
      for (int64_t c = whole; c < n; ++c) {
        float best = corner[c];
        for (int64_t i = above; i < below; ++i)
          for (int64_t j = left; j < right; ++j) {
            const float v = image[(i * s.in[1] + j) * n + c];
            best = v > best || v != v ? v : best;
          }
        to[c] = best;
      }
    }
  }
}

}  // namespace

at::Tensor max_pool_channels(const PoolWindow& w, const at::Tensor& x) {
  const at::IntArrayRef kernel(w.ksize + 1, 2), stride(w.stride + 1, 2), pad(w.pad + 1, 2);
  if (!lanes::available()) return at::max_pool2d(x, kernel, stride, pad);
  int64_t size[2];
  for (int k = 0; k < 2; ++k) size[k] = (x.size(2 + k) + 2 * pad[k] - kernel[k]) / stride[k] + 1;
  const at::Tensor y = at::empty({x.size(0), x.size(1), size[0], size[1]}, x.options(), at::MemoryFormat::ChannelsLast);
  const ChannelShape s{x.size(1), {x.size(2), x.size(3)}, {y.size(2), y.size(3)}};
  const float* const from = x.const_data_ptr<float>();
  float* const to = y.mutable_data_ptr<float>();
  const int64_t numbers = s.channels * s.out[1] * w.ksize[1] * w.ksize[2];  // that a row reads
  in_threads(x.size(0) * s.out[0], kGrain / std::max<int64_t>(1, numbers) + 1,
             [&](int64_t first, int64_t last) { pool_rows(w, s, from, to, first, last); });
  return y;
}

}  // namespace cg::kernels
