#include "ops/tanh.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/erf.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/tanh.h>

#include "kernels/raw.h"
#include "kernels/stages.h"
#include "kernels/threads.h"
#include "ops/few.h"

namespace cg {
namespace {

using Loop = void (*)(int64_t, const float*, float*);

// Of a matrix whose rows are adjacent numbers, such as a part of the gates of an LSTM. A copy in front of the loop
// would take longer than the loop.
at::Tensor mapped_rows(const at::Tensor& x, Loop loop) {
  const int64_t rows = x.size(0), columns = x.size(1), down = x.stride(0);
  const at::Tensor y = few::empty(x.sizes(), x);
  const float* from = x.const_data_ptr<float>();
  float* to = y.mutable_data_ptr<float>();
  kernels::in_threads(rows, kernels::kGrain / columns + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) loop(columns, from + i * down, to + i * columns);
  });
  return y;
}
at::Tensor mapped(const at::Tensor& x, Loop loop) {
  constexpr int64_t kLong = 16;  // numbers in a row, from which on a call for each row takes little time
  if (x.dim() == 2 && x.stride(1) == 1 && x.size(1) >= kLong && x.stride(0) > x.size(1)) return mapped_rows(x, loop);
  const bool dense = x.is_non_overlapping_and_dense();
  const at::Tensor y = x.is_contiguous() ? few::empty(x.sizes(), x) : dense ? at::empty_like(x) : x.contiguous();
  const float* from = (dense ? x : y).const_data_ptr<float>();
  float* to = y.mutable_data_ptr<float>();
  kernels::in_threads(x.numel(), kernels::kGrain,
                      [&](int64_t begin, int64_t end) { loop(end - begin, from + begin, to + begin); });
  return y;
}
bool has_loop(const at::Tensor& x) { return x.scalar_type() == at::kFloat && kernels::raw(x); }

}  // namespace

at::Tensor fast_sigmoid(const at::Tensor& x) { return has_loop(x) ? mapped(x, kernels::sigmoid_of) : at::sigmoid(x); }
at::Tensor fast_tanh(const at::Tensor& x) { return has_loop(x) ? mapped(x, kernels::tanh_of) : at::tanh(x); }
at::Tensor fast_erf(const at::Tensor& x) { return has_loop(x) ? mapped(x, kernels::erf_of) : at::erf(x); }
at::Tensor fast_gelu(const at::Tensor& x) { return has_loop(x) ? mapped(x, kernels::gelu_of) : at::gelu(x, "tanh"); }
at::Tensor fast_gelu_backward(const at::Tensor& gy, const at::Tensor& x) {
  if (!has_loop(x) || !kernels::raw(x, gy) || !x.is_contiguous() || !gy.is_contiguous() || x.sizes() != gy.sizes())
    return at::gelu_backward(gy, x, "tanh");
  const at::Tensor y = at::empty_like(x);
  const float *from = x.const_data_ptr<float>(), *g = gy.const_data_ptr<float>();
  float* const to = y.mutable_data_ptr<float>();
  kernels::in_threads(x.numel(), kernels::kGrain, [&](int64_t begin, int64_t end) {
    kernels::gelu_slope_of(end - begin, g + begin, from + begin, to + begin);
  });
  return y;
}

}  // namespace cg
