#include "kernels/cpu.h"
#include "kernels/optim.h"
#include "kernels/optim_rules_nnabla.h"

namespace cg::optim {
static const bool nnabla_entered = (nn::for_each_rule(Enter<kernels::Cpu>{}), true);
}  // namespace cg::optim
