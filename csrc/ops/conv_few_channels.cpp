// Convolutions with two axes of images of up to four channels, by kernels/few_channels.h.
#include <ATen/ops/empty.h>

#include "kernels/few_channels.h"
#include "kernels/threads.h"
#include "ops/conv_ways.h"

namespace cg {
namespace {

using kernels::FewChannels;

bool few_channels_exist(const Placement& p, at::IntArrayRef filters) {
  return filters.size() == 4 && p.dilate[0] == 1 && p.dilate[1] == 1;
}
// The sizes, if the kernel takes them.
std::optional<FewChannels> few_channels_sizes(const Placement& p, const Tensor& t, at::IntArrayRef image,
                                              at::IntArrayRef map, at::IntArrayRef filters) {
  if (t.scalar_type() != at::kFloat) return {};
  FewChannels s{image[0], image[1], map[1], image[2], image[3], map[2], map[3]};
  for (size_t k = 0; k < 2; ++k) s.size[k] = filters[k + 2], s.stride[k] = p.stride[k], s.pad[k] = p.pad[k];
  if (!kernels::few_channels_fits(s)) return {};
  return s;
}
Tensor few_channels_map(const Placement& p, const Tensor& image, const Tensor& w, const Tensor& b,
                        at::IntArrayRef map) {
  const auto s = few_channels_sizes(p, image, image.sizes(), map, w.sizes());
  if (!s) return {};
  const Tensor x = image.contiguous(), filters = w.contiguous(), bias = b.defined() ? b.contiguous() : b;
  const Tensor y = at::empty(map, x.options());
  const int64_t threads = kernels::most_threads();
  const Tensor memory = at::empty({threads * kernels::few_channels_memory(*s)}, x.options());
  kernels::few_channels(*s, x.const_data_ptr<float>(), filters.const_data_ptr<float>(),
                        bias.defined() ? bias.const_data_ptr<float>() : nullptr, y.mutable_data_ptr<float>(),
                        memory.mutable_data_ptr<float>(), threads);
  return y;
}
Tensor no_image(const Placement&, const Tensor&, at::IntArrayRef, const Tensor&, const Tensor&, const Tensor&) {
  return {};
}
Tensor few_channels_filters(const Placement& p, const Tensor& map, const Tensor& image, at::IntArrayRef filters) {
  const auto s = few_channels_sizes(p, map, image.sizes(), map.sizes(), filters);
  if (!s) return {};
  const Tensor x = image.contiguous(), gy = map.contiguous(), gw = at::empty(filters, gy.options());
  const int64_t threads = kernels::most_threads();
  const Tensor memory = at::empty({kernels::few_channels_grad_w_memory(*s, threads)}, gy.options());
  kernels::few_channels_grad_w(*s, x.const_data_ptr<float>(), gy.const_data_ptr<float>(), gw.mutable_data_ptr<float>(),
                               memory.mutable_data_ptr<float>(), threads);
  return gw;
}

}  // namespace

const ConvolutionWay kFewChannels{few_channels_exist, few_channels_map, no_image, few_channels_filters};

}  // namespace cg
