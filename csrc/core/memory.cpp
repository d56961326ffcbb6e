#include "core/memory.h"

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "core/memory_blocks.h"
#include "core/memory_spans.h"

namespace cg::memory {
namespace {

// Larger blocks would be too much to keep from other programs.
constexpr size_t kLeast = size_t(1) << 18, kMost = size_t(1) << 28;
constexpr size_t kMostSmall = 1 << 15;
constexpr Spans::Sizes kSmall{.span = 1 << 18, .room = 1 << 27, .idle = 64};
constexpr Spans::Sizes kMiddle{.span = 1 << 18, .room = 1 << 28, .idle = 256};

// Threads of a loop ask for memory at the same time. A thread that sleeps until the lock is free takes some 50 us to
// wake up; the lock is mostly held for less than one.
class Lock {
 public:
  void lock() {
    constexpr int kTries = 200;
    for (int i = 0; i < kTries; ++i) {
      if (lock_.try_lock()) return;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
    lock_.lock();
  }
  void unlock() { lock_.unlock(); }

 private:
  std::mutex lock_;
};

struct Shared {
  Lock lock;
  Blocks blocks;
  Spans small{kSmall, most_kept()}, middle{kMiddle, most_kept()};
};
// Never destroyed: tensors may be freed after static objects are.
Shared& shared() {
  static auto* const all = new Shared;
  return *all;
}
void before_fork() { shared().lock.lock(); }
void in_parent() { shared().lock.unlock(); }
// A child does not hold on to pages that its parent keeps: the parent would have to copy what it writes to them.
void in_child() {
  shared().small.release();
  shared().middle.release();
  shared().blocks.release();
  shared().lock.unlock();
}

// glibc asks the system for each large block, and returns free memory to it at once, until it sees that a program frees
// large blocks: then it keeps twice as much as such a block. It no longer sees torch's, and would make smaller tensors
// and NumPy's arrays pay.
void show_to_c_library(size_t bytes) {
  static std::atomic<size_t> largest{0};
  size_t before = largest.load(std::memory_order_relaxed);
  while (bytes > before)
    if (largest.compare_exchange_weak(before, bytes, std::memory_order_relaxed)) {
      void* volatile block = std::malloc(bytes);  // volatile: or compilers leave both calls out
      std::free(block);
      return;
    }
}

// Gives `grown` bytes of spans without blocks in use back to the system, after the large blocks in use have exceeded
// their recent peak by as much. Otherwise a program whose arrays become larger, as after a first step on one image,
// would keep the memory of its smaller arrays, too. A loop that alternates between smaller and larger arrays keeps the
// spans of both, because its large blocks exceed their recent peak only once.
void release_idle_spans(size_t grown) {
  const size_t given = shared().middle.release_idle(grown);
  if (given < grown) shared().small.release_idle(grown - given);
}

class Allocator final : public c10::Allocator {
 public:
  explicit Allocator(c10::Allocator* usual) : usual_(usual), usual_give_(usual->raw_deleter()) {}

  c10::DataPtr allocate(size_t bytes) override {
    void* block = nullptr;
    if (bytes - 1 < kMostSmall) {  // not 0
      const std::lock_guard guard(shared().lock);
      block = shared().small.take(bytes);
    } else if (bytes - 1 < kLeast - 1) {  // neither 0 nor kLeast
      const std::lock_guard guard(shared().lock);
      block = shared().middle.take(bytes);
    } else if (bytes >= kLeast && bytes <= kMost) {
      const std::lock_guard guard(shared().lock);
      block = shared().blocks.take(bytes);
      if (const size_t grown = shared().blocks.grown()) release_idle_spans(grown);
    }
    if (!block) return allocate_usual(bytes);
    c10::profiledCPUMemoryReporter().New(block, bytes);
    return {block, block, give, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return give; }
  void copy_data(void* to, const void* from, size_t bytes) const override { default_copy_data(to, from, bytes); }

  static Allocator* instance;

 private:
  c10::DataPtr allocate_usual(size_t bytes) {
    c10::DataPtr data;
    try {
      data = usual_->allocate(bytes);
    } catch (const c10::Error&) {  // what is kept may be what is missing
      if (!release()) throw;
      data = usual_->allocate(bytes);
    }
    // raw_deleter() promises the same one for all blocks
    (void)data.compare_exchange_deleter(usual_give_, give);
    return data;
  }
  static void give(void* block) {
    auto& [lock, blocks, small, middle] = shared();
    for (Spans* spans : {&small, &middle})
      if (spans->has(block)) {
        c10::profiledCPUMemoryReporter().Delete(block);
        std::unique_lock guard(lock);
        const size_t bytes = spans->give(block);
        guard.unlock();
        return spans == &middle ? show_to_c_library(bytes) : void();
      }
    if (blocks.can_begin(block)) {
      std::unique_lock guard(lock);
      if (blocks.has(block)) {
        guard.unlock();  // the profiler may run any code
        c10::profiledCPUMemoryReporter().Delete(block);
        guard.lock();
        const size_t bytes = blocks.give(block);
        guard.unlock();
        return show_to_c_library(bytes);
      }
    }
    instance->usual_give_(block);
  }
  c10::Allocator* const usual_;
  const c10::DeleterFnPtr usual_give_;
};
Allocator* Allocator::instance = nullptr;

}  // namespace

void start() {
  c10::Allocator* const usual = c10::GetCPUAllocator();
  if (Allocator::instance || usual != c10::GetDefaultCPUAllocator() || !usual->raw_deleter()) return;
  Allocator::instance = new Allocator(usual);
  pthread_atfork(before_fork, in_parent,
                 in_child);  // or a child would wait for a lock that a thread of its parent held
  c10::SetCPUAllocator(Allocator::instance, 255);
}
size_t release() {
  const std::lock_guard guard(shared().lock);
  return shared().small.release() + shared().middle.release() + shared().blocks.release();
}
Amounts amounts() {
  if (!Allocator::instance) return {};
  const std::lock_guard guard(shared().lock);
  return shared().blocks.amounts();
}

}  // namespace cg::memory
