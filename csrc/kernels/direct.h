// Convolutions of images with channels last for inference, with what comes before and after them, in one pass. For few
// places or channels, where oneDNN's convolution takes longer to be called than to compute.
#pragma once
#include <cstdint>

namespace cg::kernels {

enum class Activation { none, relu, clip, leaky };

struct Direct {
  int64_t batch, in, out;                                             // images, their channels, channels of the result
  int64_t image[2], map[2], filter[2], stride[2], pad[2], dilate[2];  // heights and widths
  bool channelwise;  // each channel has a filter of its own, and `in` is `out`
  // How many neighbouring numbers of a row of the filter are multiplied in one vector: for few channels of the result
  // all lanes are used in this way. direct_together() says how many can be.
  int64_t together;
  // Filters: for each 16 / together channels of the result, the numbers (height, width, channels of the image) in sets
  // of `together`, (set, channel of the result, number of the set); or (height, width, 16) if `channelwise`. Missing
  // channels are zeros. Bias: one number for the first of each set of lanes, else 0.
  const float *x, *filters, *bias;
  // Unless they are null, x is first multiplied by `factor`, increased by `addend`, and its negative numbers become 0
  // if `rectify`. Both have one number per channel, repeated up to direct_period(in) numbers.
  const float *factor = nullptr, *addend = nullptr;
  bool rectify = false;
  const float* added = nullptr;  // unless null, as many numbers as y has, which may be y: added before the activation
  Activation activation = Activation::none;
  float low = 0, high = 0;  // the ends of a clip; the slope of a leaky activation is `low`
  float* y;
};

constexpr int64_t kDirectLanes = 16;
int64_t direct_together(const Direct& d);
// The least number of whole pixels that are a multiple of 16 numbers.
int64_t direct_period(int64_t channels);
// Whether the processor has the instructions. `direct` must not be called otherwise.
bool direct_fits();
// An estimate of the time that `direct` takes on one core, in nanoseconds. Reads only sizes.
double direct_time(const Direct& d);
// NaN and infinite numbers reach the results whose filters lie above them, and no others.
void direct(const Direct& d);

}  // namespace cg::kernels
