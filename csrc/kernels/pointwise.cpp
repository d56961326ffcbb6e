#include "kernels/pointwise.h"

#include "kernels/pointwise_loops.h"
#include "kernels/threads.h"

namespace cg::kernels {
namespace {

using columns::kWidth, lanes::L, lanes::vectors;
using Columns = columns::Task;

#define CG_POINTWISE_LOOP(name) \
  CG_LANES void name##_loop(const Columns& t, int64_t i) { columns::name(t, i); }
CG_POINTWISE_LOOP(panel)
CG_POINTWISE_LOOP(multiply)
CG_POINTWISE_LOOP(transpose_image)
CG_POINTWISE_LOOP(transpose_map)
CG_POINTWISE_LOOP(multiply_gradient)
#undef CG_POINTWISE_LOOP

// How many columns are rearranged at once, so that they stay in a cache while they are multiplied. Each part reads the
// filters again, so parts are larger where the filters are.
int64_t at_once(const Pointwise& s) {
  constexpr int64_t kLeast = 32 << 10, kMost = 512 << 10, kUnit = L * kWidth;
  constexpr int64_t kSize = static_cast<int64_t>(sizeof(float));
  const int64_t bytes = std::clamp(s.depth() * s.out * kSize / 2, kLeast, kMost);
  const int64_t units = std::max<int64_t>(bytes / (s.depth() * kUnit * kSize), 1);
  return std::min(units, (s.columns() + kUnit - 1) / kUnit) * kUnit;
}
// The same for the gradient of the filters.
int64_t depth_at_once(const Pointwise& s) {
  constexpr int64_t kLeast = 256, kMost = 2048, kFloats = 1 << 16;
  const int64_t depth = std::clamp(kFloats / (vectors(s.depth()) * L), kLeast, kMost) / L;
  return std::min(depth, vectors(s.columns())) * L;
}
template <class F>
void each_part(Columns t, int64_t step, F&& f) {
  const int64_t end = t.last;
  for (; t.first < end; t.first = t.last) {
    t.last = std::min(t.first + step, end);
    f(static_cast<const Columns&>(t));
  }
}

// A block of columns of filters that are turned is spread over memory, and more than kDepth of its pieces would not
// stay in a cache until the next block reads the same cache lines.
template <class F>
void each_depth(Columns t, F&& f) {
  constexpr int64_t kDepth = 256;
  const int64_t step = t.turned ? kDepth : t.s.in;
  for (t.top = 0; t.top < t.s.in; t.top = t.bottom) {
    t.bottom = std::min(t.top + step, t.s.in);
    f(static_cast<const Columns&>(t));
  }
}

}  // namespace

// With fewer channels or columns most of a vector or a block would be empty.
bool pointwise_fits(const Pointwise& s) {
  constexpr int64_t kColumns = columns::L + 1;
  if (s.taps < 1 || s.taps > kMostTaps || s.image < 1) return false;
  return lanes::available() && s.in >= columns::kRows && s.out >= columns::kRows && s.columns() >= kColumns;
}

int64_t pointwise_memory(const Pointwise& s) { return s.depth() * at_once(s); }
int64_t pointwise_grad_w_memory(const Pointwise& s) {
  const int64_t maps = s.places % L ? vectors(s.out) : 0;
  return (vectors(s.depth()) + maps) * L * depth_at_once(s);
}

void pointwise(const Pointwise& s, const float* x, const float* w, bool turned, const float* bias, float* y,
               float* memory, int64_t threads) {
  Columns t{s};
  t.x = x, t.w = w, t.turned = turned, t.bias = bias, t.y = y, t.panels = memory, t.last = s.columns();
  const int64_t step = at_once(s), parts = (s.columns() + step - 1) / step;
  if (threads > 1 && parts < threads)
    return each_part(t, step, [&](const Columns& part) {
      each_item(part.panel_count(), part, panel_loop);
      each_depth(part,
                 [](const Columns& some) { each_item(some.row_blocks() * some.panel_count(), some, multiply_loop); });
    });
  // Each share has memory of its own, however many threads there are.
  const int64_t shares = std::min(threads, parts);
  in_threads(shares, 1, [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) {
      Columns some = t;
      some.panels += i * pointwise_memory(s);
      some.first = parts * i / shares * step, some.last = std::min(parts * (i + 1) / shares * step, s.columns());
      each_part(some, step, [](const Columns& part) {
        for (int64_t i = 0; i < part.panel_count(); ++i) panel_loop(part, i);
        each_depth(part, [](const Columns& some) {
          for (int64_t i = 0; i < some.row_blocks() * some.panel_count(); ++i) multiply_loop(some, i);
        });
      });
    }
  });
}

void pointwise_grad_w(const Pointwise& s, const float* x, const float* gy, float* gw, float* memory) {
  Columns t{s};
  const int64_t step = depth_at_once(s), blocks = vectors(s.depth());
  t.x = x, t.gy = gy, t.gw = gw, t.panels = memory, t.maps = memory + blocks * L * step;
  t.last = s.columns();
  each_part(t, step, [&](const Columns& part) {
    each_item(blocks, part, transpose_image_loop);
    if (!part.direct()) each_item(vectors(s.out), part, transpose_map_loop);
    each_item((blocks + kWidth - 1) / kWidth * part.row_blocks(), part, multiply_gradient_loop);
  });
}

}  // namespace cg::kernels
