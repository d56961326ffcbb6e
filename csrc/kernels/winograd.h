// Convolutions with filters of 3 x 3 and stride 1 by fewer multiplications: Winograd's minimal filtering F(2 x 2, 3 x
// 3) of A. Lavin and S. Gray, "Fast algorithms for convolutional neural networks", 2015. Four numbers of the result
// take 16 multiplications of a pair of channels, not 36.
//
// Each number of a result depends only on the 3 x 3 numbers below the filter, so a NaN or a large number elsewhere does
// not reach it. An infinite number below the filter gives NaN where a sum of products would be infinite; so do finite
// ones of more than 8e37, four of which are added.
#pragma once
#include <cstdint>

namespace cg::kernels {

struct Winograd {
  int64_t batch, in, out;  // images, their channels, channels of the result
  int64_t height, width;   // of the images
  int64_t pad[2];
  int64_t out_height() const { return height + 2 * pad[0] - 2; }
  int64_t out_width() const { return width + 2 * pad[1] - 2; }
};

// Whether the processor has the instructions, and this takes less time than a convolution by oneDNN. The functions
// below must not be called otherwise.
bool winograd_fits(const Winograd& s);

// How many floats the functions below need to work in. `in_place`: y is x.
int64_t winograd_memory(const Winograd& s, bool in_place);
int64_t winograd_grad_w_memory(const Winograd& s);

// y (batch, out, ...) = the convolution of x (batch, in, ...) with w (out, in, 3, 3), plus bias (out) unless that is
// null. `turned`: the filters are those of the convolution whose gradient this is, of the shape (in, out, 3, 3), and
// are turned by 180 degrees. All arrays are in C order. y may be x if all sizes are equal.
void winograd(const Winograd& s, const float* x, const float* w, bool turned, const float* bias, float* y,
              float* memory);
// The gradient of w, from x and the gradient of the result. A number that is not finite reaches all numbers of a
// filter.
void winograd_grad_w(const Winograd& s, const float* x, const float* gy, float* gw, float* memory);

}  // namespace cg::kernels
