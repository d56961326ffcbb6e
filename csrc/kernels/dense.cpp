#include "kernels/dense.h"

#include <algorithm>

#include "kernels/dense_loops.h"
#include "kernels/on_demand.h"
#include "kernels/workspace.h"

namespace cg::kernels {
namespace dense_loops {

#define CG_DENSE_LOOP CG_LANES __attribute__((noinline)) void
CG_DENSE_LOOP multiply_3(const Block& t) { multiply<kRows, 3, 0>(t); }
CG_DENSE_LOOP multiply_few_3(const Block& t) { multiply<kFewRows, 3, 0>(t); }
CG_DENSE_LOOP multiply_2(const Block& t) { multiply<kRows, 2, 0>(t); }
CG_DENSE_LOOP multiply_few_2(const Block& t) { multiply<kFewRows, 2, 0>(t); }
CG_DENSE_LOOP multiply_1(const Block& t) { multiply<kRows, 1, 0>(t); }
CG_DENSE_LOOP multiply_few_1(const Block& t) { multiply<kFewRows, 1, 0>(t); }
CG_DENSE_LOOP transpose_rows(const float* x, int64_t pitch, int rows, int64_t depth, float* to, int64_t next) {
  transpose(x, pitch, rows, depth, to, next);
}
CG_DENSE_LOOP copy_rows(const float* x, int64_t pitch, int64_t depth, float* to, int64_t next, int64_t count) {
  copy(x, pitch, depth, to, next, count);
}
#undef CG_DENSE_LOOP

void multiply_rows(int width, const Block& t) { (width == 3 ? multiply_3 : width == 2 ? multiply_2 : multiply_1)(t); }

namespace {

// Four panels of 48 columns and this depth stay in a level-2 cache beside the numbers that pass through it. They are
// multiplied by a block of rows one after the other, so that x is read less often.
constexpr int64_t kMostDepth = 1024, kTogether = 4;

// How many columns of x are multiplied at a time, so that all parts are about the same.
int64_t most_of(int64_t depth) {
  const int64_t parts = (depth + kMostDepth - 1) / kMostDepth;
  return vectors((depth + parts - 1) / parts) * L;
}

// Computes parts of the result, in one thread.
class Part {
 public:
  // `columns`: the most columns of a part
  Part(const Dense& p, int64_t columns)
      : p_(p),
        most_(most_of(p.depth)),
        panels_(most_ * kUnit * std::min(kTogether, (columns + kUnit - 1) / kUnit), false) {}

  // The columns `first` to `last` - 1 of the rows `top` to `bottom` - 1. `follow`: where the columns end that are
  // likely to be next.
  void compute(int64_t top, int64_t bottom, int64_t first, int64_t last, int64_t follow) {
    top_ = top, bottom_ = bottom, follow_ = follow;
    for (from_ = 0; from_ < p_.depth; from_ += most_) {
      depth_ = std::min(most_, p_.depth - from_);
      for (int64_t c = first; c < last; c += kTogether * kUnit) columns(c, std::min(c + kTogether * kUnit, last));
    }
  }

