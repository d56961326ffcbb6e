#include "ops/conv_direct.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "kernels/raw.h"

namespace cg {

using at::Tensor;

namespace {

void expect_floats(std::initializer_list<const Tensor*> tensors) {
  for (const Tensor* t : tensors)
    TORCH_CHECK_VALUE(!t->defined() || (t->scalar_type() == at::kFloat && t->device().is_cpu() && kernels::plain(*t)),
                      "convolve_direct: expected tensors of float32 on the CPU");
}
// (n, channels, ...) with zeros for missing channels: of a multiple of `n` in the first axis.
Tensor padded(const Tensor& t, int64_t n) {
  at::DimVector sizes(t.sizes());
  sizes[0] = (sizes[0] + n - 1) / n * n;
  Tensor y = at::zeros(sizes, t.options());
  y.narrow(0, 0, t.size(0)).copy_(t);
  return y;
}

}  // namespace

DirectLayer direct_layer(kernels::Direct d, const Tensor& weight, const Tensor& bias, const Tensor& factor,
                         const Tensor& addend) {
  using kernels::kDirectLanes;
  TORCH_CHECK_VALUE(kernels::direct_fits(), "convolve_direct: the processor has no AVX-512");
  expect_floats({&weight, &bias, &factor, &addend});
  TORCH_CHECK_VALUE(weight.dim() == 4 && weight.numel() > 0 && (!d.channelwise || weight.size(1) == 1),
                    "convolve_direct: filters of shape ", weight.sizes(), " do not fit");
  d.out = weight.size(0), d.in = d.channelwise ? d.out : weight.size(1);
  for (size_t k = 0; k < 2; ++k) {
    d.filter[k] = weight.size(k + 2);
    TORCH_CHECK_VALUE(d.stride[k] > 0 && d.dilate[k] > 0 && d.pad[k] >= 0,
                      "convolve_direct: stride, dilation or padding is wrong");
  }
  TORCH_CHECK_VALUE(!bias.defined() || (bias.dim() == 1 && bias.size(0) == d.out), "convolve_direct: bias: expected ",
                    d.out, " numbers");
  d.together = kernels::direct_together(d);
  const int64_t maps = kDirectLanes / d.together;  // of a block
  const Tensor w = padded(weight, maps), b = bias.defined() ? bias : at::zeros({d.out}, weight.options());
  DirectLayer layer;
  if (d.channelwise) {
    layer.filters = w.view({-1, maps, d.filter[0], d.filter[1]}).permute({0, 2, 3, 1}).contiguous();
  } else {
    layer.filters = w.permute({0, 2, 3, 1}).reshape({w.size(0) / maps, maps, -1, d.together});
    layer.filters = layer.filters.transpose(1, 2).contiguous();
  }
  layer.bias = at::zeros({w.size(0), d.together}, w.options());
  layer.bias.select(1, 0).narrow(0, 0, d.out).copy_(b);
  if (factor.defined()) {
    TORCH_CHECK_VALUE(addend.defined() && factor.dim() == 1 && addend.dim() == 1 && factor.size(0) == d.in &&
                          addend.size(0) == d.in && !d.channelwise,
                      "convolve_direct: factor or addend does not fit");
    const int64_t times = kernels::direct_period(d.in) / d.in;
    layer.factor = factor.repeat({times}), layer.addend = addend.repeat({times});
  }
  layer.sizes = d;
  return layer;
}

Tensor convolve_direct(const DirectLayer& layer, const Tensor& x, const Tensor& added, bool overwrite) {
  constexpr auto kLast = at::MemoryFormat::ChannelsLast;
  kernels::Direct d = layer.sizes;
  expect_floats({&x, &added});
  TORCH_CHECK_VALUE(x.dim() == 4 && x.size(0) > 0 && x.size(1) == d.in, "convolve_direct: expected images of ", d.in,
                    " channels, got ", x.sizes());
  d.batch = x.size(0);
  for (size_t k = 0; k < 2; ++k) {
    d.image[k] = x.size(k + 2);
    const int64_t room = d.image[k] + 2 * d.pad[k] - d.dilate[k] * (d.filter[k] - 1) - 1;
    TORCH_CHECK_VALUE(d.image[k] > 0 && room >= 0, "convolve_direct: images of ", x.sizes(), " are too small");
    d.map[k] = room / d.stride[k] + 1;
  }
  const at::DimVector sizes{d.batch, d.out, d.map[0], d.map[1]};
  TORCH_CHECK_VALUE(!added.defined() || added.sizes() == sizes, "convolve_direct: added: expected the shape ", sizes);
  const Tensor images = x.contiguous(kLast), other = added.defined() ? added.contiguous(kLast) : Tensor();
  const bool into = other.defined() && (overwrite || !other.is_same(added));
  const Tensor y = into ? other : at::empty(sizes, x.options(), kLast);
  d.x = images.const_data_ptr<float>();
  d.filters = layer.filters.const_data_ptr<float>();
  d.bias = layer.bias.const_data_ptr<float>();
  if (layer.factor.defined()) {
    d.factor = layer.factor.const_data_ptr<float>();
    d.addend = layer.addend.const_data_ptr<float>();
  }
  d.added = other.defined() ? other.const_data_ptr<float>() : nullptr;
  d.y = y.mutable_data_ptr<float>();
  kernels::direct(d);
  return y;
}

}  // namespace cg
