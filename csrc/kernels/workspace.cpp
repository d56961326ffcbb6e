#include "kernels/workspace.h"

#include <c10/core/CPUAllocator.h>

namespace cg::kernels {

Memory::Memory(int64_t bytes) {
  c10::DataPtr memory = c10::GetAllocator(c10::kCPU)->allocate(bytes);
  data_ = memory.get();
  drop_ = memory.get_deleter();
  context_ = memory.release_context();
}

}  // namespace cg::kernels
