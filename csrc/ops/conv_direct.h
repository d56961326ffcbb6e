// Convolutions of images with channels last in one pass with what comes before and after; see kernels/direct.h.
#pragma once
#include <ATen/core/Tensor.h>

#include "kernels/direct.h"

namespace cg {

struct DirectLayer {
  kernels::Direct sizes;  // without the batch, the image and the map; with the activation
  at::Tensor filters, bias, factor, addend;
};
// weight: float32, (maps, channels or 1, height, width); bias: (maps), or undefined. factor and addend: (channels),
// both or neither. Only stride, padding, dilation, `channelwise`, `rectify` and the activation of `d` are read.
DirectLayer direct_layer(kernels::Direct d, const at::Tensor& weight, const at::Tensor& bias, const at::Tensor& factor,
                         const at::Tensor& addend);

// x: float32, (n, channels, height, width). added: an array of the result's shape that is added before the activation,
// or undefined; its memory is the result's, if `overwrite` and its channels are last.
at::Tensor convolve_direct(const DirectLayer& layer, const at::Tensor& x, const at::Tensor& added, bool overwrite);

}  // namespace cg
