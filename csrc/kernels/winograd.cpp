#include "kernels/winograd.h"

#include "kernels/threads.h"
#include "kernels/winograd_loops.h"

namespace cg::kernels {
namespace {

using tiles::Task;

constexpr int64_t kTiles = 14;  // that are multiplied at a time

using Loop = void (*)(const Task&, int64_t item);
// An item is a piece of a block of 16 channels of the images or of the result, two blocks of a filter's channels, or a
// place and a pair of blocks.
struct Loops {
  Loop filters, image, map, result, filter_grad, multiply, multiply_gradient;
};
int64_t products(const Task& t) { return tiles::kPlaces * ((t.right - t.left + 1) / 2); }
int64_t filter_items(const Task& t) { return (t.right - t.left) * tiles::blocks(t.s.in); }
int64_t image_items(const Task& t) { return tiles::blocks(t.s.in) * t.pieces(t.s.in); }
int64_t map_items(const Task& t) { return (t.right - t.left) * t.pieces(t.group_channels()); }

#if CG_HAS_LANES
#define CG_AT(instructions) __attribute__((CG_VECTORIZE, target(instructions))) static void
// R tiles, or G channels, are multiplied with N blocks at a time, as many as there are registers for the sums.
#define CG_LOOPS(level, instructions, R, G, N)                                                                \
  struct level {                                                                                              \
    CG_AT(instructions) filters(const Task& t, int64_t i) { tiles::filters(t, i); }                           \
    CG_AT(instructions) image(const Task& t, int64_t i) { tiles::image(t, i); }                               \
    CG_AT(instructions) map(const Task& t, int64_t i) { tiles::map(t, i); }                                   \
    CG_AT(instructions) result(const Task& t, int64_t i) { tiles::result(t, i); }                             \
    CG_AT(instructions) filter_grad(const Task& t, int64_t i) { tiles::filter_grad(t, i); }                   \
    CG_AT(instructions) multiply(const Task& t, int64_t i) { tiles::multiply<R, N>(t, i); }                   \
    CG_AT(instructions) multiply_gradient(const Task& t, int64_t i) { tiles::multiply_gradient<G, N>(t, i); } \
    static constexpr Loops loops{filters, image, map, result, filter_grad, multiply, multiply_gradient};      \
  };
CG_LOOPS(Level4, CG_KERNEL_V4, kTiles, 8, 2)
CG_LOOPS(Level3, CG_KERNEL_V3, 5, 4, 1)
const Loops* loops() { return simd_level() >= 4 ? &Level4::loops : simd_level() == 3 ? &Level3::loops : nullptr; }
#else
const Loops* loops() { return nullptr; }
#endif

constexpr int64_t kFloat = sizeof(float);
int64_t bytes(const Task& t, int64_t blocks) { return tiles::kPlaces * blocks * tiles::L * kFloat * t.columns(); }

// The batch is computed in `number` parts, so that the transformed numbers of one fit into a cache. A part has a
// multiple of `unit` rows of tiles.
struct Plan {
  int64_t number, unit, rows;  // rows: of tiles, of all images
  int64_t group;               // so many blocks of output channels have their filters and results in memory at a time
  // `whole_images`: a part has all rows of its images. `sum`: filters are summed over the parts.
  Plan(const Task& t, bool whole_images, bool sum) : unit(whole_images ? t.rows() : 1), rows(t.s.batch * t.rows()) {
    constexpr int64_t kGroup = 2 << 20, kMostParts = 2;
    const int64_t in = tiles::blocks(t.s.in), out = tiles::blocks(t.s.out);
    const int64_t of_block = tiles::kPlaces * in * tiles::L * tiles::L * kFloat, filters = of_block * out;
    group = std::min(out, std::max<int64_t>(2, kGroup / of_block / 2 * 2));
    divide_rows(t, in + group, filters / 2);  // each part transforms the filters of all groups again
    if (sum && bytes(t, in) * rows <= filters) number = 1;
    if (group < out && number <= (sum ? 1 : kMostParts)) return;
    group = out;
    divide_rows(t, in + out, filters / 4);  // large filters come from memory once for each part
  }
  void divide_rows(const Task& t, int64_t blocks, int64_t more) {
    // Each part reads the filters again, so parts are half as large where the filters are small enough for that not to
    // take time.
    constexpr int64_t kBytes = 1 << 20, kSmall = 1 << 17;
    const int64_t filters =
        tiles::kPlaces * tiles::blocks(t.s.in) * tiles::blocks(t.s.out) * tiles::L * tiles::L * kFloat;
    const int64_t units = rows / unit, count = unit * t.columns(), part = filters <= kSmall ? kBytes / 2 : kBytes;
    const int64_t least = (kTiles + count - 1) / count, most = (part + more) / (bytes(t, blocks) * unit);
    number = std::max<int64_t>(1, units / std::max(most, least));
  }
  int64_t largest() const { return (rows / unit + number - 1) / number * unit; }
  int64_t start(int64_t i) const { return rows / unit * i / number * unit; }
};
// Divides `memory`, unless it is null, for the largest part; returns how many floats that takes.
int64_t divide(Task& t, const Plan& plan, float* memory) {
  t.last = plan.largest();
  t.right = plan.group;
  const int64_t filters = tiles::kPlaces * t.filter_distance(), images = tiles::kPlaces * t.image_distance();
  if (memory) {
    t.filters = memory;
    t.images = memory + filters;
    t.maps = memory + filters + images;
  }
  return filters + images + tiles::kPlaces * t.map_distance();
}
template <class F>
void each_part(Task t, const Plan& plan, F&& f) {
  for (int64_t i = 0; i < plan.number; ++i) {
    t.first = plan.start(i);
    t.last = plan.start(i + 1);
    f(t);
  }
}
template <class F>
void each_group(Task& t, const Plan& plan, F&& f) {
  tiles::each_range(tiles::blocks(t.s.out), plan.group, t.left, t.right, f);
}

}  // namespace

// With fewer channels most of a block is empty, and so are tiles of results of one row or of 3 x 3. With few positions
// the transformation of the filters takes longest.
bool winograd_fits(const Winograd& s) {
  constexpr int64_t kChannels = 12, kPositions = 64, kLargeFilters = 1 << 17, kRow = 8 << 20;
  if (!loops() || s.in < kChannels || s.out < kChannels) return false;
  if (3 * s.in * s.out < tiles::blocks(s.in) * tiles::blocks(s.out) * tiles::L * tiles::L) return false;
  for (int64_t pad : s.pad)
    if (pad < 0 || pad > 2) return false;
  const int64_t height = s.out_height(), width = s.out_width();
  const int64_t positions = s.in * s.out < kLargeFilters ? kPositions : 2 * kPositions;
  if (height <= 0 || width <= 0 || s.batch * height * width < positions) return false;
  const Task t{{}, s};
  if (s.batch * t.rows() * t.columns() < kTiles) return false;
  if (4 * t.rows() * t.columns() * 10 > 17 * height * width) return false;
  const int64_t row = tiles::kPlaces * (s.in + s.out) * t.columns() * static_cast<int64_t>(sizeof(float));
  return row <= kRow;  // the least that is transformed at once
}

int64_t winograd_memory(const Winograd& s, bool in_place) {
  Task t{{}, s};
  return divide(t, Plan(t, in_place, false), nullptr);
}
int64_t winograd_grad_w_memory(const Winograd& s) {
  Task t{{}, s};
  return divide(t, Plan(t, false, true), nullptr);
}

void winograd(const Winograd& s, const float* x, const float* w, bool turned, const float* bias, float* y,
              float* memory) {
  const Loops& f = *loops();
  Task t{{}, s};
  const Plan plan(t, x == y, false);
  t.x = x, t.w = w, t.turned = turned, t.bias = bias, t.y = y;
  divide(t, plan, memory);
  each_part(t, plan, [&](Task& part) {
    each_item(image_items(part), part, f.image);  // reads all images of the part before results may overwrite them
    each_group(part, plan, [&] {
      const bool kept = part.first > 0 && plan.group == tiles::blocks(s.out);
      if (!kept) each_item(filter_items(part), part, f.filters);
      each_item(products(part), part, f.multiply);
      each_item(map_items(part), part, f.result);
    });
  });
}

void winograd_grad_w(const Winograd& s, const float* x, const float* gy, float* gw, float* memory) {
  const Loops& f = *loops();
  Task t{{}, s};
  const Plan plan(t, false, true);
  t.x = x, t.gy = gy, t.gw = gw;
  divide(t, plan, memory);
  each_part(t, plan, [&](Task& part) {
    each_item(image_items(part), part, f.image);
    each_group(part, plan, [&] {
      each_item(map_items(part), part, f.map);
      each_item(products(part), part, f.multiply_gradient);
      if (part.last == plan.rows) each_item(filter_items(part), part, f.filter_grad);
    });
  });
}

}  // namespace cg::kernels
