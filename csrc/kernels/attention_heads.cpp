#include "kernels/attention_heads.h"

#include <cmath>
#include <utility>

#include "kernels/dense_loops.h"
#include "kernels/on_demand.h"
#include "kernels/workspace.h"

namespace cg::kernels {
namespace heads {

using dense_loops::Block, dense_loops::kRows, lanes::L, lanes::V;
constexpr int kLanes = 2 * L;  // rows of q at a time

// simd::exp for x <= 0 or NaN.
CG_INLINE V exp_of(const V& x) {
  V power, p;
  simd::detail::reduce_exp(x, power, p);
  const V y = power * p + power;
  return x < -87.0f ? V{} : y;
}

// Replaces each column of s (m, kLanes) by the softmax of scale s + mask. mask: of the same shape, or null.
CG_INLINE void softmax_of_columns(float* s, const float* mask, int64_t m, float scale) {
  V top[2], sum[2] = {};
  for (V& t : top) t = V{} - HUGE_VALF;
  for (int64_t j = 0; j < m; ++j)
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      float* const at = s + j * kLanes + i * L;
      V v, added = {};
      lanes::load(v, at);
      if (mask) lanes::load(added, mask + j * kLanes + i * L);
      v = v * scale + added;
      lanes::store(at, v);
      top[i] = v > top[i] ? v : top[i];
    }
  for (int64_t j = 0; j < m; ++j)
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      float* const at = s + j * kLanes + i * L;
      V v;
      lanes::load(v, at);
      v = exp_of(v - top[i]);
      lanes::store(at, v);
      sum[i] += v;
    }
  for (V& t : sum) t = 1.0f / t;
  for (int64_t j = 0; j < m; ++j)
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      float* const at = s + j * kLanes + i * L;
      V v;
      lanes::load(v, at);
      v *= sum[i];
      lanes::store(at, v);
    }
}

#define CG_HEADS_LOOP CG_LANES __attribute__((noinline)) void
CG_HEADS_LOOP softmax_loop(float* s, const float* mask, int64_t m, float scale) {
  softmax_of_columns(s, mask, m, scale);
}
CG_HEADS_LOOP product_3(const Block& t) { dense_loops::multiply<kRows, 3, kLanes>(t); }
CG_HEADS_LOOP product_2(const Block& t) { dense_loops::multiply<kRows, 2, kLanes>(t); }
CG_HEADS_LOOP product_1(const Block& t) { dense_loops::multiply<kRows, 1, kLanes>(t); }
#undef CG_HEADS_LOOP

namespace {

// Copies kLanes rows of x, or as many as there are, to the lanes of `to` (columns, kLanes).
void to_lanes(const float* x, int64_t pitch, int64_t rows, int64_t columns, float* to) {
  for (int i = 0; i < 2; ++i) {
    const int here = static_cast<int>(std::clamp<int64_t>(rows - i * L, 0, L));
    dense_loops::transpose_rows(x + i * L * pitch, pitch, here, columns, to + i * L, kLanes);
  }
}

// The memory of a thread, and what it computes.
class Lanes {
 public:
  explicit Lanes(const Attention<float>& s)
      : s_(s),
        memory_(numbers(s), false),
        q_(memory_.get()),
        scores_(q_ + s.d * kLanes),
        v_(scores_ + s.m * kLanes),
        y_(v_ + s.m * s.e),
        masks_(y_ + kRows * s.e),
        seen_(tiles_of(s)) {}

