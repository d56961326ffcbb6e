#include "kernels/steps.h"

#include "kernels/steps_loops.h"
#include "kernels/threads.h"

namespace cg::kernels::steps {
namespace {

using Loop = void (*)(const Task&, int64_t item);
// The loops that multiply `tiles` tiles at a time.
struct Products {
  int64_t tiles;
  Loop image, map;
};
struct Loops {
  Loop filters, filter_grads, image, map, image_result, map_result, multiply_filters;
  Products products[3];
};

#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__)
#define CG_LOOP(name, ...)                                                                                     \
  __attribute__((optimize("O3", "no-math-errno", "no-trapping-math"), target(CG_KERNEL_V4))) void name##_loop( \
      const Task& t, int64_t i) {                                                                              \
    __VA_ARGS__(t, i);                                                                                         \
  }
CG_LOOP(filters, filters)
CG_LOOP(filter_grads, filter_grads)
CG_LOOP(image, image)
CG_LOOP(map, map)
CG_LOOP(image_result, image_result)
CG_LOOP(map_result, map_result)
CG_LOOP(multiply_filters, multiply_filters<8, 2>)
CG_LOOP(image_8, multiply_image<8, 2>)
CG_LOOP(image_13, multiply_image<13, 2>)
CG_LOOP(image_14, multiply_image<14, 2>)
CG_LOOP(map_8, multiply_map<8, 2>)
CG_LOOP(map_13, multiply_map<13, 2>)
CG_LOOP(map_14, multiply_map<14, 2>)
#undef CG_LOOP
constexpr Loops kLoops{
    filters_loop,
    filter_grads_loop,
    image_loop,
    map_loop,
    image_result_loop,
    map_result_loop,
    multiply_filters_loop,
    {{14, image_14_loop, map_14_loop}, {13, image_13_loop, map_13_loop}, {8, image_8_loop, map_8_loop}}};
// With AVX2 oneDNN is faster: a transformed tile does not fit into the registers.
const Loops* loops() { return simd_level() >= 4 ? &kLoops : nullptr; }
#else
const Loops* loops() { return nullptr; }
#endif

int64_t rounded(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }
// The loops that compute the fewest tiles beyond the `n` that are wanted.
const Products& products_of(int64_t n) {
  const Products* best = &loops()->products[0];
  for (const Products& p : loops()->products)
    if (rounded(n, p.tiles) < rounded(n, best->tiles)) best = &p;
  return *best;
}

// What is computed at a time, so that it stays in the caches of a core. The times hardly depend on it: for DCGAN's
// layers they vary by a tenth from a quarter of these tiles to four times as many.
struct Plan {
  int64_t parts, rows;   // parts of the batch, and rows of tiles of the largest
  int64_t chunk, group;  // blocks of the channels that are summed, and of those of the result
  Plan(const Task& t, Sought sought, int64_t threads) {
    struct Most {
      int64_t tiles, blocks;
    };
    constexpr Most kMap{96, 4}, kImageMost{256, 8}, kFilters{1024, 16};
    const Most most = sought == Sought::map ? kMap : sought == Sought::image ? kImageMost : kFilters;
    const int64_t all = t.s.batch * t.rows();
    chunk = std::min(tiles::blocks(t.in), most.blocks);
    group = std::min<int64_t>(tiles::blocks(t.out), 2 * threads);
    parts = std::clamp<int64_t>(all * t.columns() / most.tiles, 1, all);
    rows = (all + parts - 1) / parts;
  }
};
Task task_of(const Steps& s, Sought sought) {
  Task t{{}, s};
  const bool image = sought == Sought::image;
  t.in = image ? s.map_channels : s.image_channels;
  t.out = image ? s.image_channels : s.map_channels;
  t.next_in = (image ? s.image_channels : 1) * 16;
  t.next_out = (image ? 1 : s.image_channels) * 16;
  return t;
}
void count_tiles(Task& t, const Plan& plan, Sought sought) {
  t.count = sought == Sought::filters ? t.tiles() : rounded(t.tiles(), products_of(t.tiles()).tiles);
  t.image_blocks = sought == Sought::image ? plan.group : tiles::blocks(t.s.image_channels);
  t.map_blocks = tiles::blocks(t.s.map_channels);
}
// Gives `to` its parts of `memory`, unless that is null; returns how many floats the parts take.
int64_t divide(Task t, const Plan& plan, Sought sought, float* memory, Task* to) {
  t.last = plan.rows;
  t.right = plan.group, t.bottom = plan.chunk;
  count_tiles(t, plan, sought);
  // a smaller part may be rounded up to more tiles
  t.count += loops()->products[0].tiles;
  const int64_t filters = kImage * t.filter_distance(), images = kImage * t.image_distance();
  const int64_t maps = kMap * t.map_distance();
  if (memory) {
    to->filters = memory;
    to->images = memory + filters;
    to->maps = to->images + images;
    to->carry = to->maps + maps;
  }
  const int64_t carry = sought == Sought::image ? tiles::blocks(t.out) * 2 * t.strip_width() * tiles::L : 0;
  return filters + images + maps + carry;
}
void each(int64_t n, const Task& t, Loop f) {
  in_threads(n, 1, [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) f(t, i);
  });
}
template <class F>
void each_part(Task t, const Plan& plan, Sought sought, F&& f) {
  const int64_t all = t.s.batch * t.rows();
  for (int64_t i = 0; i < plan.parts; ++i) {
    t.first = all * i / plan.parts;
    t.last = all * (i + 1) / plan.parts;
    count_tiles(t, plan, sought);
    f(t);
  }
}
template <class F>
void each_group(Task& t, const Plan& plan, F&& f) {
  const int64_t out = tiles::blocks(t.out);
  for (t.left = 0; t.left < out; t.left = t.right) {
    t.right = std::min(out, t.left + plan.group);
    f();
  }
}
template <class F>
void each_chunk(Task& t, const Plan& plan, F&& f) {
  const int64_t in = tiles::blocks(t.in);
  for (t.top = 0; t.top < in; t.top = t.bottom) {
    t.bottom = std::min(in, t.top + plan.chunk);
    f();
  }
}
int64_t pairs(const Task& t) { return (t.right - t.left + 1) / 2; }
int64_t filter_items(const Task& t) { return (t.right - t.left) * (t.bottom - t.top); }

