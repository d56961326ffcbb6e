// Sums over windows of the last axes, their transpose, and repetition: loops for dense tensors in main memory.
#pragma once
#include <ATen/Parallel.h>
#include <c10/util/accumulate.h>

#include <array>
#include <cstring>
#include <vector>

#include "ops/pool.h"

namespace cg {

// Windows over one to three axes, as over three.
struct Windows {
  std::array<int64_t, 3> ksize{1, 1, 1}, stride{1, 1, 1}, pad{0, 0, 0}, image{1, 1, 1}, map{1, 1, 1};
  int64_t planes = 1;

  // `large`, `small`: shapes of the images and of what is made of them, of which the last axes count.
  Windows(const Window& w, at::IntArrayRef large, at::IntArrayRef small) {
    const size_t n = w.ndim(), lead = large.size() - n;
    for (size_t k = 0, to = 3 - n; k < n; ++k, ++to) {
      ksize[to] = w.ksize[k];
      stride[to] = w.stride[k];
      pad[to] = w.pad[k];
      image[to] = large[lead + k];
      map[to] = small[lead + k];
    }
    planes = c10::multiply_integers(large.slice(0, lead));
  }
  int64_t large() const { return image[0] * image[1] * image[2]; }
  int64_t small() const { return map[0] * map[1] * map[2]; }
  // Runs f(plane) for all planes, in parallel where there is much to do.
  template <class F>
  void each_plane(F&& f) const {
    const int64_t work = small() * ksize[0] * ksize[1] * ksize[2];
    at::parallel_for(0, planes, std::max<int64_t>(1, int64_t(32768) / std::max<int64_t>(work, 1)),
                     [&](int64_t from, int64_t to) {
                       for (int64_t p = from; p < to; ++p) f(p);
                     });
  }
  // Runs f(row of the image) for each row of elements that the windows of one row of the map see.
  template <class F>
  void each_row(int64_t d, int64_t h, F&& f) const {
    const auto range = [&](size_t axis, int64_t at) {
      const int64_t start = at * stride[axis] - pad[axis];
      return std::pair(std::max<int64_t>(start, 0), std::min(start + ksize[axis], image[axis]));
    };
    const auto [z, z_end] = range(0, d);
    const auto [y, y_end] = range(1, h);
    for (int64_t i = z; i < z_end; ++i)
      for (int64_t j = y; j < y_end; ++j) f((i * image[1] + j) * image[2]);
  }
  // Runs f(element of the map's row, first and last + 1 element of its window in the image's row).
  template <class F>
  void each_window(F&& f) const {
    for (int64_t w = 0; w < map[2]; ++w) {
      const int64_t start = w * stride[2] - pad[2];
      f(w, std::max<int64_t>(start, 0), std::min(start + ksize[2], image[2]));
    }
  }
  template <class V>
  void sum(const V* x, V* y) const {
    each_plane([&](int64_t p) {
      const V* from = x + p * large();
      V* to = y + p * small();
      std::vector<V> row(image[2]);
      for (int64_t d = 0; d < map[0]; ++d)
        for (int64_t h = 0; h < map[1]; ++h, to += map[2]) {
          std::fill(row.begin(), row.end(), V(0));
          each_row(d, h, [&](int64_t at) {
            V* sums = row.data();
            const V* more = from + at;
            for (int64_t k = 0; k < image[2]; ++k) sums[k] += more[k];
          });
          each_window([&](int64_t w, int64_t first, int64_t end) {
            V total = 0;
            for (int64_t k = first; k < end; ++k) total += row[k];
            to[w] = total;
          });
        }
    });
  }
  template <class V>
  void spread(const V* y, V* x) const {
    each_plane([&](int64_t p) {
      const V* from = y + p * small();
      V* to = x + p * large();
      std::vector<V> row(image[2]);
      std::fill(to, to + large(), V(0));
      for (int64_t d = 0; d < map[0]; ++d)
        for (int64_t h = 0; h < map[1]; ++h, from += map[2]) {
          std::fill(row.begin(), row.end(), V(0));
          each_window([&](int64_t w, int64_t first, int64_t end) {
            for (int64_t k = first; k < end; ++k) row[k] += from[w];
          });
          each_row(d, h, [&](int64_t at) {
            const V* more = row.data();
            V* sums = to + at;
            for (int64_t k = 0; k < image[2]; ++k) sums[k] += more[k];
          });
        }
    });
  }
  // spread() for windows side by side that fill the image.
  template <class V>
  void repeat(const V* y, V* x) const {
    each_plane([&](int64_t p) {
      const V* from = y + p * small();
      for (int64_t d = 0; d < map[0]; ++d)
        for (int64_t h = 0; h < map[1]; ++h, from += map[2]) {
          V* first = x + p * large() + (d * ksize[0] * image[1] + h * ksize[1]) * image[2];
          for (int64_t w = 0; w < map[2]; ++w) std::fill_n(first + w * ksize[2], ksize[2], from[w]);
          for (int64_t i = 0; i < ksize[0]; ++i)
            for (int64_t j = i ? 0 : 1; j < ksize[1]; ++j)
              std::memcpy(first + (i * image[1] + j) * image[2], first, image[2] * sizeof(V));
        }
    });
  }
};

}  // namespace cg
