// While a CUDA graph is captured, launches are recorded to be repeated later, but computations on the host are not.
// Functions that draw random numbers on the host raise an error then, because each replay would use the same numbers.
#pragma once
#include <c10/util/Exception.h>

namespace cg::kernels {

// Whether this thread captures a CUDA graph. Set from Python.
extern thread_local bool capturing;

inline void draws_on_host(const char* function) {
  TORCH_CHECK_NOT_IMPLEMENTED(!capturing, function,
                              ": its random numbers come from a generator on the host, so a CUDA graph would repeat "
                              "those it was captured with; call it outside the captured function");
}

}  // namespace cg::kernels
