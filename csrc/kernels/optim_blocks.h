// Steps of rules on a CPU that do more than the rule: block by block, each block going through one kernel after the
// other while it is in the cache. So nothing is compiled for each combination.
#pragma once
#include "kernels/optim_prologue.h"

namespace cg::optim {

// The kernel of that name for CPU tensors, or null.
kernels::Launch cpu_kernel(const char* name);

// The call of a rule with a prologue behind its hypers, whose changes go into the gradients.
kernels::Status update_in_blocks(kernels::Launch rule, int hypers, const kernels::Call& c);

// A rule in single precision. Gradients (operand 1) are of 16 bits where `narrow_input`; the last operand, null where
// it is absent, is a 16-bit copy of operand 0 that follows it.
kernels::Status update_mixed_in_blocks(kernels::Launch rule, const kernels::Call& c, bool narrow_input);

}  // namespace cg::optim
