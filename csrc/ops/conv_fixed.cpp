#include "ops/conv_fixed.h"

#include "kernels/direct.h"
#include "ops/conv_rows.h"
#include "ops/conv_tiles.h"

namespace cg {

const char* fixed_way(const Placement& p, at::IntArrayRef filters, at::IntArrayRef images) {
  constexpr int64_t kFewPlaces = 2, kLargeFilters = 1 << 16;  // with these products of rows are faster
  constexpr double kMostChannelwise = 640'000;  // products of a depthwise convolution; from these on oneDNN is faster
  if (tiles_gain(p, filters, images)) return "tiles";
  kernels::Direct d{};
  d.batch = images[0], d.out = filters[0], d.in = filters[1];
  for (size_t k = 0; k < 2; ++k) {
    d.filter[k] = filters[k + 2], d.dilate[k] = p.dilate[k];
    d.map[k] = p.positions(k, images[k + 2], filters[k + 2]);
  }
  const int64_t places = d.batch * d.map[0] * d.map[1], numbers = c10::multiply_integers(filters);
  const bool rows = p.groups == 1 && d.dilate[0] == 1 && d.dilate[1] == 1 &&
                    rows_gain(places, d.out, d.in, d.filter[0] * d.filter[1]);
  const bool direct = kernels::direct_fits();
  if (rows && (!direct || (places <= kFewPlaces && numbers >= kLargeFilters))) return "rows";
  if (!direct) return "oneDNN";
  const double products = static_cast<double>(places) * numbers;
  if (p.groups > 1) return d.in == 1 && d.out == images[1] && products < kMostChannelwise ? "direct" : "oneDNN";
  // Estimated times in nanoseconds
  const double by_loops = kernels::direct_time(d), by_onednn = 33e3 + products / 83, by_rows = 5e3 + products / 68;
  if (rows && by_rows < std::min(by_loops, by_onednn)) return "rows";
  return by_loops <= by_onednn ? "direct" : "oneDNN";
}

}  // namespace cg
