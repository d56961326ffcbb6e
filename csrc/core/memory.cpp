#include "core/memory.h"

#include <c10/core/CPUAllocator.h>
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <unordered_map>

namespace cg::memory {
namespace {

constexpr size_t kPage = size_t(1) << 12, kHuge = size_t(1) << 21;
// Smaller blocks cost the C library little; larger ones would be too much to keep from other programs.
constexpr size_t kLeast = size_t(1) << 18, kMost = size_t(1) << 28, kMostKept = size_t(1) << 30;
// From this size on a block consists of huge pages, which the system clears faster and processors find faster.
constexpr size_t kFromHuge = 2 * kHuge;
// The number of blocks handed out after which the peak of the blocks in use is taken anew.
constexpr size_t kWindow = 4096;

void* from_system(size_t bytes) {
  const size_t spare = bytes >= kFromHuge ? kHuge : 0;
  void* const memory = mmap(nullptr, bytes + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  if (!spare) return memory;
  char* const begin = static_cast<char*>(memory);
  char* const aligned = begin + (kHuge - reinterpret_cast<size_t>(begin) % kHuge) % kHuge;
  if (aligned != begin) munmap(begin, aligned - begin);
  if (const size_t after = spare - (aligned - begin)) munmap(aligned + bytes, after);
  madvise(aligned, bytes, MADV_HUGEPAGE);
  return aligned;
}

class Blocks {
 public:
  std::mutex lock;

  // Null if the system has no memory.
  void* take(size_t wanted) {
    const size_t bytes = (wanted + kPage - 1) / kPage * kPage;
    begin_window();
    auto found = kept_.lower_bound({bytes, 0});
    if (found != kept_.end() && found->first.first <= bytes + bytes / 8) {
      void* const block = found->second;
      lend(block, found->first.first);
      amounts_.kept -= found->first.first;
      kept_.erase(found);
      return block;
    }
    if (size_t& times = dropped_[bytes]) {
      --times;
      slack_ += bytes;
    }
    shrink(std::max(most(), amounts_.used + bytes), bytes);
    void* block = from_system(bytes);
    if (!block && amounts_.kept) {
      release();
      block = from_system(bytes);
    }
    if (block) lend(block, bytes);
    return block;
  }
  // Whether the block is one of these.
  bool give(void* block) {
    const auto found = lent_.find(block);
    if (found == lent_.end()) return false;
    const size_t bytes = found->second;
    lent_.erase(found);
    amounts_.used -= bytes;
    amounts_.kept += bytes;
    kept_.emplace(Key{bytes, --newest_}, block);
    shrink(most(), 0);
    return true;
  }
  size_t release() {
    const size_t before = amounts_.kept;
    while (!kept_.empty()) drop(kept_.begin());
    return before;
  }
  Amounts amounts() const { return amounts_; }

 private:
  // Bytes, and a number that is smaller the later the block came: the newest of a size, which caches still hold, is
  // found first.
  using Key = std::pair<size_t, uint64_t>;
  using Kept = std::map<Key, void*>;

  // How large the blocks in use and those that are kept may be together.
  size_t most() const {
    const size_t peak = std::max(this_peak_, last_peak_);
    return peak + std::min(slack_, peak / 4);
  }
  void begin_window() {
    if (++handed_ % kWindow) return;
    last_peak_ = std::exchange(this_peak_, amounts_.used);
    dropped_.clear();
    shrink(most(), 0);
  }
  void lend(void* block, size_t bytes) {
    lent_.emplace(block, bytes);
    amounts_.used += bytes;
    this_peak_ = std::max(this_peak_, amounts_.used);
  }
  // Returns the oldest blocks until all of them and `more` bytes are at most `most` bytes.
  void shrink(size_t most, size_t more) {
    while (!kept_.empty() && (amounts_.used + amounts_.kept + more > most || amounts_.kept > kMostKept))
      drop(std::max_element(kept_.begin(), kept_.end(),
                            [](const auto& a, const auto& b) { return a.first.second < b.first.second; }));
  }
  void drop(Kept::iterator block) {
    munmap(block->second, block->first.first);
    amounts_.kept -= block->first.first;
    ++dropped_[block->first.first];
    kept_.erase(block);
  }

  Kept kept_;
  std::unordered_map<void*, size_t> lent_;
  Amounts amounts_{};
  size_t this_peak_ = 0, last_peak_ = 0, handed_ = 0;  // peaks of the blocks in use, in this window and the last one
  // Sizes of blocks that were returned in this window, with their numbers. If such a size is wanted again, the next
  // steps may keep so much more: a step has a peak of some sizes, and another peak of others.
  std::unordered_map<size_t, size_t> dropped_;
  size_t slack_ = 0;
  uint64_t newest_ = ~uint64_t(0);
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
