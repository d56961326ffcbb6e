#include "kernels/optim_cuda.cuh"
#include "kernels/optim_rules_mxnet.h"

namespace cg::optim {
static const bool entered = (mx::for_each_rule(EnterRated{}), true);
}  // namespace cg::optim
