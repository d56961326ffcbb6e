// Subnormal numbers, with which processors compute up to thirty times slower.
#pragma once
#include <optional>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace cg::kernels {

// Makes this thread treat subnormal numbers as another thread, or this one at another time, did.
class DenormalMode {
 public:
#if defined(__SSE__)
  static constexpr unsigned kFlush = 0x8040;  // results and operands become zero
  static unsigned now() { return _mm_getcsr() & kFlush; }
  explicit DenormalMode(unsigned mode) { _mm_setcsr((old_ & ~kFlush) | mode); }
  ~DenormalMode() { _mm_setcsr(old_); }

 private:
  const unsigned old_ = _mm_getcsr();
#else
  static constexpr unsigned kFlush = 0;
  static unsigned now() { return 0; }
  explicit DenormalMode(unsigned) {}
  ~DenormalMode() {}
#endif
};

// Makes this thread treat subnormal numbers as zero, if `on` is set.
class FlushDenormals {
  std::optional<DenormalMode> mode_;

 public:
  explicit FlushDenormals(bool on) {
    if (on) mode_.emplace(DenormalMode::kFlush);
  }
};

}  // namespace cg::kernels
