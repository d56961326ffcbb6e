// Steps on a CPU that do more than a rule: each block of elements is processed by one kernel after the other while it
// is in the cache. So no kernel needs to be compiled for each combination.
#pragma once
#include "kernels/optim_prologue.h"

namespace cg::optim {

// The kernel of that name for CPU tensors, or null.
kernels::Launch cpu_kernel(const char* name);

// Runs a rule whose call has a prologue after its hyperparameters; the gradients are changed by the prologue.
kernels::Status update_in_blocks(kernels::Launch rule, int hypers, const kernels::Call& c);

// Runs a rule in single precision. With `narrow_input`, gradients (operand 1) have 16 bits. The last operand, null if
// absent, is a 16-bit copy of operand 0, which is updated too.
kernels::Status update_mixed_in_blocks(kernels::Launch rule, const kernels::Call& c, bool narrow_input);

}  // namespace cg::optim
