#include "kernels/optim_cuda.cuh"
#include "kernels/optim_rules.h"

namespace cg::optim {
static const bool entered = (for_each_rule(EnterPrepared{}), true);
}  // namespace cg::optim