  void compute(const Attention<float>::Head& head, int64_t tile, float* y) {
    const int64_t first = tile * kLanes, rows = std::min<int64_t>(kLanes, s_.n - first);
    to_lanes(head.q + first * s_.q_row, s_.q_row, rows, s_.d, q_);
    for (int64_t j = 0; j < s_.m; j += kRows) {
      const int64_t here = std::min(j, s_.m - kRows);
      dense_loops::multiply_rows(2, {head.k + here * s_.k_row, s_.k_row, q_, kLanes, s_.d, nullptr,
                                     scores_ + here * kLanes, kLanes, false, nullptr});
    }
    softmax_loop(scores_, mask(head, tile, rows), s_.m, s_.scale);
    const float* const v = values(head);
    for (int64_t r = 0; r < rows; r += kRows) {
      if (r + kRows <= rows) {
        product(v, r, y + r * s_.e);
      } else {
        product(v, r, y_);
        std::memcpy(y + r * s_.e, y_, (rows - r) * s_.e * sizeof(float));
      }
    }
  }
  static int64_t tiles_of(const Attention<float>& s) { return (s.n + kLanes - 1) / kLanes; }

 private:
  static int64_t numbers(const Attention<float>& s) {
    const int64_t masks = s.heads[0].mask ? tiles_of(s) : 0;
    return (s.d + s.m + masks * s.m) * kLanes + (s.m + kRows) * s.e;
  }
  // The mask in the order of the scores. Heads that follow each other mostly have the same one.
  const float* mask(const Attention<float>::Head& head, int64_t tile, int64_t rows) {
    if (!head.mask) return nullptr;
    const float* const at = head.mask + tile * kLanes * s_.mask_row;
    float* const to = masks_ + tile * kLanes * s_.m;
    if (std::exchange(seen_[tile], at) == at) return to;
    if (s_.mask_column)
      to_lanes(at, s_.mask_row, rows, s_.m, to);
    else
      for (int64_t i = 0; i < s_.m * kLanes; ++i) to[i] = i % kLanes < rows ? at[i % kLanes * s_.mask_row] : 0.0f;
    return to;
  }
  // The rows of v side by side: rows that are a multiple of a page apart would displace each other from the cache.
  const float* values(const Attention<float>::Head& head) {
    if (s_.v_row == s_.e) return head.v;
    if (std::exchange(copied_, head.v) != head.v)
      for (int64_t j = 0; j < s_.m; ++j) std::memcpy(v_ + j * s_.e, head.v + j * s_.v_row, s_.e * sizeof(float));
    return v_;
  }
  void product(const float* v, int64_t row, float* y) const {
    for (int64_t c = 0; c < s_.e;) {
      const int64_t left = (s_.e - c) / L, width = left == 4 ? 2 : std::min<int64_t>(left, 3);
      const Block t{scores_ + row, 0, v + c, s_.e, s_.m, nullptr, y + c, s_.e, false, nullptr};
      (width == 3 ? product_3 : width == 2 ? product_2 : product_1)(t);
      c += width * L;
    }
  }

  const Attention<float>& s_;
  const Workspace<float> memory_;
  float *const q_, *const scores_, *const v_, *const y_, *const masks_;
  std::vector<const float*> seen_;  // the masks of each tile that were rearranged
  const float* copied_ = nullptr;
};

}  // namespace
}  // namespace heads

bool attention_in_lanes(int64_t n, int64_t m) {
  constexpr int64_t kMost = 512;  // keys whose scores stay in a level-2 cache beside k and v
  return lanes::available() && n >= dense_loops::kRows && m >= dense_loops::kRows && m <= kMost;
}
bool attention_heads_fit(const Attention<float>& s) {
  return attention_in_lanes(s.n, s.m) && !s.causal && s.e % lanes::L == 0;
}

void attention_heads(const Attention<float>& s, float* y) {
  const int64_t count = static_cast<int64_t>(s.heads.size()), tiles = heads::Lanes::tiles_of(s);
  on_demand(count * tiles, std::max<int64_t>(1, kGrain / (s.m * (s.d + s.e))), 2 * tiles, [&](auto&& next) {
    heads::Lanes lanes(s);
    for (Shares::Piece piece; next(piece);)
      for (int64_t i = piece.begin; i < piece.end; ++i) {
        const int64_t head = i / tiles, tile = i % tiles;
        lanes.compute(s.heads[head], tile, y + (head * s.n + tile * heads::kLanes) * s.e);
      }
  });
}

}  // namespace cg::kernels
