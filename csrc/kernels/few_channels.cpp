#include "kernels/few_channels.h"

#include "kernels/few_channels_loops.h"

namespace cg::kernels {

#if defined(CG_KERNEL_V4) && !defined(__clang__)
namespace {

using windows::Part;
constexpr int64_t kPanel = windows::kWidth * windows::L;

// How many columns are rearranged at once for the gradient of the filters. The channels of the result that are
// multiplied at a time stay in the level-1 cache; threads wait for each other after each part.
int64_t at_once(const FewChannels& s, int64_t threads) {
  const int64_t columns = 512 * threads;
  return std::min(columns, (s.columns() + windows::L - 1) / windows::L * windows::L);
}
int64_t images_size(const Part& t, int64_t threads) {
  return t.depth_blocks() * windows::kDepth * at_once(t.s, threads);
}
int64_t maps_size(const Part& t, int64_t threads) { return t.row_blocks() * windows::kRows * at_once(t.s, threads); }
int64_t sums_size(const Part& t) {
  return t.row_blocks() * t.depth_blocks() * windows::kRows * windows::kDepth * windows::L;
}

}  // namespace

bool few_channels_fits(const FewChannels& s) {
  constexpr int64_t kMostChannels = 4, kColumns = windows::L + 1, kNumbers = 8;
  if (simd_level() < 4 || s.in < 1 || s.in > kMostChannels || s.out < windows::kRows) return false;
  for (size_t k = 0; k < 2; ++k)
    if (s.stride[k] < 1 || s.stride[k] > 2 || s.size[k] < 1 || s.size[k] > windows::kLargest || s.pad[k] < 0)
      return false;
  return s.depth() >= kNumbers && s.height > 0 && s.width > 0 && s.out_height > 0 && s.columns() >= kColumns;
}

int64_t few_channels_memory(const FewChannels& s) { return s.depth() * kPanel; }
int64_t few_channels_grad_w_memory(const FewChannels& s, int64_t threads) {
  const Part t{s};
  return images_size(t, threads) + maps_size(t, threads) + sums_size(t);
}

void few_channels(const FewChannels& s, const float* x, const float* w, const float* bias, float* y, float* memory,
                  int64_t threads) {
  const auto multiply = s.stride[1] == 1 ? windows::multiply_panel<1> : windows::multiply_panel<2>;
  constexpr int64_t kGrain = 8;  // panels of a thread
  const int64_t panels = (s.columns() + kPanel - 1) / kPanel;
  // Each share has memory of its own, however many threads there are.
  const int64_t shares = std::clamp<int64_t>(panels / kGrain, 1, threads);
  in_threads(shares, 1, [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i)
      for (int64_t k = panels * i / shares; k < panels * (i + 1) / shares; ++k)
        multiply(s, x, w, bias, y, memory + i * few_channels_memory(s), k);
  });
}

void few_channels_grad_w(const FewChannels& s, const float* x, const float* gy, float* gw, float* memory,
                         int64_t threads) {
  const int64_t step = at_once(s, threads);
  Part t{s, x, gy, memory};
  t.maps = t.images + images_size(t, threads);
  t.sums = t.maps + maps_size(t, threads);
  const auto fill = s.stride[1] == 1 ? windows::fill_images<1> : windows::fill_images<2>;
  for (; t.first < s.columns(); t.first = t.last) {
    t.last = std::min(t.first + step, s.columns());
    each_item(t.vectors(), t, [&](const Part& part, int64_t i) {
      fill(part, i);
      windows::fill_maps(part, i);
    });
    each_item(t.row_blocks(), t, windows::add_products);
  }
  windows::finish(t, gw);
}
#else
bool few_channels_fits(const FewChannels&) { return false; }
int64_t few_channels_memory(const FewChannels&) { return 0; }
int64_t few_channels_grad_w_memory(const FewChannels&, int64_t) { return 0; }
void few_channels(const FewChannels&, const float*, const float*, const float*, float*, float*, int64_t) {}
void few_channels_grad_w(const FewChannels&, const float*, const float*, float*, float*, int64_t) {}
#endif

}  // namespace cg::kernels
