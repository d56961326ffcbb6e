#include "kernels/steps.h"

#include "kernels/steps_loops.h"
#include "kernels/threads.h"

namespace cg::kernels::steps {
namespace {

using Loop = void (*)(const Task&, int64_t item);
struct Products {
  int64_t unit;  // tiles that are multiplied at a time
  Loop image, map;
};
struct Loops {
  Loop filters, filter_grads, image, map, image_result, map_result, multiply_filters;
  Products products[3];
};

#define CG_LOOP(name, ...) \
  CG_LANES void name##_loop(const Task& t, int64_t i) { __VA_ARGS__(t, i); }
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
const Loops* loops() { return lanes::available() ? &kLoops : nullptr; }

const Products& products_of(int64_t tiles) { return tiles::fitting(loops()->products, tiles); }

// What is computed at a time, so that it stays in the caches of a core. The times hardly depend on it: for DCGAN's
// layers they vary by a tenth from a quarter of these tiles to four times as many.
struct Plan {
  int64_t parts = 0, rows = 0;   // parts of the batch, and rows of tiles of the largest
  int64_t chunk = 0, group = 0;  // blocks of the channels that are summed, and of those of the result
};
struct Work : Task {
  Sought sought;
  Plan plan;

  Work(const Steps& steps, Sought what, int64_t threads) : Task{{}, steps}, sought(what) {
    const bool image = what == Sought::image;
    in = image ? s.map_channels : s.image_channels;
    out = image ? s.image_channels : s.map_channels;
    next_in = (image ? s.image_channels : 1) * 16;
    next_out = (image ? 1 : s.image_channels) * 16;
    struct Most {
      int64_t tiles, blocks;
    };
    constexpr Most kOfMap{96, 4}, kOfImage{256, 8}, kOfFilters{1024, 16};
    const Most most = what == Sought::map ? kOfMap : image ? kOfImage : kOfFilters;
    plan.chunk = std::min(tiles::blocks(in), most.blocks);
    plan.group = std::min<int64_t>(tiles::blocks(out), 2 * threads);
    plan.parts = std::clamp<int64_t>(all_rows() * columns() / most.tiles, 1, all_rows());
    plan.rows = (all_rows() + plan.parts - 1) / plan.parts;
  }
  int64_t all_rows() const { return s.batch * rows(); }
  const Products& products() const { return products_of(tiles()); }
  void count_tiles() {
    count = sought == Sought::filters ? tiles() : tiles::rounded(tiles(), products().unit);
    image_blocks = sought == Sought::image ? plan.group : tiles::blocks(s.image_channels);
    map_blocks = tiles::blocks(s.map_channels);
  }
  // Divides `memory`, unless it is null; returns how many floats that takes.
  int64_t divide(float* memory) {
    last = plan.rows;
    right = plan.group, bottom = plan.chunk;
    count_tiles();
    count += loops()->products[0].unit;  // a smaller part may be rounded up to more tiles
    const int64_t of_filters = kImage * filter_distance(), of_images = kImage * image_distance();
    const int64_t of_maps = kMap * map_distance();
    if (memory) {
      filters = memory;
      images = filters + of_filters;
      maps = images + of_images;
      carry = maps + of_maps;
    }
    const int64_t of_carry = sought == Sought::image ? tiles::blocks(out) * 2 * strip_width() * L : 0;
    return of_filters + of_images + of_maps + of_carry;
  }
  template <class F>
  void each_part(F&& f) {
    for (int64_t i = 0; i < plan.parts; ++i) {
      first = all_rows() * i / plan.parts;
      last = all_rows() * (i + 1) / plan.parts;
      count_tiles();
      f();
    }
  }
  template <class F>
  void each_group(F&& f) {
    tiles::each_range(tiles::blocks(out), plan.group, left, right, f);
  }
  template <class F>
  void each_chunk(F&& f) {
    tiles::each_range(tiles::blocks(in), plan.chunk, top, bottom, f);
  }
  int64_t pairs() const { return (right - left + 1) / 2; }
  int64_t filter_items() const { return (right - left) * (bottom - top); }
  int64_t image_items() const { return tiles::blocks(s.image_channels) * pieces(s.image_channels); }
  int64_t map_items() const { return tiles::blocks(s.map_channels) * pieces(s.map_channels); }
};

}  // namespace
}  // namespace cg::kernels::steps

namespace cg::kernels {

// With fewer channels most of a block would be empty. With few places the transformation of the filters takes longest.
bool steps_fit(const Steps& s, Sought sought) {
  constexpr int64_t kPlaces = 32, kTiles = 8;
  if (!steps::loops()) return false;
  const int64_t least = sought == Sought::image ? tiles::L / 2 : tiles::L;
  if (s.image_channels < least || s.map_channels < least || s.batch * s.map[0] * s.map[1] < kPlaces) return false;
  const steps::Task t{{}, s};
  return s.batch * t.rows() * t.columns() >= kTiles;
}
int64_t steps_memory(const Steps& s, Sought sought, int64_t threads) {
  return steps::Work(s, sought, threads).divide(nullptr);
}

void steps_map(const Steps& s, const float* image, const float* w, const float* bias, float* map, float* memory,
               int64_t threads) {
  const steps::Loops& f = *steps::loops();
  steps::Work t(s, Sought::map, threads);
  t.image = image, t.w = w, t.bias = bias, t.y = map;
  t.divide(memory);
  t.each_part([&] {
    each_item(t.image_items(), t, f.image);
    t.each_chunk([&] {
      t.each_group([&] {
        each_item(t.filter_items(), t, f.filters);
        each_item(steps::kMap * t.pairs(), t, t.products().map);
      });
    });
    each_item(t.map_items(), t, f.map_result);
  });
}

void steps_image(const Steps& s, const float* map, const float* w, const float* bias, float* image, float* memory,
                 int64_t threads) {
  const steps::Loops& f = *steps::loops();
  steps::Work t(s, Sought::image, threads);
  t.map = map, t.w = w, t.bias = bias, t.y = image;
  t.divide(memory);
  t.each_part([&] {
    each_item(t.map_items(), t, f.map);
    t.each_group([&] {
      t.images_from = t.left;
      t.each_chunk([&] {
        each_item(t.filter_items(), t, f.filters);
        each_item(steps::kImage * t.pairs(), t, t.products().image);
      });
      each_item(t.right - t.left, t, f.image_result);
    });
  });
}

void steps_filters(const Steps& s, const float* image, const float* map, float* gw, float* memory, int64_t threads) {
  const steps::Loops& f = *steps::loops();
  steps::Work t(s, Sought::filters, threads);
  t.image = image, t.map = map, t.y = gw;
  t.divide(memory);
  t.each_part([&] {
    each_item(t.image_items(), t, f.image);
    each_item(t.map_items(), t, f.map);
    t.each_group([&] {
      t.each_chunk([&] {
        each_item(steps::kImage * t.pairs(), t, f.multiply_filters);
        each_item(t.filter_items(), t, f.filter_grads);
      });
    });
  });
}

}  // namespace cg::kernels
