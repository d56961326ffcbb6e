// Memory of tensors on the CPU, which is kept for the next ones: of small and middle-sized ones (memory_spans.h), and
// of large ones.
//
// The C library returns a large block to the system when a tensor is freed, and the system clears each page of the next
// one: a step of training pays for both, for each of its arrays. Freed pages are kept here instead, and the next
// tensors get them. How many are kept depends on the peak of the blocks in use (memory_blocks.cpp) and on what the
// process may use at all (memory_limit.cpp).
#pragma once
#include <cstddef>

namespace cg::memory {

// Makes torch take small and large CPU tensors from here, once in a process. An allocator that a program put in place
// of torch's remains.
void start();
// Returns kept blocks and pages of small ones to the system; how many bytes of large blocks these were.
size_t release();

struct Amounts {
  size_t used, kept;  // bytes in blocks
  size_t most_kept;   // 0 if nothing is kept in this process
};
Amounts amounts();

}  // namespace cg::memory
