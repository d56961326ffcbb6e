// Images sampled between pixels at a grid of positions. Two-dimensional images use the columns of deformable
// convolution with one tap, whose gradients are such columns again; volumes use ATen's kernels, and in a recorded pass
// the op `pixels`.
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/grid_sampler_3d.h>
#include <ATen/ops/grid_sampler_3d_backward.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>

#include "core/named.h"
#include "kernels/trace.h"
#include "ops/index.h"

namespace cg {
namespace {

struct SampleGrid {
  std::string mode = "linear", padding = "zero";
  bool align_corners = true, channel_last = false, flow = false, rim = false, nan = false;
  int64_t axis = -1;
  static constexpr auto params() {
    return std::make_tuple(param("mode", &SampleGrid::mode), param("padding", &SampleGrid::padding),
                           param("align_corners", &SampleGrid::align_corners),
                           param("channel_last", &SampleGrid::channel_last), param("flow", &SampleGrid::flow),
                           param("rim", &SampleGrid::rim), param("nan", &SampleGrid::nan),
                           param("axis", &SampleGrid::axis));
  }
  static constexpr Mask saves = in_bit(0) | in_bit(1);

  bool linear() const { return mode == "linear"; }
  bool bounded() const { return padding != "zero"; }
  static int64_t axes(const Tensor& x) { return x.dim() - 2; }
  void check(const Tensor& x, const Tensor& grid) const {
    TORCH_CHECK_VALUE(linear() || mode == "nearest", "sample_grid: mode must be 'linear' or 'nearest', not '", mode,
                      "'");
    TORCH_CHECK_VALUE(!bounded() || padding == "repeat" || padding == "reflect",
                      "sample_grid: padding must be 'zero', 'repeat' or 'reflect', not '", padding, "'");
    TORCH_CHECK_VALUE(axis == 1 || axis == -1, "sample_grid: axis must be 1 or -1, not ", axis);
    TORCH_CHECK_VALUE((x.dim() == 4 || (x.dim() == 5 && !flow)) && grid.dim() == x.dim() &&
                          grid.size(axis) == axes(x) && grid.size(0) == x.size(0),
                      "sample_grid: a grid of shape ", grid.sizes(), " does not fit images of shape ", x.sizes());
  }
  template <class T>
  T channels_first(const T& x) const {
    if (!channel_last) return x;
    Ints order{0, value(x).dim() - 1};
    for (int64_t a = 1; a + 1 < value(x).dim(); ++a) order.push_back(a);
    const T y = permute(x, order);
    if constexpr (std::is_same_v<T, Tensor>)
      return y.contiguous();  // made contiguous once for all readers
    else
      return y;
  }
  template <class T>
  T channels_back(const T& y) const {
    if (!channel_last) return y;
    Ints order{0};
    for (int64_t a = 2; a < value(y).dim(); ++a) order.push_back(a);
    order.push_back(1);
    return permute(y, order);
  }

  // ---- positions in pixels, for each axis of the grid: the image's last axis comes first ----------------------------
  // The position in pixels is (grid + 1) * scale, minus 0.5 without align_corners.
  double scale(int64_t size) const { return flow ? 1 : static_cast<double>(align_corners ? size - 1 : size) / 2; }
  template <class T>
  T unbounded(const T& grid, int64_t d, int64_t size) const {
    const T g = get_item(grid, axis == 1 ? Index{IndexItem::slice({}, {}), IndexItem::integer(d)}
                                         : Index{IndexItem::ellipsis(), IndexItem::integer(d)});
    if (flow) {
      const Tensor ramp = at::arange(size, value(g).options());
      return g + T(d ? ramp.unsqueeze(1) : ramp);
    }
    const T p = (g + 1) * scale(size);
    return align_corners ? p : p - 0.5;
  }
  Named border(const char* op, int64_t size) const {
    return std::move(Named(find_op(op)).with("size", size).with("mode", padding).with("align_corners", align_corners));
  }
  template <class T>
  T place(const T& grid, int64_t d, int64_t size) const {
    const T p = unbounded(grid, d, size);
    return bounded() ? border("border_coordinate", size)(p) : p;
  }
  // Converts gradients of positions to gradients of the grid.
  template <class T>
  T from_places(const T& grid, const std::vector<T>& gradients, at::IntArrayRef image) const {
    std::vector<T> parts;
    for (int64_t d = 0; d < static_cast<int64_t>(image.size()); ++d) {
      const int64_t size = image[image.size() - 1 - d];
      T g = gradients[d];
      if (bounded()) g = border("border_coordinate_grad", size)(g, unbounded(grid, d, size));
      Ints shape = ints(value(grid).sizes());
      shape[wrap_axis(axis, value(grid).dim())] = 1;
      parts.push_back(reshape(flow ? g : g * scale(size), shape));
    }
    return concat(c10::ArrayRef<T>(parts), wrap_axis(axis, value(grid).dim()));
  }
  static int64_t size_of(at::IntArrayRef image, int64_t d) { return image[image.size() - 1 - d]; }

