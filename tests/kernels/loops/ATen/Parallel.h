// What csrc/kernels/threads.cpp asks torch for, without torch.
#pragma once

namespace at {
inline int num_threads = 4;
inline int get_num_threads() { return num_threads; }
inline bool in_parallel_region() { return false; }
}  // namespace at
