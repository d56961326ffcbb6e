#include "ops/conv_columns.h"

#include <ATen/ops/_slow_conv2d_backward.h>
#include <ATen/ops/_slow_conv2d_forward.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/col2im.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include "kernels/raw.h"
#include "kernels/simd.h"
#include "ops/axes.h"
#include "ops/dense_product.h"

namespace cg {
namespace {

// Whether columns can be made: of images of floats or doubles in main memory, without groups.
bool has_columns(const Placement& p, const Tensor& x, const Tensor& w) {
  if (x.dim() != 4 || w.dim() != 4 || p.groups != 1 || p.stride.size() != 2 || p.pad.size() != 2) return false;
  return kernels::raw(x, w);
}
// t with the strides of C order. ATen's column kernels infer the order of axes from the strides; the strides of axes of
// length 1 can make them take one argument for channels last, which gives wrong gradients of filters.
Tensor in_rows(const Tensor& t) {
  const Tensor r = t.contiguous();
  if (r.suggest_memory_format() == at::MemoryFormat::Contiguous) return r;
  return r.view(-1).view(r.sizes());
}

struct Sizes {
  int64_t n, channels, height, width, rows, columns, map_height, map_width;  // rows, columns: of a filter
};
// y (channels, rows, columns, n, map_height, map_width): the image's number below each element of the filter at each
// position, 0 beyond the image. The first three axes together have the stride `tap`, the others `place`.
template <class T>
void write_columns(const Placement& p, const Sizes& s, const T* x, int64_t tap, int64_t place, T* y) {
  for (int64_t c = 0; c < s.channels; ++c)
    for (int64_t i = 0; i < s.rows; ++i)
      for (int64_t j = 0; j < s.columns; ++j, y += tap) {
        T* to = y;
        for (int64_t n = 0; n < s.n; ++n) {
          const T* const image = x + (n * s.channels + c) * s.height * s.width;
          for (int64_t a = 0; a < s.map_height; ++a) {
            const int64_t row = a * p.stride[0] - p.pad[0] + i * p.dilate[0];
            const bool inside = row >= 0 && row < s.height;
            for (int64_t b = 0; b < s.map_width; ++b, to += place) {
              const int64_t column = b * p.stride[1] - p.pad[1] + j * p.dilate[1];
              *to = inside && column >= 0 && column < s.width ? image[row * s.width + column] : T(0);
            }
          }
        }
      }
}

// The columns of an image below filters of the shape `filters`: (numbers of a filter, n * places), in C order, or in
// that of the transposed matrix.
Tensor columns_of(const Placement& p, const Tensor& image, at::IntArrayRef filters, int64_t height, int64_t width,
                  bool transposed = false) {
  const Tensor x = image.contiguous();
  const Sizes s{x.size(0), filters[1], x.size(2), x.size(3), filters[2], filters[3], height, width};
  const int64_t taps = s.channels * s.rows * s.columns, places = s.n * height * width;
  const Tensor columns =
      transposed ? at::empty({places, taps}, x.options()).t() : at::empty({taps, places}, x.options());
  kernels::with_dtype(x, [&]<class T>(T) {
    write_columns(p, s, x.const_data_ptr<T>(), columns.stride(0), columns.stride(1), columns.data_ptr<T>());
  });
  return columns;
}
Tensor filter_rows(const Tensor& w) { return w.contiguous().view({w.size(0), -1}); }

// Whether a batch has so few places that its columns should be the rows of a product: MKL multiplies 512 filters of
// 512 x 3 x 3 by 4 columns in 2.9 ms, and 4 rows by the filters in 0.5.
bool few_places(int64_t places, const Tensor& w) {
  constexpr int64_t kFew = 16, kLargeFilters = 1 << 17;
  return places <= kFew && w.numel() >= kLargeFilters;
}
Tensor grad_x_of_few(const Placement& p, const Tensor& map, at::IntArrayRef image, const Tensor& w) {
  const Tensor rows = map.permute({0, 2, 3, 1}).reshape({-1, map.size(1)});
  const Tensor columns = at::mm(rows, filter_rows(w)).view({map.size(0), map.size(2) * map.size(3), -1});
  return at::col2im(columns.transpose(1, 2), spatial(image), spatial(w.sizes()), p.dilate, p.pad, p.stride);
}
Tensor product_with_columns(const Tensor& map, const Tensor& columns, at::IntArrayRef filters) {
  return at::mm(map.transpose(0, 1).reshape({filters[0], -1}), columns.t()).view(filters);
}

}  // namespace

// A plain product of columns is two to four times as fast as oneDNN while its preparation, some 40 us, takes longer
// than the products; fewer than 16 places of an image take as long as 16, because each product reads all filters. From
// about a million multiplications on oneDNN is faster, except for one or two images with filters that exceed the
// caches: oneDNN rearranges filters first, which takes longer than the product. Shapes that do not fit are left to
// at::convolution, which raises the error.
bool is_small(const Placement& p, const Tensor& x, const Tensor& w, const Tensor& b, int64_t map_numel) {
  constexpr int64_t kProducts = 1 << 20, kLargeFilters = 3 << 19, kFewPlaces = 64, kAtOnce = 16;
  if (!has_columns(p, x, w) || (b.defined() && !kernels::raw(x, b))) return false;
  if (map_numel == 0 || p.pad[0] < 0 || p.pad[1] < 0 || p.dilate[0] != 1 || p.dilate[1] != 1) return false;
  const int64_t places = map_numel / (x.size(0) * w.size(0));
  if (few_places(x.size(0) * places, w)) return true;
  if (x.size(0) <= 2 && w.numel() >= kLargeFilters && places <= kFewPlaces) return true;
  return x.size(0) * w.numel() * std::max(places, kAtOnce) < kProducts;
}

bool columns_fit(const Placement& p, const Tensor& map, at::IntArrayRef image, const Tensor& w) {
  if (!has_columns(p, map, w) || image.size() != 4 || image[0] != map.size(0) || image[1] != w.size(1) ||
      map.size(1) != w.size(0) || p.dilate[0] != 1 || p.dilate[1] != 1)
    return false;
  for (size_t k = 0; k < 2; ++k) {
    const int64_t room = image[k + 2] + 2 * p.pad[k] - w.size(k + 2);
    if (p.pad[k] < 0 || room < 0 || room / p.stride[k] + 1 != map.size(k + 2)) return false;
  }
  return true;
}

Tensor small_convolution(const Placement& p, const Tensor& x, const Tensor& w, const std::optional<Tensor>& b) {
  const auto size = [&](size_t k) { return (x.size(k + 2) + 2 * p.pad[k] - w.size(k + 2)) / p.stride[k] + 1; };
  const int64_t n = x.size(0), height = size(0), width = size(1);
  if (!few_places(n * height * width, w))
    return at::_slow_conv2d_forward(in_rows(x), in_rows(w), spatial(w.sizes()), b, p.stride, p.pad);
  const Tensor rows = columns_of(p, x, w.sizes(), height, width, true).t(), filters = filter_rows(w).t();
  const Tensor bias = b ? b->reshape({-1}) : Tensor();
  Tensor y = fast_product(rows, filters, bias);
  if (!y.defined()) y = b ? at::addmm(bias, rows, filters) : at::mm(rows, filters);
  return y.view({n, height, width, w.size(0)}).permute({0, 3, 1, 2}).contiguous();
}

// oneDNN computes 16 channels at a time, however few there are: with 1 to 4 channels columns take a seventh to a half
// of its time, with 8 the same.
Tensor columns_grad_x(const Placement& p, const Tensor& map, at::IntArrayRef image, const Tensor& w) {
  constexpr int64_t kFew = 4;
  if (!columns_fit(p, map, image, w) || map.numel() == 0) return {};
  if (w.size(1) > kFew && !is_small(p, map, w, {}, map.numel())) return {};
  if (few_places(map.numel() / map.size(1), w)) return grad_x_of_few(p, map, image, w);
  return std::get<0>(at::_slow_conv2d_backward(in_rows(map), at::empty(image, map.options()), in_rows(w),
                                               spatial(w.sizes()), p.stride, p.pad, {true, false, false}));
}

// For filters of 512 x 512 x 3 x 3 at 2 x 2 places of 8 images, oneDNN takes 16 to 27 ms, one product of columns 3. For
// filters of half as many numbers, and for more places, the two take the same time.
Tensor columns_grad_w(const Placement& p, const Tensor& map, const Tensor& image, at::IntArrayRef filters) {
  constexpr int64_t kLargeFilters = 1 << 20, kFewPlaces = 16;
  if (!has_columns(p, map, image) || c10::multiply_integers(filters) < kLargeFilters) return {};
  if (map.size(2) * map.size(3) > kFewPlaces || image.size(1) != filters[1] || map.size(1) != filters[0] ||
      map.size(0) != image.size(0))
    return {};
  return product_with_columns(map, columns_of(p, image, filters, map.size(2), map.size(3)), filters);
}

std::array<Tensor, 2> convolution_grads(const Placement& p, const Tensor& map, const Tensor& image, const Tensor& w,
                                        std::array<bool, 2> wanted, bool small) {
  const Ints none(p.stride.size(), 0);
  if (small && few_places(map.numel() / map.size(1), w)) {
    std::array<Tensor, 2> g;
    if (wanted[0]) g[0] = grad_x_of_few(p, map, image.sizes(), w);
    if (wanted[1])
      g[1] = product_with_columns(map, columns_of(p, image, w.sizes(), map.size(2), map.size(3)), w.sizes());
    return g;
  }
  if (small) {
    auto [gx, gw, _] = at::_slow_conv2d_backward(in_rows(map), in_rows(image), in_rows(w), spatial(w.sizes()), p.stride,
                                                 p.pad, {wanted[0], wanted[1], false});
    return {gx, gw};
  }
  std::array<Tensor, 2> g;
  if (wanted[0]) g[0] = columns_grad_x(p, map, image.sizes(), w);
  if (wanted[1]) g[1] = columns_grad_w(p, map, image, w.sizes());
  wanted[0] &= !g[0].defined();
  wanted[1] &= !g[1].defined();
  if (!wanted[0] && !wanted[1]) return g;
  auto [gx, gw, _] = at::convolution_backward(map, image, w, {}, p.stride, p.pad, p.dilate, false, none, p.groups,
                                              {wanted[0], wanted[1], false});
  if (wanted[0]) g[0] = gx;
  if (wanted[1]) g[1] = gw;
  return g;
}

}  // namespace cg
