#include "kernels/taps.h"

#include "kernels/taps_loops.h"
#include "kernels/threads.h"

namespace cg::kernels::taps {
namespace {

using Loop = void (*)(const Task&, int64_t item);
struct Products {
  int64_t unit;  // images that are multiplied at a time
  Loop multiply;
};
struct Loops {
  Loop sources, maps, filters, filter_grads, results, multiply_filters;
  Products products[4];
};

#define CG_LOOP(name, ...) \
  CG_LANES void name##_loop(const Task& t, int64_t i) { __VA_ARGS__(t, i); }
CG_LOOP(sources, sources)
CG_LOOP(maps, maps)
CG_LOOP(filters, filters)
CG_LOOP(filter_grads, filter_grads)
CG_LOOP(results, results)
CG_LOOP(multiply_filters, multiply_filters<8>)
CG_LOOP(of_8, multiply<8>)
CG_LOOP(of_10, multiply<10>)
CG_LOOP(of_12, multiply<12>)
CG_LOOP(of_14, multiply<14>)
#undef CG_LOOP
constexpr Loops kLoops{sources_loop,
                       maps_loop,
                       filters_loop,
                       filter_grads_loop,
                       results_loop,
                       multiply_filters_loop,
                       {{14, of_14_loop}, {12, of_12_loop}, {10, of_10_loop}, {8, of_8_loop}}};
const Loops* loops() { return lanes::available() ? &kLoops : nullptr; }

const Products& products_of(int64_t batch) { return tiles::fitting(loops()->products, batch); }

// The result, or for filters the map, is computed in parts of `rows` rows, with the filters of `group` blocks of the
// result's channels at a time.
struct Plan {
  int64_t rows, group;
};
struct Work : Task {
  Sought sought;
  Plan plan{};

  Work(const Taps& taps, Sought what, int64_t threads) : Task{taps}, sought(what) {
    turned = what == Sought::image;
    in = turned ? s.map_channels : s.image_channels;
    out = turned ? s.image_channels : s.map_channels;
    next_in = (turned ? s.image_channels : 1) * numbers();
    next_out = (turned ? 1 : s.image_channels) * numbers();
    const int64_t images = what == Sought::filters ? s.batch : tiles::rounded(s.batch, products_of(s.batch).unit);
    from.images = to.images = images;
    from.columns = turned ? s.map[1] : s.image[1];
    to.columns = turned ? s.image[1] : s.map[1];
    make_plan(threads);
  }
  int64_t height() const { return turned ? s.image[0] : s.map[0]; }
  int64_t source_height() const { return turned ? s.map[0] : s.image[0]; }
  // Computes the rows from `first` on.
  void set_rows(int64_t first) {
    to.low = first;
    to.high = std::min(height(), first + plan.rows);
    from.low = source_height(), from.high = 0;
    for (int64_t row = to.low; row < to.high; ++row)
      for (int64_t i = 0; i < s.filter[0]; ++i)
        if (const int64_t k = source(0, row, i); k >= 0) {
          from.low = std::min(from.low, k);
          from.high = std::max(from.high, k + 1);
        }
    from.low = std::min(from.low, from.high);
  }
  // Each part arranges the filters of all groups again, and so is larger where these are.
  void make_plan(int64_t threads) {
    constexpr int64_t kBytes = 1 << 20, kFilters = 4;
    const int64_t bytes = in * out * numbers() * static_cast<int64_t>(sizeof(float));
    plan.group = std::min<int64_t>(blocks(out), 2 * threads);
    for (plan.rows = height(); plan.rows > 1; plan.rows = (plan.rows + 1) / 2) {
      set_rows(std::max<int64_t>(0, height() / 2 - plan.rows / 2));
      const int64_t floats = blocks(in) * from.distance() + result_blocks() * to.distance();
      if (floats * static_cast<int64_t>(sizeof(float)) <= kBytes + bytes / kFilters) break;
    }
    if (sought == Sought::filters && plan.rows < height()) plan.group = blocks(out);  // they are summed over the parts
  }
  // Divides `memory`, unless it is null; returns how many floats that takes.
  int64_t divide(float* memory) {
    int64_t most_from = 0, most_to = 0;
    for (int64_t row = 0; row < height(); row += plan.rows) {
      set_rows(row);
      most_from = std::max(most_from, blocks(in) * from.distance());
      most_to = std::max(most_to, result_blocks() * to.distance());
    }
    if (memory) {
      from.data = memory;
      to.data = memory + most_from;
      filters = to.data + most_to;
    }
    return most_from + most_to + plan.group * filter_distance();
  }
  int64_t result_blocks() const { return sought == Sought::filters ? blocks(out) : plan.group; }  // in `to`
  int64_t pairs() const { return (right - left + 1) / 2; }
  int64_t filter_items() const { return (right - left) * blocks(in); }
};
template <class F>
void each_group(Work& t, F&& f) {
  tiles::each_range(blocks(t.out), t.plan.group, t.left, t.right, f);
}

void compute(Work& t, float* memory) {
  const Loops& f = *loops();
  const Products& products = products_of(t.s.batch);
  t.divide(memory);
  for (int64_t row = 0; row < t.height(); row += t.plan.rows) {
    t.set_rows(row);
    each_item(blocks(t.in) * t.from.images, t, f.sources);
    each_group(t, [&] {
      const bool kept = row > 0 && t.plan.group == blocks(t.out);
      if (!kept) each_item(t.filter_items(), t, f.filters);
      each_item(t.pairs() * (t.to.high - t.to.low), t, products.multiply);
      each_item((t.right - t.left) * t.s.batch, t, f.results);
    });
  }
}
void compute_filters(Work& t, float* memory) {
  const Loops& f = *loops();
  t.divide(memory);
  for (int64_t row = 0; row < t.height(); row += t.plan.rows) {
    t.set_rows(row);
    t.add = row > 0;
    each_item(blocks(t.in) * t.from.images, t, f.sources);
    each_item(blocks(t.out) * t.to.images, t, f.maps);
    each_group(t, [&] {
      each_item(t.pairs() * t.numbers(), t, f.multiply_filters);
      if (t.to.high == t.height()) each_item(t.filter_items(), t, f.filter_grads);
    });
  }
}

}  // namespace
}  // namespace cg::kernels::taps

