// Attention of short sequences on processors with AVX-512: the scores of 32 rows of q lie transposed in the level-1 or
// level-2 cache, one row in each lane, so that softmax needs no sums across lanes.
#pragma once
#include "kernels/attention.h"

namespace cg::kernels {

// Whether the processor has the instructions, and n rows of q with m of k are such that this is fast.
bool attention_in_lanes(int64_t n, int64_t m);
// Whether attention_heads computes such an attention, which takes less time than by blocks.
bool attention_heads_fit(const Attention<float>& s);
void attention_heads(const Attention<float>& s, float* y);

}  // namespace cg::kernels
