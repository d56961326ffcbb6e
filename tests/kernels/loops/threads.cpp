// In the place of csrc/kernels/threads.cpp and workspace.cpp, which need torch: loops in parts that grow, on the level
// that tests name.
#include <cstdlib>

#include "kernels/threads.h"
#include "kernels/workspace.h"

namespace cg::kernels {

void in_threads(int64_t n, int64_t, void (*run)(void*, int64_t, int64_t), void* context) {
  for (int64_t begin = 0, part = 1; begin < n; begin += part, part = part * 3 + 1)
    run(context, begin, begin + part < n ? begin + part : n);
}

int simd_level() {
  const char* level = std::getenv("KERNEL_LEVEL");
  return level ? std::atoi(level) : 1;
}

Memory::Memory(int64_t bytes) : data_(std::malloc(bytes)), context_(data_), drop_(std::free) {}

}  // namespace cg::kernels