namespace cg::kernels {

// Blocks of fewer images or channels would be partly empty. With stride 1 and many places oneDNN takes the same time.
// Filters of one number meet only some of the numbers that are rearranged, and large ones take longest to rearrange.
bool taps_fit(const Taps& s) {
  constexpr int64_t kImages = 8, kChannels = 16, kProducts = 1 << 22, kLarge = 1 << 18, kFewPlaces = 16;
  if (!taps::loops() || s.batch < kImages || s.image_channels < kChannels || s.map_channels < kChannels) return false;
  const int64_t numbers = s.filter[0] * s.filter[1], filters = s.image_channels * s.map_channels * numbers;
  if (numbers == 1 && filters >= kLarge) return false;
  const int64_t places = s.map[0] * s.map[1];
  if (s.stride[0] == 1 && s.stride[1] == 1 && places > kFewPlaces) return false;
  return s.batch * places * filters >= kProducts;
}
int64_t taps_memory(const Taps& s, Sought sought, int64_t threads) {
  return taps::Work(s, sought, threads).divide(nullptr);
}
void taps_map(const Taps& s, const float* image, const float* w, const float* bias, float* map, float* memory,
              int64_t threads) {
  taps::Work t(s, Sought::map, threads);
  t.x = image, t.w = w, t.bias = bias, t.y = map;
  taps::compute(t, memory);
}
void taps_image(const Taps& s, const float* map, const float* w, const float* bias, float* image, float* memory,
                int64_t threads) {
  taps::Work t(s, Sought::image, threads);
  t.x = map, t.w = w, t.bias = bias, t.y = image;
  taps::compute(t, memory);
}
void taps_filters(const Taps& s, const float* image, const float* map, float* gw, float* memory, int64_t threads) {
  taps::Work t(s, Sought::filters, threads);
  t.x = image, t.gy = map, t.y = gw;
  taps::compute_filters(t, memory);
}

}  // namespace cg::kernels
