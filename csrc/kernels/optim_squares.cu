#include "kernels/optim_cuda.cuh"

namespace cg::optim {
namespace {

// Operands: gradients, parameters. Numbers: a prologue.
kernels::Status sum_of_squares_after(const kernels::Call& c) {
  PreparedSquare f;
  if (!f.prologue.read(c, 0)) return kernels::kBadCall;
  return kernels::by_dtype(c, [&]<class T>() { return kernels::Cuda::reduce<T>(f, c); });
}
const kernels::Registered entered("sum_of_squares_after", sum_of_squares_after);

}  // namespace
}  // namespace cg::optim
