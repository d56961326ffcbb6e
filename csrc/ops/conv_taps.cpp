// Convolutions of batches with small filters on the CPU, by kernels/taps.h.
#include <ATen/ops/empty.h>

#include "kernels/taps.h"
#include "kernels/threads.h"
#include "ops/conv_ways.h"

namespace cg {
namespace {

using kernels::Sought, kernels::Taps;

bool taps_exist(const Placement& p, at::IntArrayRef filters) {
  constexpr int64_t kMost = 64;
  return p.stride.size() == 2 && filters.size() == 4 && filters[2] * filters[3] <= kMost;
}
Taps taps_sizes(const Placement& p, at::IntArrayRef image, at::IntArrayRef map, at::IntArrayRef w) {
  Taps s{image[0], image[1], map[1], {}, {}, {}, {}, {}, {}};
  for (size_t k = 0; k < 2; ++k) {
    s.image[k] = image[k + 2], s.map[k] = map[k + 2], s.filter[k] = w[k + 2];
    s.stride[k] = p.stride[k], s.pad[k] = p.pad[k], s.dilate[k] = p.dilate[k];
  }
  return s;
}
bool fits(const Tensor& t, const Taps& s) { return t.scalar_type() == at::kFloat && kernels::taps_fit(s); }
const float* taps_data(const Tensor& t) { return t.defined() ? t.const_data_ptr<float>() : nullptr; }
// Calls f(result, memory, threads).
template <class F>
Tensor with_memory(const Taps& s, Sought sought, const Tensor& like, at::IntArrayRef shape, F&& f) {
  const int64_t threads = kernels::most_threads();
  const Tensor y = at::empty(shape, like.options());
  const Tensor memory = at::empty({kernels::taps_memory(s, sought, threads)}, like.options());
  f(y.mutable_data_ptr<float>(), memory.mutable_data_ptr<float>(), threads);
  return y;
}

Tensor taps_map(const Placement& p, const Tensor& image, const Tensor& w, const Tensor& b, at::IntArrayRef map) {
  const Taps s = taps_sizes(p, image.sizes(), map, w.sizes());
  if (!fits(image, s)) return {};
  const Tensor x = image.contiguous(), filters = w.contiguous(), bias = b.defined() ? b.contiguous() : b;
  return with_memory(s, Sought::map, x, map, [&](float* y, float* memory, int64_t threads) {
    kernels::taps_map(s, taps_data(x), taps_data(filters), taps_data(bias), y, memory, threads);
  });
}
Tensor taps_image(const Placement& p, const Tensor& map, at::IntArrayRef image, const Tensor& w, const Tensor& b,
                  const Tensor&) {
  const Taps s = taps_sizes(p, image, map.sizes(), w.sizes());
  if (!fits(map, s)) return {};
  const Tensor x = map.contiguous(), filters = w.contiguous(), bias = b.defined() ? b.contiguous() : b;
  return with_memory(s, Sought::image, x, image, [&](float* y, float* memory, int64_t threads) {
    kernels::taps_image(s, taps_data(x), taps_data(filters), taps_data(bias), y, memory, threads);
  });
}
Tensor taps_filters(const Placement& p, const Tensor& map, const Tensor& image, at::IntArrayRef filters) {
  const Taps s = taps_sizes(p, image.sizes(), map.sizes(), filters);
  if (!fits(map, s)) return {};
  const Tensor x = image.contiguous(), gy = map.contiguous();
  return with_memory(s, Sought::filters, gy, filters, [&](float* gw, float* memory, int64_t threads) {
    kernels::taps_filters(s, taps_data(x), taps_data(gy), gw, memory, threads);
  });
}

}  // namespace

const ConvolutionWay kTaps{taps_exist, taps_map, taps_image, taps_filters};

}  // namespace cg
