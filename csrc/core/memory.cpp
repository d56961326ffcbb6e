#include "core/memory.h"

#include <c10/core/CPUAllocator.h>
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>

namespace cg::memory {
namespace {

constexpr size_t kPage = size_t(1) << 12, kHuge = size_t(1) << 21;
// Smaller blocks cost the C library little; larger ones would be too much to keep from other programs.
constexpr size_t kLeast = size_t(1) << 18, kMost = size_t(1) << 28, kMostKept = size_t(1) << 30;
// So much is kept whatever the peak is: a program with a single large tensor would otherwise get new pages in each
// step.
constexpr size_t kAlwaysKept = size_t(1) << 23;
// From this size on a block consists of huge pages, which the system clears faster and processors find faster.
constexpr size_t kFromHuge = 2 * kHuge;
// The number of blocks handed out after which the peak of the blocks in use is taken anew.
constexpr size_t kWindow = 4096;

char* from_system(size_t bytes) {
  const size_t spare = bytes >= kFromHuge ? kHuge : 0;
  void* const memory = mmap(nullptr, bytes + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  char* const begin = static_cast<char*>(memory);
  if (!spare) return begin;
  char* const aligned = begin + (kHuge - reinterpret_cast<size_t>(begin) % kHuge) % kHuge;
  if (aligned != begin) munmap(begin, aligned - begin);
  if (const size_t after = spare - (aligned - begin)) munmap(aligned + bytes, after);
  madvise(aligned, bytes, MADV_HUGEPAGE);
  return aligned;
}

// Whole pages. Those that are kept are divided and joined again as tensors need them.
class Blocks {
 public:
  std::mutex lock;

  // Null if the system has no memory.
  void* take(size_t wanted) {
    const size_t bytes = (wanted + kPage - 1) / kPage * kPage;
    begin_window();
    if (const auto found = by_size_.lower_bound({bytes, nullptr}); found != by_size_.end()) {
      const auto [size, place] = *found;
      remove(place, size);
      if (size > bytes) insert(place + bytes, size - bytes);
      lend(place, bytes);
      return place;
    }
    if (handed_ > kWindow && amounts_.used + bytes <= peak()) slack_ += bytes;
    shrink(std::max(most(), amounts_.used + bytes), bytes);
    char* place = from_system(bytes);
    if (!place && amounts_.kept) {
      release();
      place = from_system(bytes);
    }
    if (place) lend(place, bytes);
    return place;
  }
  // Whether the block is one of these.
  bool give(void* block) {
    const auto found = lent_.find(block);
    if (found == lent_.end()) return false;
    size_t bytes = found->second;
    lent_.erase(found);
    amounts_.used -= bytes;
    char* place = static_cast<char*>(block);
    auto next = kept_.lower_bound(place);
    if (next != kept_.end() && next->first == place + bytes) {
      bytes += next->second;
      remove(next->first, next->second);
    }
    next = kept_.lower_bound(place);
    if (next != kept_.begin()) {
      const auto [before, size] = *std::prev(next);
      if (before + size == place) {
        remove(before, size);
        place = before;
        bytes += size;
      }
    }
    insert(place, bytes);
    shrink(most(), 0);
    return true;
  }
  size_t release() {
    const size_t before = amounts_.kept;
    while (!kept_.empty()) drop(kept_.begin()->first, kept_.begin()->second, 0);
    return before;
  }
  Amounts amounts() const { return amounts_; }

 private:
  size_t peak() const { return std::max(this_peak_, last_peak_); }
  // How large the blocks in use and the pages that are kept may be together. At first less than the peak, because
  // memory that comes from elsewhere (oneDNN's for a convolution, pages of code) has its peak at another time.
  size_t most() const { return std::max(peak() - peak() / 16 + std::min(slack_, peak() / 8), kAlwaysKept); }
  void begin_window() {
    if (++handed_ % kWindow) return;
    last_peak_ = std::exchange(this_peak_, amounts_.used);
    shrink(most(), 0);
  }
  void lend(void* block, size_t bytes) {
    lent_.emplace(block, bytes);
    amounts_.used += bytes;
    this_peak_ = std::max(this_peak_, amounts_.used);
  }
  // Returns pages, those of the shortest rows first, until all pages and `more` bytes are at most `most` bytes.
  void shrink(size_t most, size_t more) {
    while (!kept_.empty()) {
      const size_t all = amounts_.used + amounts_.kept + more;
      const size_t over =
          std::max(all > most ? all - most : 0, amounts_.kept > kMostKept ? amounts_.kept - kMostKept : 0);
      if (!over) return;
      const auto [size, place] = *by_size_.begin();
      drop(place, size, size > over ? size - over : 0);
    }
  }
  // Returns a row of pages to the system, but for its first `rest` bytes.
  void drop(char* place, size_t bytes, size_t rest) {
    rest = rest / kPage * kPage;
    munmap(place + rest, bytes - rest);
    remove(place, bytes);
    if (rest) insert(place, rest);
  }
  void insert(char* place, size_t bytes) {
    kept_.emplace(place, bytes);
    by_size_.emplace(bytes, place);
    amounts_.kept += bytes;
  }
  void remove(char* place, size_t bytes) {
    kept_.erase(place);
    by_size_.erase({bytes, place});
    amounts_.kept -= bytes;
  }

  std::map<char*, size_t> kept_;
  std::set<std::pair<size_t, char*>> by_size_;  // the same
  std::unordered_map<void*, size_t> lent_;
  Amounts amounts_{};
  size_t this_peak_ = 0, last_peak_ = 0, handed_ = 0;  // peaks of the blocks in use, in this window and the last one
  // Grows by what steps that are repeated had to get from the system.
  size_t slack_ = 0;
};

// Never destroyed: tensors may be freed after static objects are.
Blocks& blocks() {
  static auto* const all = new Blocks;
  return *all;
}
void lock() { blocks().lock.lock(); }
void unlock() { blocks().lock.unlock(); }

class Allocator final : public c10::Allocator {
 public:
  explicit Allocator(c10::Allocator* usual) : usual_(usual) {}
  c10::DataPtr allocate(size_t bytes) override {
    if (bytes < kLeast || bytes > kMost) return usual_->allocate(bytes);
    void* block;
    {
      const std::lock_guard guard(blocks().lock);
      block = blocks().take(bytes);
    }
    if (!block) return usual_->allocate(bytes);  // which says what is missing
    c10::profiledCPUMemoryReporter().New(block, bytes);
    return {block, block, give, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return give_any; }
  void copy_data(void* to, const void* from, size_t bytes) const override { default_copy_data(to, from, bytes); }

  static Allocator* instance;

 private:
  static void give(void* block) {
    c10::profiledCPUMemoryReporter().Delete(block);
    const std::lock_guard guard(blocks().lock);
    blocks().give(block);
  }
  static void give_any(void* block) {
    {
      const std::lock_guard guard(blocks().lock);
      if (blocks().give(block)) return c10::profiledCPUMemoryReporter().Delete(block);
    }
    instance->usual_->raw_deallocate(block);
  }
  c10::Allocator* const usual_;
};
Allocator* Allocator::instance = nullptr;

}  // namespace

void start() {
  if (Allocator::instance) return;
  Allocator::instance = new Allocator(c10::GetCPUAllocator());
  pthread_atfork(lock, unlock, unlock);  // or a child would wait for a lock that a thread of its parent held
  c10::SetCPUAllocator(Allocator::instance, 255);
}
size_t release() {
  const std::lock_guard guard(blocks().lock);
  return blocks().release();
}
Amounts amounts() {
  const std::lock_guard guard(blocks().lock);
  return blocks().amounts();
}

}  // namespace cg::memory
