#include "kernels/optim_cuda.cuh"
#include "kernels/optim_rules_nnabla.h"

namespace cg::optim {
static const bool entered = (nn::for_each_rule(EnterPrepared{}), true);
}  // namespace cg::optim
