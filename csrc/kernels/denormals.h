// Subnormal numbers, with which processors compute up to thirty times slower.
#pragma once

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace cg::kernels {

// Makes this thread treat subnormal numbers as zero, if `on` is set.
class FlushDenormals {
#if defined(__SSE__)
  static constexpr unsigned kFlush = 0x8040;  // for results and for operands
  const bool on_;
  const unsigned old_ = on_ ? _mm_getcsr() : 0;

 public:
  explicit FlushDenormals(bool on) : on_(on) {
    if (on_) _mm_setcsr(old_ | kFlush);
  }
  ~FlushDenormals() {
    if (on_) _mm_setcsr(old_);
  }
#else
 public:
  explicit FlushDenormals(bool) {}
  ~FlushDenormals() {}
#endif
};

// Makes this thread treat subnormal numbers as another thread, or this one at another time, did.
class DenormalMode {
#if defined(__SSE__)
  static constexpr unsigned kFlush = 0x8040;
  const unsigned old_ = _mm_getcsr();

 public:
  static unsigned now() { return _mm_getcsr() & kFlush; }
  explicit DenormalMode(unsigned mode) { _mm_setcsr((old_ & ~kFlush) | mode); }
  ~DenormalMode() { _mm_setcsr(old_); }
#else
 public:
  static unsigned now() { return 0; }
  explicit DenormalMode(unsigned) {}
  ~DenormalMode() {}
#endif
};

}  // namespace cg::kernels
