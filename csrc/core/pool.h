// Memory of the graph's small objects. A training step makes some thousands of them and deletes them again, and malloc,
// which keeps only seven pieces of a size at hand, would take a twentieth of the time of a step of small arrays.
#pragma once
#include <cstddef>

namespace cg {

void* take_piece(size_t bytes);
void give_piece(void* piece, size_t bytes) noexcept;

// A class whose objects are in such memory.
struct Pooled {
  static void* operator new(size_t bytes) { return take_piece(bytes); }
  static void operator delete(void* piece, size_t bytes) noexcept { give_piece(piece, bytes); }
};

}  // namespace cg
