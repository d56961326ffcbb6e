// Convolutions with two axes of images of up to four channels, by kernels/few_channels.h.
#include "kernels/few_channels.h"
#include "ops/conv_arrays.h"

namespace cg {
namespace {

using kernels::FewChannels;

bool few_channels_exist(const Placement& p, at::IntArrayRef filters) {
  return filters.size() == 4 && p.dilate[0] == 1 && p.dilate[1] == 1;
}
// The sizes, if the kernel takes them.
std::optional<FewChannels> few_channels_sizes(const Placement& p, const Tensor& t, at::IntArrayRef image,
                                              at::IntArrayRef map, at::IntArrayRef filters) {
  if (!has_floats(t)) return {};
  FewChannels s{image[0], image[1], map[1], image[2], image[3], map[2], map[3]};
  for (size_t k = 0; k < 2; ++k) s.size[k] = filters[k + 2], s.stride[k] = p.stride[k], s.pad[k] = p.pad[k];
  if (!kernels::few_channels_fits(s)) return {};
  return s;
}
Tensor few_channels_map(const Placement& p, const Tensor& image, const Tensor& w, const Tensor& b,
                        at::IntArrayRef map) {
  const auto s = few_channels_sizes(p, image, image.sizes(), map, w.sizes());
  if (!s) return {};
  const int64_t threads = kernels::most_threads();
  return computed_from(image, w, b, map, threads * kernels::few_channels_memory(*s),
                       [&](auto... arrays) { kernels::few_channels(*s, arrays..., threads); });
}
Tensor no_image(const Placement&, const Tensor&, at::IntArrayRef, const Tensor&, const Tensor&, const Tensor&) {
  return {};
}
Tensor few_channels_filters(const Placement& p, const Tensor& map, const Tensor& image, at::IntArrayRef filters) {
  const auto s = few_channels_sizes(p, map, image.sizes(), map.sizes(), filters);
  if (!s) return {};
  const int64_t threads = kernels::most_threads();
  return computed_from(image, map, filters, kernels::few_channels_grad_w_memory(*s, threads),
                       [&](auto... arrays) { kernels::few_channels_grad_w(*s, arrays..., threads); });
}

}  // namespace

const ConvolutionWay kFewChannels{few_channels_exist, few_channels_map, no_image, few_channels_filters};

}  // namespace cg
