// Convolutions with filters of 4 x 4 that move by two, on the CPU, by kernels/steps.h.
#include <ATen/ops/empty.h>

#include "kernels/steps.h"
#include "kernels/threads.h"
#include "ops/conv_ways.h"

namespace cg {
namespace {

using kernels::Sought, kernels::Steps;

bool steps_exist(const Placement& p, at::IntArrayRef filters) {
  if (filters.size() != 4 || filters[2] != 4 || filters[3] != 4) return false;
  for (size_t k = 0; k < 2; ++k)
    if (p.stride[k] != 2 || p.dilate[k] != 1 || p.pad[k] > 3) return false;
  return true;
}
Steps steps_sizes(const Placement& p, at::IntArrayRef image, at::IntArrayRef map) {
  return {image[0], image[1], map[1], {image[2], image[3]}, {map[2], map[3]}, {p.pad[0], p.pad[1]}};
}
bool fits(const Tensor& t, const Steps& s, Sought sought) {
  return t.scalar_type() == at::kFloat && kernels::steps_fit(s, sought);
}
const float* steps_data(const Tensor& t) { return t.defined() ? t.const_data_ptr<float>() : nullptr; }
// Calls f(memory, threads).
template <class F>
Tensor with_memory(const Steps& s, Sought sought, const Tensor& like, at::IntArrayRef shape, F&& f) {
  const int64_t threads = kernels::most_threads();
  const Tensor y = at::empty(shape, like.options());
  const Tensor memory = at::empty({kernels::steps_memory(s, sought, threads)}, like.options());
  f(y.mutable_data_ptr<float>(), memory.mutable_data_ptr<float>(), threads);
  return y;
}

Tensor steps_map(const Placement& p, const Tensor& image, const Tensor& w, const Tensor& b, at::IntArrayRef map) {
  const Steps s = steps_sizes(p, image.sizes(), map);
  if (!fits(image, s, Sought::map)) return {};
  const Tensor x = image.contiguous(), filters = w.contiguous(), bias = b.defined() ? b.contiguous() : b;
  return with_memory(s, Sought::map, x, map, [&](float* y, float* memory, int64_t threads) {
    kernels::steps_map(s, steps_data(x), steps_data(filters), steps_data(bias), y, memory, threads);
  });
}
Tensor steps_image(const Placement& p, const Tensor& map, at::IntArrayRef image, const Tensor& w, const Tensor& b,
                   const Tensor&) {
  const Steps s = steps_sizes(p, image, map.sizes());
  if (!fits(map, s, Sought::image)) return {};
  // The last tile of an odd side is partly empty, and zeros there would be multiplied by a NaN of the filters.
  if ((s.map[0] % 2 || s.map[1] % 2) && !if_finite(w).defined()) return {};
  const Tensor x = map.contiguous(), filters = w.contiguous(), bias = b.defined() ? b.contiguous() : b;
  return with_memory(s, Sought::image, x, image, [&](float* y, float* memory, int64_t threads) {
    kernels::steps_image(s, steps_data(x), steps_data(filters), steps_data(bias), y, memory, threads);
  });
}
Tensor steps_filters(const Placement& p, const Tensor& map, const Tensor& image, at::IntArrayRef filters) {
  const Steps s = steps_sizes(p, image.sizes(), map.sizes());
  if (!fits(map, s, Sought::filters)) return {};
  const Tensor x = image.contiguous(), gy = map.contiguous();
  return if_finite(with_memory(s, Sought::filters, gy, filters, [&](float* gw, float* memory, int64_t threads) {
    kernels::steps_filters(s, steps_data(x), steps_data(gy), gw, memory, threads);
  }));
}

}  // namespace

const ConvolutionWay kSteps{steps_exist, steps_map, steps_image, steps_filters};

}  // namespace cg
