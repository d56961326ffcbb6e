#include "kernels/workspace.h"

#include <c10/core/CPUAllocator.h>

namespace cg::kernels {
namespace {

// A block that a thread keeps for its next loop. All threads of a loop begin at once: they would wait for each other at
// the allocator, and get blocks whose lines are in the cache of the core that had them last.
struct Kept {
  c10::DataPtr block;
  int64_t bytes = 0;
  bool used = false;
};
thread_local Kept kept;
constexpr int64_t kMostKept = 1 << 20;  // half of a level-2 cache of today

}  // namespace

Memory::Memory(int64_t bytes) {
  c10::Allocator& allocator = *c10::GetAllocator(c10::kCPU);
  if (bytes <= kMostKept && !kept.used) {
    if (kept.bytes < bytes) {
      kept.bytes = 0;
      kept.block = {};  // before the next one, so that two are never in memory
      kept.block = allocator.allocate(bytes);
      kept.bytes = bytes;
    }
    kept.used = true;
    data_ = kept.block.get();
    context_ = nullptr;
    drop_ = [](void*) { kept.used = false; };
    return;
  }
  c10::DataPtr memory = allocator.allocate(bytes);
  data_ = memory.get();
  drop_ = memory.get_deleter();
  context_ = memory.release_context();
}

}  // namespace cg::kernels
