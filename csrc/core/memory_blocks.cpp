#include "core/memory_blocks.h"

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <new>

namespace cg::memory {
namespace {

constexpr size_t kHugePage = size_t(1) << 21;
// From this size on a block consists of huge pages, which the system clears faster and processors find faster.
constexpr size_t kFromHuge = 2 * kHugePage;
// After so many blocks or seconds the peak of the blocks in use is taken anew. What a program needs again only after a
// longer time is cheap in comparison with that time.
constexpr size_t kWindow = 4096;
constexpr long kSeconds = 10;

char* from_system(size_t bytes) {
  const size_t spare = bytes >= kFromHuge ? kHugePage : 0;
  void* const memory = mmap(nullptr, bytes + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  char* const begin = static_cast<char*>(memory);
  if (!spare) return begin;
  char* const aligned = begin + (kHugePage - reinterpret_cast<size_t>(begin) % kHugePage) % kHugePage;
  if (aligned != begin) munmap(begin, aligned - begin);
  if (const size_t after = spare - (aligned - begin)) munmap(aligned + bytes, after);
#ifdef MADV_HUGEPAGE
  madvise(aligned, bytes, MADV_HUGEPAGE);
#endif
  return aligned;
}
void to_system(char* place, size_t bytes) {
  // The system refuses if it would have to note too many holes between pages, but takes what is in the pages.
  if (munmap(place, bytes) != 0) madvise(place, bytes, MADV_DONTNEED);
}

long now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec;
}

}  // namespace

Blocks::Blocks() : page_(sysconf(_SC_PAGESIZE)), most_kept_(most_kept()), begun_(now()) {}

void* Blocks::take(size_t wanted) noexcept {
  const size_t bytes = (wanted + page_ - 1) / page_ * page_;
  begin_window();
  if (const auto found = by_size_.lower_bound({bytes, nullptr}); found != by_size_.end()) {
    const auto [size, place] = *found;
    remove(place, size);
    if (size > bytes) insert(place + bytes, size - bytes);
    return lend(place, bytes) ? place : nullptr;
  }
  if (used_ + bytes <= peak()) missed_ += bytes;
  shrink(std::max(most(), used_ + bytes), bytes);
  char* place = from_system(bytes);
  if (!place && kept_) {
    release();
    place = from_system(bytes);
  }
  return place && lend(place, bytes) ? place : nullptr;
}

size_t Blocks::give(void* block) noexcept {
  const auto found = lent_.find(block);
  const size_t given = found->second;
  size_t bytes = given;
  lent_.erase(found);
  used_ -= bytes;
  char* place = static_cast<char*>(block);
  auto next = by_place_.lower_bound(place);
  if (next != by_place_.end() && next->first == place + bytes) {
    bytes += next->second;
    remove(next->first, next->second);
  }
  next = by_place_.lower_bound(place);
  if (next != by_place_.begin()) {
    const auto [before, size] = *std::prev(next);
    if (before + size == place) {
      remove(before, size);
      place = before;
      bytes += size;
    }
  }
  insert(place, bytes);
  shrink(most(), 0);
  return given;
}

size_t Blocks::release() noexcept {
  const size_t before = kept_;
  while (!by_place_.empty()) drop(by_place_.begin()->first, by_place_.begin()->second, 0);
  return before;
}

size_t Blocks::peak() const { return std::max(this_peak_, last_peak_); }

// How large the blocks in use and the pages that are kept may be together. At first less than the peak, because memory
// that comes from elsewhere (oneDNN's for a convolution, pages of code) has its peak at another time. If a program then
// gets as much as its peak from the system again, it repeats itself, and may keep more, the more it still misses; with
// sizes that vary, half as much as the peak, which the C library needs for them, too.
size_t Blocks::most() const {
  const size_t slack = missed_ > peak() ? (missed_ - peak()) / 8 : 0;
  return peak() - peak() / 16 + std::min(slack, peak() / 2);
}

void Blocks::begin_window() {
  const long second = now();
  if (++handed_ < kWindow && second - begun_ < kSeconds) return;
  handed_ = 0;
  begun_ = second;
  last_peak_ = std::exchange(this_peak_, used_);
  most_kept_ = most_kept();  // a program can lower its limits
  shrink(most(), 0);
}

// Notes a block that is in use; false, and the block is gone, if there is no memory for the note.
bool Blocks::lend(char* place, size_t bytes) {
  try {
    lent_.emplace(place, bytes);
  } catch (const std::bad_alloc&) {
    to_system(place, bytes);
    return false;
  }
  used_ += bytes;
  if (used_ > peak()) grown_ += used_ - peak();
  this_peak_ = std::max(this_peak_, used_);
  return true;
}

// Returns pages, those of the shortest rows first, until all pages and `more` bytes are at most `most` bytes.
void Blocks::shrink(size_t most, size_t more) {
  while (!by_size_.empty()) {
    const size_t all = used_ + kept_ + more;
    const size_t over = std::max(all > most ? all - most : 0, kept_ > most_kept_ ? kept_ - most_kept_ : 0);
    if (!over) return;
    const auto [size, place] = *by_size_.begin();
    drop(place, size, size > over ? size - over : 0);
  }
}

// Returns a row of pages to the system, but for its first `rest` bytes.
void Blocks::drop(char* place, size_t bytes, size_t rest) {
  rest = rest / page_ * page_;
  to_system(place + rest, bytes - rest);
  remove(place, bytes);
  if (rest) insert(place, rest);
}

// Notes a row of pages that are kept; without memory for the note they go back.
void Blocks::insert(char* place, size_t bytes) {
  try {
    const auto noted = by_place_.emplace(place, bytes).first;
    try {
      by_size_.emplace(bytes, place);
    } catch (const std::bad_alloc&) {
      by_place_.erase(noted);
      throw;
    }
    kept_ += bytes;
  } catch (const std::bad_alloc&) {
    to_system(place, bytes);
  }
}

void Blocks::remove(char* place, size_t bytes) {
  by_place_.erase(place);
  by_size_.erase({bytes, place});
  kept_ -= bytes;
}

}  // namespace cg::memory
