// Memory of large tensors on the CPU, which is kept for the next ones.
//
// The C library returns a large block to the system when a tensor is freed, and the system clears each page of the next
// one: a step of training pays for both, for each of its arrays. Freed pages are kept here instead, and the next
// tensors get them. Pages that are kept and blocks in use are together hardly larger than the blocks in use were at
// their peak, so that keeping memory does not raise the peak of a process.
#pragma once
#include <cstddef>

namespace cg::memory {

// Makes torch take large CPU tensors from here, once in a process.
void start();
// Returns the kept blocks to the system; how many bytes these were.
size_t release();

struct Amounts {
  size_t used, kept;  // bytes in blocks
};
Amounts amounts();

}  // namespace cg::memory
