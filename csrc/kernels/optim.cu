#include "kernels/cuda.cuh"
#include "kernels/optim.h"
#include "kernels/optim_rules.h"

namespace cg::optim {
static const bool entered = (for_each_rule(Enter<kernels::Cuda>{}), true);
}  // namespace cg::optim
