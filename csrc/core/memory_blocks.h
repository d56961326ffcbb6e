// The blocks behind core/memory.h: whole pages that tensors use, and whole pages that are kept.
#pragma once
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/memory.h"

namespace cg::memory {

// A caller holds a lock around each function. No function throws: blocks are freed in destructors, and when memory runs
// out.
class Blocks {
 public:
  Blocks();

  // Null if the system has no memory.
  void* take(size_t wanted) noexcept;
  bool has(void* block) const noexcept { return lent_.find(block) != lent_.end(); }
  // The block must be one of these; how large it is.
  size_t give(void* block) noexcept;
  size_t release() noexcept;
  // By how many bytes the blocks in use have passed their recent peak since the last call.
  size_t grown() noexcept { return std::exchange(grown_, 0); }
  Amounts amounts() const noexcept { return {used_, kept_, most_kept_}; }
  // Whether a block can begin there.
  bool can_begin(const void* place) const noexcept { return reinterpret_cast<size_t>(place) % page_ == 0; }

 private:
  size_t peak() const;
  size_t most() const;
  void begin_window();
  bool lend(char* place, size_t bytes);
  void shrink(size_t most, size_t more);
  void drop(char* place, size_t bytes, size_t rest);
  void insert(char* place, size_t bytes);
  void remove(char* place, size_t bytes);

  std::map<char*, size_t> by_place_;            // what is kept: rows of pages, none of which touches another
  std::set<std::pair<size_t, char*>> by_size_;  // the same
  std::unordered_map<void*, size_t> lent_;
  const size_t page_;
  size_t used_ = 0, kept_ = 0, most_kept_;
  size_t this_peak_ = 0, last_peak_ = 0;  // of the blocks in use, in this window and the last one
  size_t handed_ = 0;                     // blocks in this window
  long begun_;                            // when this window began, in seconds
  size_t grown_ = 0;                      // what `grown` returns next
  size_t missed_ = 0;  // bytes that came from the system although blocks in use and kept ones were more before
};

// The most that may be kept of the memory that this process may use.
size_t most_kept();

}  // namespace cg::memory
