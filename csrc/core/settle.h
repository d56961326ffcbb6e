// Functions that wait to be computed together (core/postponed.h), as seen by code that reads values.
#pragma once

namespace cg {

extern bool postponed;  // whether functions wait; like the graph, under the interpreter lock
void compute_postponed();
// Called wherever Python or torch enters the engine, before anything is read.
inline void settle() {
  if (postponed) [[unlikely]]
    compute_postponed();
}
// The same where an error cannot be told. Without memory the functions wait on, and the next settle() tells it.
void compute_postponed_quietly() noexcept;
inline void settle_quietly() noexcept {
  if (postponed) [[unlikely]]
    compute_postponed_quietly();
}

}  // namespace cg
