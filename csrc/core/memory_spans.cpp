#include "core/memory_spans.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace cg::memory {

Spans::Spans(const Sizes& sizes, size_t most_kept) noexcept : sizes_(sizes), begin_(SIZE_MAX - sizes.room) {
  with_room_.fill(kNone);
  if (most_kept < sizes_.room) return;
  // Address space alone: pages are the system's until a block in them is used.
  void* const room =
      mmap(nullptr, sizes_.room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room != MAP_FAILED) begin_ = reinterpret_cast<size_t>(room);
}

// Sizes are multiples of 64 up to 1024, then four for each power of two: 1280, 1536, 1792, 2048, 2560, ...
size_t Spans::number_of(size_t bytes) noexcept {
  if (bytes <= 1024) return (bytes - 1) / 64;
  const int shift = std::bit_width(bytes - 1) - 3;  // of a quarter of the power of two below
  return 16 + (shift - 8) * 4 + ((bytes - 1) >> shift) - 4;
}
uint32_t Spans::bytes_of(size_t number) noexcept {
  if (number < 16) return (number + 1) * 64;
  return (5 + (number - 16) % 4) << ((number - 16) / 4 + 8);
}

void* Spans::take(size_t bytes) noexcept {
  const size_t number = number_of(bytes);
  Number s = with_room_[number];
  if (s == kNone) {
    if (begin_ == SIZE_MAX - sizes_.room) return nullptr;
    if (n_idle_) {
      s = idle_[--n_idle_];
    } else if (n_empty_) {
      s = empty_[--n_empty_];
    } else if (spans_ < sizes_.room / sizes_.span) {
      s = spans_++;
    } else {
      return nullptr;
    }
    const uint32_t touched = std::max(all_[s].touched, all_[s].fresh);
    all_[s] = {.bytes = bytes_of(number), .touched = touched, .size = static_cast<Number>(number)};
    link(s);
  }
  Span& span = all_[s];
  void* block = span.free;
  if (block) {
    span.free = *static_cast<void**>(block);
  } else {
    block = begin_of(s) + span.fresh;
    span.fresh += span.bytes;
  }
  ++span.used;
  if (full(span)) unlink(s);
  return block;
}

size_t Spans::give(void* block) noexcept {
  const auto s = static_cast<Number>((reinterpret_cast<size_t>(block) - begin_) / sizes_.span);
  Span& span = all_[s];
  if (full(span)) link(s);
  *static_cast<void**>(block) = span.free;
  span.free = block;
  const size_t bytes = span.bytes;
  if (--span.used) return bytes;
  // The last span of a size with room stays: a program that uses one block again and again would take it anew.
  if (span.next == kNone && span.previous == kNone) return bytes;
  unlink(s);
  if (n_idle_ < sizes_.idle) {
    idle_[n_idle_++] = s;
  } else {
    return_pages(s);
  }
  return bytes;
}

size_t Spans::release() noexcept {
  size_t bytes = 0;
  while (n_idle_) bytes += return_pages(idle_[--n_idle_]);
  for (size_t number = 0; number < kSizes; ++number)
    for (Number s = with_room_[number], next; s != kNone; s = next) {
      next = all_[s].next;
      if (all_[s].used) continue;
      unlink(s);
      bytes += return_pages(s);
    }
  return bytes;
}

size_t Spans::release_idle(size_t bytes) noexcept {
  size_t n = 0, given = 0;
  while (n < n_idle_ && given < bytes) given += return_pages(idle_[n++]);
  std::copy(idle_.begin() + n, idle_.begin() + n_idle_, idle_.begin());
  n_idle_ -= n;
  return given;
}

size_t Spans::return_pages(Number s) noexcept {
  madvise(begin_of(s), sizes_.span, MADV_DONTNEED);
  empty_[n_empty_++] = s;
  Span& span = all_[s];
  return std::max(std::exchange(span.touched, 0), std::exchange(span.fresh, 0));
}

void Spans::link(Number s) noexcept {
  Span& span = all_[s];
  span.previous = kNone;
  span.next = with_room_[span.size];
  if (span.next != kNone) all_[span.next].previous = s;
  with_room_[span.size] = s;
}

void Spans::unlink(Number s) noexcept {
  Span& span = all_[s];
  if (span.previous != kNone) {
    all_[span.previous].next = span.next;
  } else {
    with_room_[span.size] = span.next;
  }
  if (span.next != kNone) all_[span.next].previous = span.previous;
  span.next = span.previous = kNone;
}

}  // namespace cg::memory