  // ---- two-dimensional images ---------------------------------------------------------------------------------------
  // Chainer adds the gradient of a sample at NaN to the first pixels, MXNet to none.
  Named columns_grad() const { return columns("deform_columns_grad", nan && rim); }
  Named columns(const char* op) const { return columns(op, nan); }
  Named columns(const char* op, bool at_nan) const {
    const Ints none{0, 0};
    return std::move(
        Named(find_op(op)).with("ksize", Ints{1, 1}).with("stride", none).with("clamp", flow).with("nan", at_nan));
  }
  template <class T>
  T rows_and_columns(const T& grid, at::IntArrayRef image) const {
    std::vector<T> parts;
    for (int64_t d : {1, 0}) {
      T p = place(grid, d, size_of(image, d));
      // Columns are 0 from position -1 on, so that position -1 itself gets no gradient, as is right with `rim`.
      // Otherwise such positions are moved by a rounding unit, so that they get one.
      if (rim)
        p = (p + 1) - 1;  // the rounding of a position counted from the rim
      else if (!bounded() && !flow)
        p = p + frozen(
                    [](const Tensor& t) {
                      const int digits = t.element_size() == 8          ? 53
                                         : t.element_size() == 4        ? 24
                                         : t.scalar_type() == at::kHalf ? 11
                                                                        : 8;
                      return t.eq(-1).to(t.scalar_type()).mul_(std::ldexp(1.0, -digits));
                    },
                    p);
      const at::IntArrayRef s = value(p).sizes();
      parts.push_back(reshape(p, {s[0], 1, s[1], s[2]}));
    }
    return concat(c10::ArrayRef<T>(parts), 1);
  }

  // ---- volumes, and the nearest pixels ------------------------------------------------------------------------------
  // Integer positions (batch, ..., axes), which have no gradient.
  template <class T>
  T whole(const T& grid, at::IntArrayRef image) const {
    return frozen(
        [op = *this, sizes = ints(image)](const Tensor& g) {
          std::vector<Tensor> parts;
          for (int64_t d = 0; d < static_cast<int64_t>(sizes.size()); ++d) {
            const Tensor p = op.place(g, d, size_of(sizes, d));
            // nearest: halves are rounded away from zero
            parts.push_back(op.linear() ? p.floor() : p.sign() * (p.abs() + 0.5).floor());
          }
          return at::stack(parts, -1);
        },
        grid);
  }
  Named pixels(const char* op, const Ints& offset) const {
    return std::move(Named(find_op(op)).with("offset", offset));
  }
  // The gradients with respect to images and positions.
  template <class T>
  void by_pixels(const T& gy, const T& x, const T& grid, T& gx, std::vector<T>& places) const {
    const Ints image = ints(value(x).sizes().slice(2));
    const int64_t n = static_cast<int64_t>(image.size());
    const T low = whole(grid, image);
    std::vector<T> share;
    for (int64_t d = 0; d < n; ++d) {
      const T t =
          place(grid, d, size_of(image, d)) - get_item(low, Index{IndexItem::ellipsis(), IndexItem::integer(d)});
      Ints shape = ints(value(t).sizes());
      shape.insert(shape.begin() + 1, 1);
      share.push_back(reshape(t, shape));
    }
    places.assign(n, T());
    const auto add_to = [](T& sum, const T& term) { sum = value(sum).defined() ? sum + term : term; };
    for (int64_t corner = 0; corner < int64_t(1) << n; ++corner) {
      Ints offset;
      for (int64_t d = 0; d < n; ++d) offset.push_back(corner >> d & 1);
      const auto weighed = [&](T w, int64_t without) {
        for (int64_t d = 0; d < n; ++d)
          if (d != without) w = w * (offset[d] ? share[d] : 1 - share[d]);
        return w;
      };
      add_to(gx, pixels("pixels_grad", offset).with("size", image)(weighed(gy, -1), low));
      const T product = sum(gy * pixels("pixels", offset)(x, low), {1}, true);
      for (int64_t d = 0; d < n; ++d) add_to(places[d], weighed(offset[d] ? product : negated(product), d));
    }
    for (T& g : places) {
      Ints shape = ints(value(g).sizes());
      shape.erase(shape.begin() + 1);
      g = reshape(g, shape);
    }
  }
  int64_t aten_padding() const { return padding == "zero" ? 0 : padding == "repeat" ? 1 : 2; }
  static Tensor wide(const Tensor& x) { return x.element_size() < 4 ? x.to(at::kFloat) : x; }
  // Whether a position is exactly at the end of an axis, where ATen's derivative differs; unknown in a trace.
  bool at_ends(const Tensor& grid, at::IntArrayRef image) const {
    if (!bounded()) return false;
    if (kernels::traced(grid)) return true;
    for (int64_t d = 0; d < static_cast<int64_t>(image.size()); ++d) {
      const int64_t size = size_of(image, d);
      const Tensor p = unbounded(grid, d, size), q = place(grid, d, size);
      const Tensor slope = border("border_coordinate_grad", size)(at::ones_like(p), p);
      if (q.eq(0).logical_or_(q.eq(size - 1)).logical_and_(slope.ne(0)).any().item<bool>()) return true;
    }
    return false;
  }