// With fewer channels most of a block would be empty. With few places the transformation of the filters takes longest.
bool fit(const Steps& s, Sought sought) {
  constexpr int64_t kPlaces = 32, kTiles = 8;
  if (!loops()) return false;
  const int64_t least = sought == Sought::image ? tiles::L / 2 : tiles::L;
  if (s.image_channels < least || s.map_channels < least || s.batch * s.map[0] * s.map[1] < kPlaces) return false;
  const Task t = task_of(s, sought);
  return s.batch * t.rows() * t.columns() >= kTiles;
}
int64_t memory_of(const Steps& s, Sought sought, int64_t threads) {
  const Task t = task_of(s, sought);
  return divide(t, Plan(t, sought, threads), sought, nullptr, nullptr);
}
void compute_map(const Steps& s, const float* image, const float* w, const float* bias, float* map, float* memory,
                 int64_t threads) {
  const Loops& f = *loops();
  Task t = task_of(s, Sought::map);
  const Plan plan(t, Sought::map, threads);
  t.image = image, t.w = w, t.bias = bias, t.y = map;
  divide(t, plan, Sought::map, memory, &t);
  each_part(t, plan, Sought::map, [&](Task& part) {
    const Products& products = products_of(part.tiles());
    each(tiles::blocks(s.image_channels) * part.pieces(s.image_channels), part, f.image);
    each_chunk(part, plan, [&] {
      each_group(part, plan, [&] {
        each(filter_items(part), part, f.filters);
        each(kMap * pairs(part), part, products.map);
      });
    });
    each(tiles::blocks(s.map_channels) * part.pieces(s.map_channels), part, f.map_result);
  });
}

void compute_image(const Steps& s, const float* map, const float* w, const float* bias, float* image, float* memory,
                   int64_t threads) {
  const Loops& f = *loops();
  Task t = task_of(s, Sought::image);
  const Plan plan(t, Sought::image, threads);
  t.map = map, t.w = w, t.bias = bias, t.y = image;
  divide(t, plan, Sought::image, memory, &t);
  each_part(t, plan, Sought::image, [&](Task& part) {
    const Products& products = products_of(part.tiles());
    each(tiles::blocks(s.map_channels) * part.pieces(s.map_channels), part, f.map);
    each_group(part, plan, [&] {
      part.images_from = part.left;
      each_chunk(part, plan, [&] {
        each(filter_items(part), part, f.filters);
        each(kImage * pairs(part), part, products.image);
      });
      each(part.right - part.left, part, f.image_result);
    });
  });
}

void compute_filters(const Steps& s, const float* image, const float* map, float* gw, float* memory, int64_t threads) {
  const Loops& f = *loops();
  Task t = task_of(s, Sought::filters);
  const Plan plan(t, Sought::filters, threads);
  t.image = image, t.map = map, t.y = gw;
  divide(t, plan, Sought::filters, memory, &t);
  each_part(t, plan, Sought::filters, [&](Task& part) {
    each(tiles::blocks(s.image_channels) * part.pieces(s.image_channels), part, f.image);
    each(tiles::blocks(s.map_channels) * part.pieces(s.map_channels), part, f.map);
    each_group(part, plan, [&] {
      each_chunk(part, plan, [&] {
        each(kImage * pairs(part), part, f.multiply_filters);
        each(filter_items(part), part, f.filter_grads);
      });
    });
  });
}

}  // namespace
}  // namespace cg::kernels::steps

namespace cg::kernels {

bool steps_fit(const Steps& s, Sought sought) { return steps::fit(s, sought); }
int64_t steps_memory(const Steps& s, Sought sought, int64_t threads) { return steps::memory_of(s, sought, threads); }
void steps_map(const Steps& s, const float* image, const float* w, const float* bias, float* map, float* memory,
               int64_t threads) {
  steps::compute_map(s, image, w, bias, map, memory, threads);
}
void steps_image(const Steps& s, const float* map, const float* w, const float* bias, float* image, float* memory,
                 int64_t threads) {
  steps::compute_image(s, map, w, bias, image, memory, threads);
}
void steps_filters(const Steps& s, const float* image, const float* map, float* gw, float* memory, int64_t threads) {
  steps::compute_filters(s, image, map, gw, memory, threads);
}

}  // namespace cg::kernels
