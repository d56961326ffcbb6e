#include "ops/conv_rows.h"

#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/few_rows.h"
#include "kernels/raw.h"
#include "kernels/threads.h"
#include "ops/dense_product.h"

namespace cg {
namespace {

// The numbers below the filter at each place, one place after the other, in the order of the filters.
void fill_rows(const Tensor& x, const RowPlacement& p, int64_t height, int64_t width, float* rows) {
  const int64_t channels = x.size(1), row = x.size(3) * channels, image = x.size(2) * row;
  const int64_t length = p.kernel[0] * p.kernel[1] * channels;
  const size_t bytes = channels * sizeof(float);
  const float* const from = x.const_data_ptr<float>();
  const int64_t grain = std::max<int64_t>(1, kernels::kGrain / std::max<int64_t>(1, length));
  kernels::in_threads(x.size(0) * height * width, grain, [&](int64_t begin, int64_t end) {
    float* to = rows + begin * length;
    for (int64_t place = begin; place < end; ++place) {
      const int64_t n = place / (height * width), a = place / width % height, b = place % width;
      for (int64_t i = 0; i < p.kernel[0]; ++i)
        for (int64_t j = 0; j < p.kernel[1]; ++j, to += channels) {
          const int64_t y = a * p.stride[0] - p.pad[0] + i, z = b * p.stride[1] - p.pad[1] + j;
          if (y >= 0 && y < x.size(2) && z >= 0 && z < x.size(3))
            std::memcpy(to, from + n * image + y * row + z * channels, bytes);
          else
            std::memset(to, 0, bytes);
        }
    }
  });
}
CG_SIMD void finish(const float* x, int64_t n, bool add, bool rectify, float* y) {
  const float low = rectify ? 0 : -INFINITY;
  for (int64_t i = 0; i < n; ++i) {
    const float r = add ? x[i] + y[i] : x[i];
    y[i] = r < low ? low : r;  // NaN stays
  }
}

}  // namespace

Tensor convolve_rows(const Tensor& x, const Tensor& filters, const Tensor& bias, const RowPlacement& p,
                     const Tensor& into, bool rectify) {
  constexpr auto kLast = at::MemoryFormat::ChannelsLast;
  for (const Tensor* t : {&x, &filters, &bias, &into})
    TORCH_CHECK_VALUE(!t->defined() || (t->scalar_type() == at::kFloat && t->device().is_cpu() && kernels::plain(*t)),
                      "convolve_rows: expected tensors of float32 on the CPU");
  TORCH_CHECK_VALUE(x.dim() == 4 && filters.dim() == 2 && filters.is_contiguous() &&
                        filters.size(1) == p.kernel[0] * p.kernel[1] * x.size(1),
                    "convolve_rows: filters of shape ", filters.sizes(), " do not fit images of ", x.sizes());
  const int64_t maps = filters.size(0);
  int64_t size[2];
  bool whole = true;  // each place reads one pixel, and each pixel is read once
  for (size_t k = 0; k < 2; ++k) {
    const int64_t room = x.size(k + 2) + 2 * p.pad[k] - p.kernel[k];
    TORCH_CHECK_VALUE(p.kernel[k] > 0 && p.stride[k] > 0 && p.pad[k] >= 0 && room >= 0, "convolve_rows: images of ",
                      x.sizes(), " are too small, or the filters' size, stride or padding is wrong");
    size[k] = room / p.stride[k] + 1;
    whole &= p.kernel[k] == 1 && p.stride[k] == 1 && p.pad[k] == 0;
  }
  const at::DimVector sizes{x.size(0), maps, size[0], size[1]};
  TORCH_CHECK_VALUE(!into.defined() || (into.sizes() == sizes && into.is_contiguous(kLast)),
                    "convolve_rows: into: expected the shape ", sizes, " with channels last");
  TORCH_CHECK_VALUE(!bias.defined() || (bias.numel() == maps && bias.is_contiguous()), "convolve_rows: bias: expected ",
                    maps, " numbers");
  const Tensor images = x.contiguous(kLast);
  const int64_t places = x.size(0) * size[0] * size[1];
  Tensor rows;
  if (whole) {
    rows = images.permute({0, 2, 3, 1}).view({places, x.size(1)});
  } else {
    rows = at::empty({places, filters.size(1)}, x.options());
    fill_rows(images, p, size[0], size[1], rows.mutable_data_ptr<float>());
  }
  Tensor y;
  if (few_rows(places, filters.numel())) {
    y = at::empty({places, maps}, x.options());
    product_of_few_rows(rows, filters, bias, y);
  } else {
    y = bias.defined() ? at::addmm(bias, rows, filters.t()) : at::mm(rows, filters.t());
  }
  const Tensor result = y.view({x.size(0), size[0], size[1], maps}).permute({0, 3, 1, 2});
  if (!into.defined() && !rectify) return result;
  const Tensor& to = into.defined() ? into : result;
  const float* const from = y.const_data_ptr<float>();
  float* const end = to.mutable_data_ptr<float>();
  kernels::in_threads(y.numel(), kernels::kGrain,
                      [&](int64_t i, int64_t last) { finish(from + i, last - i, into.defined(), rectify, end + i); });
  return to;
}

// MKL's products of few channels at many places gain less than the pass that makes negative results 0 takes, which is
// part of oneDNN's convolution.
bool rows_gain(int64_t places, int64_t maps, int64_t channels, int64_t numbers_of_channel) {
  constexpr int64_t kFewPlaces = 256, kManyChannels = 64;
  if (few_rows(places, maps * channels * numbers_of_channel)) return true;
  if (numbers_of_channel != 1 || mkl_is_slow() || kernels::simd_level() < 4) return false;
  return places <= kFewPlaces || std::min(maps, channels) >= kManyChannels;
}

}  // namespace cg