  Tensor infer(const Tensor& x, const Tensor& grid) {
    check(x, grid);
    Ints shape{x.size(0)};
    if (!channel_last) shape.push_back(x.size(1));
    for (int64_t a = 1; a < grid.dim(); ++a)
      if (a != wrap_axis(axis, grid.dim())) shape.push_back(grid.size(a));
    if (channel_last) shape.push_back(x.size(-1));
    return at::empty(shape, x.options());
  }
  Tensor forward(const Tensor& given, const Tensor& grid) {
    check(given, grid);
    const Tensor x = channels_first(given);
    const at::IntArrayRef image = x.sizes().slice(2);
    Tensor y;
    if (!linear())
      y = pixels("pixels", Ints(image.size(), 0))(x, whole(grid, image));
    else if (axes(x) == 2)
      y = columns("deform_columns")(x, rows_and_columns(grid, image));
    else
      y = at::grid_sampler_3d(wide(x), wide(grid.movedim(axis, -1)), 0, aten_padding(), align_corners)
              .to(x.scalar_type());
    return channel_last ? channels_back(y).contiguous() : y;
  }
  template <class T>
  void backward(Ctx<T>& c) {
    const T x = channels_first(c.in(0)), grid = c.in(1), gy = channels_first(c.gy());
    const Ints image = ints(value(x).sizes().slice(2)), whole_size = ints(value(x).sizes());
    if (!linear()) {
      c.grad(0, [&] {
        const T at = whole(grid, image);
        return channels_back(pixels("pixels_grad", Ints(image.size(), 0)).with("size", image)(gy, at));
      });
      c.grad(1, [&] { return zeros_as(grid); });
      return;
    }
    if (image.size() == 2) {
      const T at = rows_and_columns(grid, image);
      c.grad(0, [&] { return channels_back(columns_grad().with("insize", whole_size)(gy, at)); });
      c.grad(1, [&] {
        const T g = columns("deform_factors_grad").with("orders", Ints{1, 2})(gy, x, at);
        const auto of = [&](int64_t k) { return get_item(g, Index{IndexItem::slice({}, {}), IndexItem::integer(k)}); };
        return from_places(grid, std::vector<T>{of(1), of(0)}, image);
      });
      return;
    }
    T gx;
    if constexpr (std::is_same_v<T, Tensor>) {
      if (!at_ends(grid, image)) {
        Tensor g;
        std::tie(gx, g) =
            at::grid_sampler_3d_backward(wide(gy), wide(x), wide(grid.movedim(axis, -1)), 0, aten_padding(),
                                         align_corners, std::array<bool, 2>{c.needs(0), c.needs(1)});
        c.grad(0, [&] { return channels_back(gx.to(x.scalar_type())); });
        c.grad(1, [&] { return g.movedim(-1, axis).to(grid.scalar_type()); });
        return;
      }
    }
    std::vector<T> places;
    by_pixels(gy, x, grid, gx, places);
    c.grad(0, [&] { return channels_back(gx); });
    c.grad(1, [&] { return from_places(grid, places, image); });
  }
};
CG_OP(
    "sample_grid", SampleGrid,
    "Images (batch, channels, ...) of two or three axes (with channel_last the channels are the last axis), sampled "
    "at the positions in a grid (batch, ..., axes), or with axis=1 (batch, axes, ...), the image's last axis first. "
    "With align_corners -1 ... 1 is the range between the centres of the outermost pixels, else between the outer "
    "edges. flow: the grid says by how many pixels each position is shifted. mode: 'linear' or 'nearest'. padding: "
    "'zero' beyond the border, or positions are mapped as by border_coordinate. nan: linear samples of an image at NaN "
    "are NaN, otherwise 0.")

}  // namespace
}  // namespace cg
