// Convolutions with stride 1 and filters of one pixel, or along one axis, on the CPU: products of a matrix with the
// channels of each place. Images are read as they are, channels first, while oneDNN rearranges images, filters and
// results.
#pragma once
#include <cstdint>

namespace cg::kernels {

constexpr int64_t kMostTaps = 3;  // numbers of a filter for a pair of channels

struct Pointwise {
  int64_t batch, in, out, places;  // images, their channels, channels and pixels of the result
  // The filter's tap t reads the pixel place + shift + t * step of an image of `image` pixels, or zero beyond it.
  int64_t image, taps = 1, shift = 0, step = 1;
  int64_t columns() const { return batch * places; }
  int64_t depth() const { return in * taps; }  // numbers of a filter
};

// Whether the processor has the instructions, and this takes less time than oneDNN. The functions below must not be
// called otherwise.
bool pointwise_fits(const Pointwise& s);

// How many floats the functions below need to work in; the first one needs as many for each thread.
int64_t pointwise_memory(const Pointwise& s);
int64_t pointwise_grad_w_memory(const Pointwise& s);

// y (batch, out, places) = w (out, in) times x (batch, in, places), plus bias (out) unless that is null. `turned`: w
// has the shape (in, out). All arrays are in C order; y does not overlap the others.
void pointwise(const Pointwise& s, const float* x, const float* w, bool turned, const float* bias, float* y,
               float* memory, int64_t threads);
// gw (out, in, taps) = the gradient of w, from x and the gradient of the result.
void pointwise_grad_w(const Pointwise& s, const float* x, const float* gy, float* gw, float* memory);

}  // namespace cg::kernels