 private:
  static constexpr int64_t kUnit = kWidth * L;
  float* panel(int64_t i) const { return panels_.get() + i * kUnit * most_; }
  static int width(int64_t left) { return static_cast<int>(std::min<int64_t>(vectors(left), kWidth)); }
  void columns(int64_t begin, int64_t end) {
    const int64_t panels = (end - begin + kUnit - 1) / kUnit;
    if (p_.turned)
      copy_rows(p_.w + from_ * p_.w_pitch + begin, p_.w_pitch, depth_, panel(0), kUnit * most_, end - begin);
    for (int64_t i = 0; i < panels && !p_.turned; ++i) fill(panel(i), begin + i * kUnit, end);
    // Rows of the panels that follow are fetched while the last blocks are multiplied: x, which passes through the
    // cache with every group of panels, would drive out what is fetched earlier.
    const int64_t fetching = (kTogether * kUnit + kAhead * panels - 1) / (kAhead * panels) * kRows;
    int64_t next = end;
    for (int64_t row = top_; row < bottom_; row += kRows) {
      const int high = bottom_ - row > kFewRows ? kRows : kFewRows;
      const int64_t here = std::min(row, p_.rows - high);  // the last rows may be computed twice; they are written once
      for (int64_t i = 0; i < panels; ++i) {
        const int64_t c = begin + i * kUnit;
        const int wide = width(end - c), count = static_cast<int>(std::min<int64_t>(kUnit, end - c));
        const float* const bias = p_.bias && from_ == 0 ? p_.bias + c : nullptr;
        const float* const then = row + fetching >= bottom_ ? ahead(next) : nullptr;
        if (then) next += kAhead;
        const Block t{p_.x + here * p_.x_pitch + from_, p_.x_pitch, panel(i),  wide * L, depth_,    bias,
                      p_.y + here * p_.y_pitch + c,     p_.y_pitch, from_ > 0, then,     p_.w_pitch};
        if (row == here && count == wide * L)
          whole(high, wide, t);
        else
          some(high, wide, t, static_cast<int>(row - here), count);
      }
    }
  }
  void fill(float* panel, int64_t c, int64_t end) const {
    const int wide = width(end - c);
    for (int j = 0; j < wide; ++j)
      transpose_rows(p_.w + (c + j * L) * p_.w_pitch + from_, p_.w_pitch,
                     static_cast<int>(std::min<int64_t>(L, end - c - j * L)), depth_, panel + j * L, wide * L);
  }
  const float* ahead(int64_t column) const {
    return column + kAhead <= follow_ && !p_.turned ? p_.w + column * p_.w_pitch + from_ : nullptr;
  }
  static void multiply_high(int high, int width, const Block& t) {
    if (high == kRows) return multiply_rows(width, t);
    (width == 3 ? multiply_few_3 : width == 2 ? multiply_few_2 : multiply_few_1)(t);
  }
  static void whole(int high, int width, const Block& t) {
    const float* to = t.y;  // it is written when the sums are complete, and would not be in a cache
    for (int r = 0; r < high; ++r, to += t.y_pitch) {
      __builtin_prefetch(to, 1);
      __builtin_prefetch(to + L, 1);
      __builtin_prefetch(to + 2 * L, 1);
    }
    multiply_high(high, width, t);
  }
  // Writes the rows of a block from `first` on and its first `count` columns alone. The sums are those of whole blocks,
  // so that a row does not depend on how many rows there are.
  static void some(int high, int width, const Block& t, int first, int count) {
    alignas(4 * L) float tile[kRows][kWidth * L] = {}, bias[kWidth * L] = {};
    if (t.bias) std::copy_n(t.bias, count, bias);
    for (int r = first; t.add && r < high; ++r) std::copy_n(t.y + r * t.y_pitch, count, tile[r]);
    Block all = t;
    all.y = tile[0], all.y_pitch = kWidth * L, all.bias = t.bias ? bias : nullptr;
    multiply_high(high, width, all);
    for (int r = first; r < high; ++r) std::copy_n(tile[r], count, t.y + r * t.y_pitch);
  }

  const Dense& p_;
  const int64_t most_;
  const Workspace<float> panels_;
  int64_t top_ = 0, bottom_ = 0, follow_ = 0;
  int64_t from_ = 0, depth_ = 0;  // the columns of x that are multiplied
};

}  // namespace
}  // namespace dense_loops

bool dense_fits(int64_t rows, int64_t depth, int64_t columns) {
  return lanes::available() && rows >= dense_loops::kRows && columns >= dense_loops::L && depth >= dense_loops::L;
}

void dense(const Dense& p) {
  using dense_loops::kTogether;
  constexpr int64_t kLeast = 1 << 18;  // products from which on another thread saves time
  constexpr int64_t kPanel = dense_loops::kWidth * dense_loops::L, kRows = dense_loops::kRows;
  const auto divided = [](int64_t n, int64_t by) { return (n + by - 1) / by; };
  // Threads compute columns of all rows, or of a part of the rows if the largest share of columns would take longer. To
  // transpose w takes as long as to multiply about eight rows, and each part of the rows does so.
  const int64_t threads = most_threads(), panels = divided(p.columns, kPanel);
  const int64_t few = std::min(p.rows, divided(divided(p.rows, kRows), threads) * kRows);
  const int64_t most = std::min(p.columns, divided(panels, threads) * kPanel);
  const int64_t rows = most * (p.rows + 8) <= p.columns * (few + 8) ? p.rows : few;
  const int64_t least = std::max<int64_t>(1, kLeast / (kPanel * p.depth * rows));
  // An item is a panel of a part of the rows. Sums are added in the same order in any piece and any thread.
  on_demand(divided(p.rows, rows) * panels, least, kTogether, [&](auto&& next) {
    dense_loops::Part part(p, p.columns);
    for (Shares::Piece piece; next(piece);)
      for (int64_t i = piece.begin, end; i < piece.end; i = end) {
        const int64_t top = i / panels * rows, before = i - i % panels;
        end = std::min(piece.end, before + panels);
        const auto column = [&](int64_t item) { return std::min(p.columns, (item - before) * kPanel); };
        part.compute(top, std::min(p.rows, top + rows), column(i), column(end), column(piece.follow));
      }
  });
}

}  // namespace cg::kernels
