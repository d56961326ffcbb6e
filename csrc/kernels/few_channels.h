// Convolutions with two axes of images of few channels, such as the first layer of a network, on processors with
// AVX-512. All numbers below a filter are the rows of a panel of 32 places of the result; the panel is multiplied by
// the filters. Images, filters and results are read and written as they are, channels first. Numbers beyond the image
// are zeros.
#pragma once
#include <cstdint>

namespace cg::kernels {

struct FewChannels {
  int64_t batch, in, out;  // images, their channels, channels of the result
  int64_t height, width, out_height, out_width;
  int64_t size[2], stride[2], pad[2];  // of the filters
  int64_t places() const { return out_height * out_width; }
  int64_t columns() const { return batch * places(); }
  int64_t depth() const { return in * size[0] * size[1]; }  // numbers of a filter
};

// Whether the processor has the instructions, and this takes less time than oneDNN. The functions below must not be
// called otherwise.
bool few_channels_fits(const FewChannels& s);

// How many floats the functions below need to work in; the first one needs as many for each thread.
int64_t few_channels_memory(const FewChannels& s);
int64_t few_channels_grad_w_memory(const FewChannels& s, int64_t threads);

// y (batch, out, ...) = the convolution of x (batch, in, ...) with w (out, in, ...), plus bias (out) unless that is
// null.
void few_channels(const FewChannels& s, const float* x, const float* w, const float* bias, float* y, float* memory,
                  int64_t threads);
// The gradient of w, from x and the gradient of the result. The order of sums does not depend on the number of threads.
void few_channels_grad_w(const FewChannels& s, const float* x, const float* gy, float* gw, float* memory,
                         int64_t threads);

}  // namespace cg::kernels
