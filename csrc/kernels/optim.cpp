#include "kernels/optim.h"
#include "kernels/cpu.h"
#include "kernels/optim_rules.h"

namespace cg::optim {
static const bool chainer_entered = (for_each_rule(Enter<kernels::Cpu>{}), true);
}  // namespace cg::optim
