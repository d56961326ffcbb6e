// Functions that wait to be computed together (core/postponed.h), and arrays whose values are computed when something
// reads them (core/unread.h), as seen by code that reads values.
#pragma once
#include <atomic>
#include <cstddef>

namespace at {
class Tensor;
}

namespace cg {

extern bool postponed;  // whether functions wait; like the graph, under the interpreter lock
void compute_postponed();
// Called wherever Python or torch enters the engine, before anything is read.
inline void settle() {
  if (postponed) [[unlikely]]
    compute_postponed();
}
// How many such arrays exist. The last holder of one may be a thread without the interpreter lock.
extern std::atomic<size_t> unread;
void compute_unread(const at::Tensor& t);  // if t is one
// Called for arrays that Python or the graph hands over, before their values are read.
inline const at::Tensor& read(const at::Tensor& t) {
  if (unread.load(std::memory_order_relaxed)) [[unlikely]]
    compute_unread(t);
  return t;
}
// Gradients that a pass has not computed because nothing has read them (core/unread.h). They are made of arrays that a
// program may write into, so they are computed before user code runs and at the end of the pass.
extern bool unread_gradients;
void compute_unread_gradients();
inline void settle_gradients() {
  if (unread_gradients) [[unlikely]]
    compute_unread_gradients();
}

// settle() and settle_gradients() where no exception may leave, such as in destructors. If they fail, for example for
// want of memory, the functions and gradients keep waiting, and the next settle() or settle_gradients() raises the
// error.
void settle_all_quietly() noexcept;
inline void settle_quietly() noexcept {
  if (postponed || unread_gradients) [[unlikely]]
    settle_all_quietly();
}

}  // namespace cg
