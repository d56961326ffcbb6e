#include "kernels/cpu.h"
#include "kernels/optim.h"
#include "kernels/optim_rules_mxnet.h"

namespace cg::optim {
static const bool mxnet_entered = (mx::for_each_rule(Enter<kernels::Cpu>{}), true);
}  // namespace cg::optim
