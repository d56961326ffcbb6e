// Work that threads take as they are free. Cores are not equally fast: where two belong to a virtual machine, another
// one can make either of them take 1.5 times as long for some seconds, and a thread with a fixed half would be waited
// for.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "kernels/threads.h"

namespace cg::kernels {

// Consecutive items for each thread, of which it takes pieces from the front, so that it reads memory in order. A
// thread that has none left takes pieces from the end of another one's items.
class Shares {
 public:
  // What a thread does next, [begin, end), and where the items end that it is likely to do after that.
  struct Piece {
    int64_t begin, end, follow;
  };

  // Of n items, fewer than 2^31, in pieces of at most `most`, which become smaller towards the end.
  Shares(int64_t n, int64_t threads, int64_t most) : count_(std::min(threads, kShares)), most_(most) {
    const int64_t each = (n + count_ - 1) / count_;
    for (int64_t i = 0; i < count_; ++i) shares_[i].items = word(std::min(n, i * each), std::min(n, (i + 1) * each));
  }

  // The next piece of a thread; false: nothing is left.
  bool next(int64_t thread, Piece& piece) {
    for (int64_t i = 0; i < count_; ++i)
      if (take(shares_[(thread + i) % count_].items, i == 0 && thread < count_, piece)) return true;
    return false;
  }

 private:
  struct alignas(64) Share {  // a cache line of its own
    std::atomic<uint64_t> items{0};
  };
  static uint64_t word(int64_t begin, int64_t end) { return static_cast<uint64_t>(begin) << 32 | end; }
  bool take(std::atomic<uint64_t>& items, bool own, Piece& piece) const {
    uint64_t now = items.load(std::memory_order_relaxed);
    for (;;) {
      const int64_t begin = now >> 32, end = now & 0xffffffff, n = std::min(most_, (end - begin + 1) / 2);
      if (n == 0) return false;
      piece = own ? Piece{begin, begin + n, end} : Piece{end - n, end, end};
      // No memory but the word itself is passed from thread to thread: the results meet when all threads have ended.
      if (items.compare_exchange_weak(now, own ? word(begin + n, end) : word(begin, end - n),
                                      std::memory_order_relaxed))
        return true;
    }
  }

  static constexpr int64_t kShares = 64;  // threads beyond this number only take from others
  const int64_t count_, most_;
  std::array<Share, kShares> shares_;  // not from the heap: callers compute even if there is no memory
};

// Calls f(next) in each thread; next(piece) gives the thread's next Shares::Piece of [0, n), or false. `least`: items
// from which on another thread saves time; `most`: items of a piece, unless there is one thread, which gets them all.
// What f computes for an item must not depend on the piece.
template <class F>
void on_demand(int64_t n, int64_t least, int64_t most, F&& f) {
  const int64_t threads = std::min(most_threads(), (n + least - 1) / least);
  if (threads <= 1) {
    bool given = n <= 0;
    return f([&](Shares::Piece& piece) {
      piece = {0, n, n};
      return !std::exchange(given, true);
    });
  }
  Shares shares(n, threads, most);
  in_threads(threads, 1,
             [&](int64_t thread, int64_t) { f([&](Shares::Piece& piece) { return shares.next(thread, piece); }); });
}

}  // namespace cg::kernels
