// Convolutions by products with columns, which are the patches of an image below the filter's positions.
#include <ATen/ops/_slow_conv2d_backward.h>
#include <ATen/ops/_slow_conv2d_forward.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/col2im.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>

#include "kernels/few_rows.h"
#include "kernels/raw.h"
#include "kernels/simd.h"
#include "kernels/threads.h"
#include "ops/axes.h"
#include "ops/conv_ways.h"
#include "ops/dense_product.h"

namespace cg {
namespace {

// t with the strides of C order. ATen's column kernels infer the order of axes from the strides; the strides of axes of
// length 1 can make them take one argument for channels last, which gives wrong gradients of filters.
Tensor in_rows(const Tensor& t) {
  const Tensor r = t.contiguous();
  if (r.suggest_memory_format() == at::MemoryFormat::Contiguous) return r;
  return r.view(-1).view(r.sizes());
}

// The columns of a contiguous image, a matrix of the numbers of a filter (`taps`, of `channels` channels) and places in
// n maps: the image's numbers below each element of the filter at each position, 0 beyond the image.
struct Columns {
  int64_t channels, taps, places;
  std::vector<int64_t> from;  // for each element of a channel's filter and each place: where the number is, or -1

  Columns(const Placement& p, const Tensor& x, at::IntArrayRef filters, int64_t map_height, int64_t map_width)
      : channels(filters[1]), taps(filters[1] * filters[2] * filters[3]), places(x.size(0) * map_height * map_width) {
    from.reserve(filters[2] * filters[3] * places);
    for (int64_t i = 0; i < filters[2]; ++i)
      for (int64_t j = 0; j < filters[3]; ++j)
        for (int64_t n = 0; n < x.size(0); ++n)
          for (int64_t a = 0; a < map_height; ++a)
            for (int64_t b = 0; b < map_width; ++b) {
              const int64_t row = a * p.stride[0] - p.pad[0] + i * p.dilate[0];
              const int64_t column = b * p.stride[1] - p.pad[1] + j * p.dilate[1];
              const bool inside = row >= 0 && row < x.size(2) && column >= 0 && column < x.size(3);
              from.push_back(inside ? (n * x.size(1) * x.size(2) + row) * x.size(3) + column : -1);
            }
  }
  // y has the strides `tap` and `place`.
  template <class T>
  void write(const T* x, int64_t channel, int64_t tap, int64_t place, T* y) const {
    const int64_t of_channel = taps / channels;
    for (int64_t c = 0; c < channels; ++c, x += channel)
      for (int64_t t = 0; t < of_channel; ++t, y += tap) {
        const int64_t* const source = from.data() + t * places;
        for (int64_t k = 0; k < places; ++k) y[k * place] = source[k] < 0 ? T(0) : x[source[k]];
      }
  }
  void write(const Tensor& x, const Tensor& y) const {
    kernels::with_dtype(x, [&]<class T>(T) {
      write(x.const_data_ptr<T>(), x.size(2) * x.size(3), y.stride(0), y.stride(1), y.mutable_data_ptr<T>());
    });
  }
};
// (numbers of a filter, n * places)
Tensor columns_of(const Placement& p, const Tensor& image, at::IntArrayRef filters, int64_t height, int64_t width) {
  const Tensor x = image.contiguous();
  const Columns columns(p, x, filters, height, width);
  const Tensor y = at::empty({columns.taps, columns.places}, x.options());
  columns.write(x, y);
  return y;
}
Tensor filter_rows(const Tensor& w) { return w.contiguous().view({w.size(0), -1}); }

// Whether a batch has so few places, below filters of so many `numbers`, that its columns should be the rows of a
// product: MKL multiplies 512 filters of 512 x 3 x 3 by 4 columns in 2.9 ms, and 4 rows by the filters in 0.5.
bool few_places(int64_t places, int64_t numbers) {
  constexpr int64_t kFew = 16, kLargeFilters = 1 << 17;
  return places <= kFew && numbers >= kLargeFilters;
}
// Whether a product with the columns of all images, or one that gives them, is faster than oneDNN, which rearranges
// large filters for long: 16 images of 256 x 8 x 8 under 512 filters of 4 x 4 take 9.7 instead of 11.2 ms, their
// gradient 9.7 instead of 12.7 on an Intel processor with AVX-512. Where MKL is slow, nobody has measured it.
bool strided_at_few_places(const Placement& p, const Tensor& x, int64_t places, const Tensor& w) {
  constexpr int64_t kLargeFilters = 1 << 20, kFewPlaces = 16;
  return x.scalar_type() == at::kFloat && kernels::simd_level() >= 4 && !mkl_is_slow() && w.numel() >= kLargeFilters &&
         places <= kFewPlaces && p.stride[0] > 1 && p.stride[1] > 1;
}
Tensor convolution_of_few(const Placement& p, const Tensor& x, const Tensor& w, const Tensor& bias, int64_t height,
                          int64_t width) {
  const Columns columns(p, x, w.sizes(), height, width);
  const int64_t rows = columns.places, n = x.size(0), channels = w.size(0);
  const Tensor filters = filter_rows(w);
  Tensor y;
  if (x.scalar_type() == at::kFloat && few_rows(rows, w.numel())) {
    const Tensor c = rows <= kernels::kDots
                         ? at::empty({rows, columns.taps}, x.options())
                         : at::zeros({columns.taps, kernels::kMostRows}, x.options()).t().narrow(0, 0, rows);
    columns.write(x, c.t());
    y = at::empty({channels, rows}, x.options());
    product_of_few_rows(c, filters, bias, y.t());
  } else {
    const Tensor c = at::empty({columns.taps, rows}, x.options());
    columns.write(x, c);
    y = bias.defined() ? at::addmm(bias, c.t(), filters.t()).t() : at::mm(c.t(), filters.t()).t();
  }
  return y.reshape({channels, n, height, width}).transpose(0, 1).contiguous();
}
Tensor grad_x_of_few(const Placement& p, const Tensor& map, at::IntArrayRef image, const Tensor& w) {
  const Tensor rows = map.permute({0, 2, 3, 1}).reshape({-1, map.size(1)});
  const Tensor columns = at::mm(rows, filter_rows(w)).view({map.size(0), map.size(2) * map.size(3), -1});
  return at::col2im(columns.transpose(1, 2), spatial(image), spatial(w.sizes()), p.dilate, p.pad, p.stride);
}
Tensor product_with_columns(const Tensor& map, const Tensor& columns, at::IntArrayRef filters) {
  return at::mm(map.transpose(0, 1).reshape({filters[0], -1}), columns.t()).view(filters);
}

// A plain product of columns is two to four times as fast as oneDNN while its preparation, some 40 us, takes longer
// than the products; fewer than 16 places of an image take as long as 16, because each product reads all filters. From
// about a million multiplications on oneDNN is faster, except for one or two images with filters that exceed the
// caches: oneDNN rearranges filters first, which takes longer than the product.
bool is_small(const Placement& p, at::IntArrayRef map, at::IntArrayRef filters) {
  constexpr int64_t kProducts = 1 << 20, kLargeFilters = 3 << 19, kFewPlaces = 64, kAtOnce = 16;
  if (p.dilate[0] != 1 || p.dilate[1] != 1) return false;
  const int64_t n = map[0], places = map[2] * map[3], numbers = c10::multiply_integers(filters);
  if (few_places(n * places, numbers)) return true;
  if (n <= 2 && numbers >= kLargeFilters && places <= kFewPlaces) return true;
  return n * numbers * std::max(places, kAtOnce) < kProducts;
}

bool columns_exist(const Placement& p, at::IntArrayRef) { return p.stride.size() == 2; }

Tensor columns_map(const Placement& p, const Tensor& image, const Tensor& w, const Tensor& b, at::IntArrayRef map) {
  constexpr int64_t kTaps = 16;  // with filters of 3 x 3 both ways take the same time
  const int64_t places = map[2] * map[3];
  const bool strided = w.size(2) * w.size(3) >= kTaps && strided_at_few_places(p, image, places, w);
  const bool small = is_small(p, map, w.sizes());
  if (strided || (small && few_places(map[0] * places, w.numel())))
    return convolution_of_few(p, image.contiguous(), w, b.defined() ? b.contiguous() : b, map[2], map[3]);
  if (!small) return {};
  const std::optional<Tensor> bias = b.defined() ? std::optional<Tensor>(b) : std::nullopt;
  return at::_slow_conv2d_forward(in_rows(image), in_rows(w), spatial(w.sizes()), bias, p.stride, p.pad);
}

// oneDNN computes 16 channels at a time, however few there are: with 1 to 4 channels columns take a seventh to a half
// of its time, with 8 the same.
Tensor columns_image(const Placement& p, const Tensor& map, at::IntArrayRef image, const Tensor& w, const Tensor& b,
                     const Tensor&) {
  constexpr int64_t kFew = 4;
  if (p.dilate[0] != 1 || p.dilate[1] != 1) return {};
  const int64_t places = map.size(2) * map.size(3);
  const bool small = is_small(p, map.sizes(), w.sizes());
  Tensor y;
  if (strided_at_few_places(p, map, places, w) ||
      ((small || w.size(1) <= kFew) && few_places(map.size(0) * places, w.numel())))
    y = grad_x_of_few(p, map, image, w);
  else if (small || w.size(1) <= kFew)
    y = std::get<0>(at::_slow_conv2d_backward(in_rows(map), at::empty(image, map.options()), in_rows(w),
                                              spatial(w.sizes()), p.stride, p.pad, {true, false, false}));
  return y.defined() && b.defined() ? y.add_(b.view({-1, 1, 1})) : y;
}

// For filters of 512 x 512 x 3 x 3 at 2 x 2 places of 8 images, oneDNN takes 16 to 27 ms, one product of columns 3. For
// filters of half as many numbers, and for more places, the two take the same time.
Tensor columns_filters(const Placement& p, const Tensor& map, const Tensor& image, at::IntArrayRef filters) {
  constexpr int64_t kLargeFilters = 1 << 20, kFewPlaces = 16;
  const int64_t places = map.size(2) * map.size(3), numbers = c10::multiply_integers(filters);
  const bool small = is_small(p, map.sizes(), filters);
  if (small ? few_places(map.size(0) * places, numbers) : numbers >= kLargeFilters && places <= kFewPlaces)
    return product_with_columns(map, columns_of(p, image, filters, map.size(2), map.size(3)), filters);
  if (!small) return {};
  return std::get<1>(at::_slow_conv2d_backward(in_rows(map), in_rows(image), at::empty(filters, map.options()),
                                               spatial(filters), p.stride, p.pad, {false, true, false}));
}

std::array<Tensor, 2> columns_both(const Placement& p, const Tensor& map, const Tensor& image, const Tensor& w) {
  if (!is_small(p, map.sizes(), w.sizes()) || few_places(map.numel() / map.size(1), w.numel())) return {};
  auto [gx, gw, _] = at::_slow_conv2d_backward(in_rows(map), in_rows(image), in_rows(w), spatial(w.sizes()), p.stride,
                                               p.pad, {true, true, false});
  return {gx, gw};
}

}  // namespace

const ConvolutionWay kColumns{columns_exist, columns_map, columns_image, columns_filters, columns_both};

}  // namespace cg
