#include "ops/conv_tiles.h"

#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>

#include <algorithm>

#include "kernels/raw.h"
#include "kernels/tiles.h"

namespace cg {

using at::Tensor;

at::Tensor convolve_tiles(const Tensor& x, const Tensor& filters, const Tensor& bias, int64_t pad, const Tensor& into,
                          bool rectify) {
  using kernels::kTileLanes, kernels::kTaps, kernels::kTileSide;
  constexpr auto kLast = at::MemoryFormat::ChannelsLast;
  constexpr int64_t kBytes = 4 << 20;  // of the transformed numbers of a part of the tiles, which should stay in caches
  TORCH_CHECK_VALUE(x.dim() == 4 && filters.dim() == 3 && filters.size(0) == kTaps && filters.size(1) == x.size(1),
                    "convolve_tiles: expected x (n, channels, height, width) and filters (", kTaps,
                    ", channels, maps), got ", x.sizes(), " and ", filters.sizes());
  const int64_t channels = x.size(1), maps = filters.size(2);
  TORCH_CHECK_VALUE(channels % kTileLanes == 0 && maps % kTileLanes == 0,
                    "convolve_tiles: channels and maps must be multiples of ", kTileLanes, ", got ", channels, " and ",
                    maps);
  for (const Tensor* t : {&x, &filters, &bias, &into})
    TORCH_CHECK_VALUE(!t->defined() || (t->scalar_type() == at::kFloat && t->device().is_cpu() && kernels::plain(*t)),
                      "convolve_tiles: expected tensors of float32 on the CPU");
  const int64_t height = x.size(2) + 2 * pad - 2, width = x.size(3) + 2 * pad - 2;
  TORCH_CHECK_VALUE(pad >= 0 && height > 0 && width > 0, "convolve_tiles: images of ", x.sizes(), " are too small");
  const at::DimVector sizes{x.size(0), maps, height, width};
  TORCH_CHECK_VALUE(!into.defined() || (into.sizes() == sizes && into.is_contiguous(kLast)),
                    "convolve_tiles: into: expected the shape ", sizes, " with channels last");
  TORCH_CHECK_VALUE(!bias.defined() || (bias.numel() == maps && bias.is_contiguous()),
                    "convolve_tiles: bias: expected ", maps, " numbers");
  const auto side = [](int64_t n) { return (n + kTileSide - 1) / kTileSide; };
  const kernels::Tiles tiles{x.size(2), x.size(3), pad, height, width, side(height), side(width)};
  const int64_t count = x.size(0) * tiles.rows * tiles.columns;
  const int64_t part = std::clamp<int64_t>(kBytes / (4 * kTaps * (channels + maps)), 32, std::max<int64_t>(count, 32));
  const Tensor images = x.contiguous(kLast);
  const Tensor y = into.defined() ? into : at::empty(sizes, x.options().memory_format(kLast));
  const Tensor taken = at::empty({kTaps * std::min(part, count) * channels}, x.options());
  const Tensor given = at::empty({kTaps * std::min(part, count) * maps}, x.options());
  for (int64_t from = 0; from < count; from += part) {
    const int64_t to = std::min(from + part, count), n = to - from;
    kernels::take_tiles(tiles, images.const_data_ptr<float>(), channels, from, to, taken.mutable_data_ptr<float>());
    Tensor m = given.narrow(0, 0, kTaps * n * maps).view({kTaps, n, maps});
    at::bmm_out(m, taken.narrow(0, 0, kTaps * n * channels).view({kTaps, n, channels}), filters);
    kernels::give_tiles(tiles, m.const_data_ptr<float>(), maps, from, to,
                        bias.defined() ? bias.const_data_ptr<float>() : nullptr, into.defined(), rectify,
                        y.mutable_data_ptr<float>());
  }
  return y;
}

bool tiles_gain(const Placement& p, at::IntArrayRef filters, at::IntArrayRef images) {
  using kernels::kTileLanes, kernels::kTileSide;
  const auto all = [](at::IntArrayRef v, int64_t n) {
    return std::all_of(v.begin(), v.end(), [n](auto e) { return e == n; });
  };
  if (!all(filters.slice(2), 3) || !all(p.stride, 1) || !all(p.dilate, 1) || p.groups != 1) return false;
  if (!all(p.pad, p.pad[0]) || p.pad[0] > 1 || filters[0] % kTileLanes || filters[1] % kTileLanes) return false;
  const int64_t height = images[2] + 2 * p.pad[0] - 2, width = images[3] + 2 * p.pad[0] - 2;
  const auto side = [](int64_t n) { return (n + kTileSide - 1) / kTileSide; };
  const int64_t tiles = images[0] * side(height) * side(width);
  const double pairs = static_cast<double>(filters[0] * filters[1]);
  // Nanoseconds: 80 thousand million operations a second, and reading the filters
  const double products = std::max<int64_t>(tiles, 16) * pairs * 0.9 + pairs * 7.2;
  const double by_tiles = products + static_cast<double>(tiles * (filters[0] + filters[1]) * 17);
  return by_tiles < 0.85 * images[0] * height * width * pairs * 0.157;
}

}  // namespace cg
