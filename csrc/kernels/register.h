// CG_KERNEL(Cpu, name) in a .cpp and CG_KERNEL(Cuda, name) in a .cu register a kernel, so that it can be called by its
// name.
#pragma once
#include <vector>

#include "kernels/call.h"

namespace cg::kernels {

std::vector<Entry>& entries();  // the kernels registered in this library

struct Registered {
  Registered(const char* name, Launch launch) { entries().push_back({name, launch}); }
};

}  // namespace cg::kernels

#define CG_KERNEL(Run, name) static const Registered name##_registered{#name, name<Run>};
