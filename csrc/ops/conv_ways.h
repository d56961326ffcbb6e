// The ways in which convolutions are computed on the CPU where oneDNN, which at::convolution calls, is slower.
#pragma once
#include <array>

#include "ops/placement.h"

namespace cg {

// The functions are called with tensors that fit each other: without groups, floats or doubles in main memory that are
// no part of a trace, at least one number in each, a map that has exactly the positions of the filter inside the image,
// and a bias, if it is defined, of one number for each channel of the result. Each returns an undefined tensor where
// another way is faster.
struct ConvolutionWay {
  // Whether the way exists for a filter of the shape `filters` at all.
  bool (*exists)(const Placement& p, at::IntArrayRef filters);
  // The convolution of `image` with w, plus b, of the shape `map`.
  Tensor (*map)(const Placement& p, const Tensor& image, const Tensor& w, const Tensor& b, at::IntArrayRef map);
  // The gradient of the image, of the shape `image`, or the transposed convolution of `map`, plus b. `into`: undefined,
  // or memory for the result, which may be that of `map`.
  Tensor (*image)(const Placement& p, const Tensor& map, at::IntArrayRef image, const Tensor& w, const Tensor& b,
                  const Tensor& into);
  // The gradient of the filters, of the shape `filters`.
  Tensor (*filters)(const Placement& p, const Tensor& map, const Tensor& image, at::IntArrayRef filters);
  // Both gradients, (image, filters), where that takes less time than one after the other; otherwise null.
  std::array<Tensor, 2> (*both)(const Placement& p, const Tensor& map, const Tensor& image, const Tensor& w) = nullptr;
};

// kWinograd: filters of 3 x 3, in fewer multiplications (kernels/winograd.h). kPatches: transposed convolutions with
// filters of 4 x 4 and stride 2, of few places or into few channels (kernels/patches.h). kSteps: filters of 4 x 4 and
// stride 2, in fewer multiplications (kernels/steps.h). kPointwise: filters of one pixel or along one axis
// (kernels/pointwise.h). kFewChannels: images of few channels (kernels/few_channels.h). kTaps: batches, by products for
// each number of a filter (kernels/taps.h). kColumns: products with columns, which are an image's patches below the
// filter's positions.
extern const ConvolutionWay kWinograd, kPatches, kSteps, kPointwise, kFewChannels, kTaps, kColumns;

// t, a filter or its gradient, if all of its numbers are finite. Transformations add and subtract all numbers of a
// filter, or of the part of an image below it, and multiply zeros beyond an image by all of them; so one that is not
// finite would reach numbers that a sum of products keeps apart from it.
Tensor if_finite(const Tensor& t);

// Whether a result on the meta device has only to get its shape: torch has functions in Python there, which import its
// compiler at their first call. `image`, `map`: the shapes; x, one of the two, is given, and b has one number for each
// channel of the other. Where something does not fit, torch's functions raise the error.
bool only_shape(const Placement& p, const Tensor& x, const Tensor& w, const Tensor& b, at::IntArrayRef image,
                at::IntArrayRef map);

// The result of the first way that gives one, or an undefined tensor. The arguments are those of ConvolutionWay, and
// may be any that at::convolution would refuse.
Tensor map_by_way(const Placement& p, const Tensor& image, const Tensor& w, const Tensor& b, at::IntArrayRef map);
Tensor image_by_way(const Placement& p, const Tensor& map, at::IntArrayRef image, const Tensor& w, const Tensor& b,
                    const Tensor& into = {});
Tensor filters_by_way(const Placement& p, const Tensor& map, const Tensor& image, at::IntArrayRef filters);
// The gradients of image and filters that are wanted; of the other tensor only the shape is read. `into` is written to
// only when nothing needs to read `map` any more.
std::array<Tensor, 2> gradients_by_way(const Placement& p, const Tensor& map, const Tensor& image, const Tensor& w,
                                       std::array<bool, 2> wanted, const Tensor& into);

}  // namespace cg
