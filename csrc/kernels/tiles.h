// Convolutions with filters of 3 x 3 by minimal filtering (Winograd's F(4 x 4, 3 x 3)), for inference with channels
// last and filters that were transformed before: a tile of 4 x 4 results needs 36 products of a pair of channels, where
// the sum over the filter has 144. winograd.h has the smaller tiles of training, in C order.
#pragma once
#include <cstdint>

namespace cg::kernels {

// The tiles of a batch of images with channels last: `rows` x `columns` tiles of each image.
struct Tiles {
  int64_t height, width, pad, out_height, out_width, rows, columns;
};
constexpr int64_t kTaps = 36;       // transformed numbers of a tile in each channel
constexpr int64_t kTileLanes = 16;  // the number of channels must be a multiple of it
constexpr int64_t kTileSide = 4;    // results of a tile in each direction

// v (taps, to - from, channels): the transformed numbers of tiles `from` to `to` of the images x.
void take_tiles(const Tiles& t, const float* x, int64_t channels, int64_t from, int64_t to, float* v);
// Writes the results of these tiles from m (taps, to - from, channels): plus bias, if it is not null, plus y, if `add`;
// then negative ones become 0, if `rectify`.
void give_tiles(const Tiles& t, const float* m, int64_t channels, int64_t from, int64_t to, const float* bias, bool add,
                bool rectify, float* y);

}  // namespace cg::kernels
