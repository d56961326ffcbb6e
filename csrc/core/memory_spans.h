// Memory of small and of middle-sized tensors: blocks of equal size in spans of pages.
//
// posix_memalign, which torch calls, cuts each block out of a larger one. The C library then joins all small blocks
// that are free, which takes a tenth of the time of a step of a small network. And no block of the size of a free one
// can be cut out of it, because the alignment needs more: the heap of 50 steps of an LSTM grew to twice the memory of
// their arrays.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace cg::memory {

// A caller holds a lock around each function but `has`. No function throws.
class Spans {
 public:
  struct Sizes {
    size_t span;
    size_t room;  // all spans
    size_t idle;  // spans without blocks in use whose pages are kept
  };

  // `most_kept`: how many bytes the process may keep; if they are fewer than the room, `take` returns null.
  Spans(const Sizes& sizes, size_t most_kept) noexcept;
  // A block of at least one byte, which begins at a multiple of 64; null if there is no room.
  void* take(size_t bytes) noexcept;
  bool has(const void* block) const noexcept { return reinterpret_cast<size_t>(block) - begin_ < sizes_.room; }
  // Takes a block back, and returns its size.
  size_t give(void* block) noexcept;
  // Gives pages without blocks in use back to the system, and returns how many bytes these were.
  size_t release() noexcept;
  // Gives pages of spans without blocks in use back, those that were used least recently first, until they are `bytes`
  // bytes or no such span is left; how many bytes these were.
  size_t release_idle(size_t bytes) noexcept;

 private:
  static constexpr size_t kSpans = 1024, kSizes = 48;  // at most
  using Number = uint16_t;
  static constexpr Number kNone = UINT16_MAX;

  struct Span {
    void* free = nullptr;                   // blocks that were used; each begins with the address of the next
    uint32_t fresh = 0;                     // where the part begins that was not used yet
    uint32_t used = 0;                      // blocks in use
    uint32_t bytes = 0;                     // of a block
    uint32_t touched = 0;                   // the part whose pages earlier blocks, of any size, have used
    Number size = 0;                        // number of this size
    Number next = kNone, previous = kNone;  // among the spans of this size that have room
  };

  static size_t number_of(size_t bytes) noexcept;
  static uint32_t bytes_of(size_t number) noexcept;
  char* begin_of(Number s) const noexcept { return reinterpret_cast<char*>(begin_) + s * sizes_.span; }
  bool full(const Span& s) const noexcept { return !s.free && s.fresh + s.bytes > sizes_.span; }
  void link(Number s) noexcept;
  void unlink(Number s) noexcept;
  size_t return_pages(Number s) noexcept;

  const Sizes sizes_;
  size_t begin_;      // SIZE_MAX - room if there are no blocks: none has such an address
  Number spans_ = 0;  // spans that were ever used
  std::array<Number, kSizes> with_room_;
  std::array<Span, kSpans> all_;
  std::array<Number, kSpans> idle_, empty_;  // spans without blocks, with their pages and without
  size_t n_idle_ = 0, n_empty_ = 0;
};

}  // namespace cg::memory
