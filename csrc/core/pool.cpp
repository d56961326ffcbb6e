#include "core/pool.h"

#include <cstdint>
#include <new>
#include <utility>

namespace cg {
namespace {

struct Piece {
  Piece* next;
};
// Pieces that this thread has given back, by size. Their memory together is limited.
constexpr size_t kStep = 16, kSizes = 64, kMostBytes = 1 << 20;
struct Pieces {
  Piece* first[kSizes];
  size_t bytes;
  bool kept, over;
};
thread_local Pieces pieces __attribute__((tls_model("initial-exec"))) = {};

// Gives the memory back when the thread ends. Objects that are deleted after that are not kept.
struct End {
  ~End() {
    pieces.over = true;
    for (Piece*& first : pieces.first)
      while (first) ::operator delete(std::exchange(first, first->next));
  }
};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kKeeps = false;  // the sanitizer would not see that an object is used after it was deleted
#else
constexpr bool kKeeps = true;
#endif

}  // namespace

void* take_piece(size_t bytes) {
  const size_t k = (bytes + kStep - 1) / kStep;
  if (k >= kSizes) return ::operator new(bytes);
  Piece* const piece = pieces.first[k];
  if (!piece) return ::operator new(k * kStep);
  pieces.first[k] = piece->next;
  pieces.bytes -= k * kStep;
  return piece;
}

void give_piece(void* given, size_t bytes) noexcept {
  const size_t k = (bytes + kStep - 1) / kStep;
  if (!kKeeps || k >= kSizes || pieces.over || pieces.bytes + k * kStep > kMostBytes) return ::operator delete(given);
  if (!pieces.kept) {
    static thread_local End end;
    pieces.kept = true;
    (void)&end;
  }
  auto* const piece = static_cast<Piece*>(given);
  piece->next = pieces.first[k];
  pieces.first[k] = piece;
  pieces.bytes += k * kStep;
}

}  // namespace cg
