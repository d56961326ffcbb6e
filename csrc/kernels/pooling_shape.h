// The sizes of the arrays of a pooling.
#pragma once
#include <algorithm>

#include "kernels/pooling.h"
#include "kernels/threads.h"

namespace cg::kernels {

struct PoolShape {
  int64_t planes, in[3], out[3];
  PoolShape(const at::Tensor& image, const at::Tensor& map) : planes(image.size(0)) {
    for (int k = 0; k < 3; ++k) {
      in[k] = image.size(k + 1);
      out[k] = map.size(k + 1);
    }
  }
  int64_t in_size() const { return in[0] * in[1] * in[2]; }
  int64_t out_size() const { return out[0] * out[1] * out[2]; }

  // Calls loop(shape with some of the planes, index of the first of them), in threads.
  template <class F>
  void each_part(F&& loop) const {
    in_threads(planes, kGrain / std::max<int64_t>(1, std::max(in_size(), out_size())) + 1,
               [&](int64_t from, int64_t to) {
                 PoolShape part = *this;
                 part.planes = to - from;
                 loop(part, from);
               });
  }
};

}  // namespace cg::kernels
