// While a CUDA graph is captured, what is launched is written down and repeated later; what the host computes meanwhile
// is not. Functions that draw numbers on the host say so, instead of giving the same numbers at each repetition.
#pragma once
#include <c10/util/Exception.h>

namespace cg::kernels {

// Whether this thread captures. Set by the Python side.
extern thread_local bool capturing;

inline void draws_on_host(const char* function) {
  TORCH_CHECK_NOT_IMPLEMENTED(!capturing, function,
                              ": its random numbers come from a generator on the host, so a CUDA graph would repeat "
                              "those it was captured with; keep it outside of what is captured");
}

}  // namespace cg::kernels
