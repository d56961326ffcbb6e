// Found before csrc/kernels/cuda.cuh: what .cu files register are the CPU loops, in a library with CUDA's interface.
#pragma once
#include "kernels/cpu.h"

namespace cg::kernels {
using Cuda = Cpu;
}
