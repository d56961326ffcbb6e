// Overlap of boxes, non-maximum suppression and matching.
#include "ops/detection.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/zeros.h>

#include "kernels/trace.h"
#include "ops/gather.h"

namespace cg {
namespace {

using namespace detection;

struct BoxIou {
  bool centered = false;
  static constexpr auto params() { return std::make_tuple(param("centered", &BoxIou::centered)); }
  static constexpr bool any_dtype = true;
  static constexpr Mask saves = 0;

  Tensor formula(const Tensor& lhs, const Tensor& rhs) const {
    const auto sides = [&](const Tensor& t) {
      const Tensor low = t.slice(1, 0, 2), high = t.slice(1, 2, 4);
      return centered ? std::pair(low - high / 2, low + high / 2) : std::pair(low, high);
    };
    const auto product = [](const Tensor& sizes) {
      const Tensor s = at::clamp(sizes, 0);
      return s.select(-1, 0) * s.select(-1, 1);
    };
    const auto [a0, a1] = sides(lhs);
    const auto [b0, b1] = sides(rhs);
    const Tensor both =
        product(at::minimum(a1.unsqueeze(1), b1.unsqueeze(0)) - at::maximum(a0.unsqueeze(1), b0.unsqueeze(0)));
    const Tensor all = product(a1 - a0).unsqueeze(1) + product(b1 - b0).unsqueeze(0) - both;
    return at::where(both > 0, both / all, at::zeros_like(both));
  }
  Tensor forward(const Tensor& lhs, const Tensor& rhs) {
    for (const Tensor* t : {&lhs, &rhs})
      TORCH_CHECK_VALUE(t->dim() > 0 && t->size(-1) == 4, "box_iou: boxes must have a last axis of length 4, not ",
                        t->sizes());
    Ints shape = ints(lhs.sizes().slice(0, lhs.dim() - 1));
    shape.append(rhs.sizes().begin(), rhs.sizes().end() - 1);
    if (lhs.is_meta()) return at::empty(shape, lhs.options());
    if (!by_loop(lhs) || !by_loop(rhs)) {
      const Tensor a = lhs.reshape({lhs.numel() / 4, 4}), b = rhs.to(lhs.options()).reshape({rhs.numel() / 4, 4});
      return formula(a, b).reshape(shape);
    }
    const Tensor y = at::empty(shape, lhs.options());
    by_dtype("box_iou", lhs.scalar_type(), [&]<class T>(T) {
      const auto box = [&](const T* p) { return centered ? Box<T>::centered(p) : Box<T>::corners(p); };
      const Tensor a = host(lhs, lhs.scalar_type()), b = host(rhs, lhs.scalar_type());
      const T *p = a.const_data_ptr<T>(), *q = b.const_data_ptr<T>();
      Boxes<T> many;
      for (int64_t i = 0; i < b.numel(); i += 4) many.add(box(q + i));
      std::vector<Wide<T>> row(many.size());
      T* to = y.mutable_data_ptr<T>();
      for (int64_t i = 0; i < a.numel(); i += 4) {
        many.overlap_with(box(p + i), row.data());
        to = std::copy(row.begin(), row.end(), to);
      }
    });
    return y;
  }
  template <class T>
  void backward(Ctx<T>&) {}
};
CG_OP("box_iou", BoxIou,
      "Intersection over union of all boxes of lhs (..., 4) with all of rhs (..., 4): as corners, or with centered: x "
      "and y of the center, width, height. Not differentiated.")

struct BoxSuppression {
  double threshold = 0.5;
  static constexpr auto params() { return std::make_tuple(param("threshold", &BoxSuppression::threshold)); }
  static constexpr bool any_dtype = true;
  static constexpr Mask optional = in_bit(1);
  static constexpr Mask saves = 0;

  Tensor forward(const Tensor& boxes, const Tensor& classes) {
    TORCH_CHECK_VALUE(boxes.dim() == 2 && boxes.size(1) == 4, "box_suppression: boxes must have the shape (n, 4), not ",
                      boxes.sizes());
    const int64_t n = boxes.size(0);
    TORCH_CHECK_VALUE(!classes.defined() || classes.numel() == n, "box_suppression: ", n, " boxes, but ",
                      classes.defined() ? classes.numel() : 0, " classes");
    if (boxes.is_meta()) return at::full({n}, true, boxes.options().dtype(at::kBool));
    kernels::reads_values("box_suppression", boxes);
    const Tensor b = host(boxes, at::kDouble), k = classes.defined() ? host(classes, at::kDouble) : Tensor();
    std::vector<Box<double>> listed;
    for (int64_t i = 0; i < n; ++i) listed.push_back(Box<double>::corners(b.const_data_ptr<double>() + 4 * i));
    const double* kinds = k.defined() ? k.const_data_ptr<double>() : nullptr;
    const Tensor stays = at::full({n}, false, at::TensorOptions(at::kBool));
    for (int64_t i :
         Suppression<double>{threshold}(listed, kinds ? std::vector<float>(kinds, kinds + n) : std::vector<float>()))
      stays.mutable_data_ptr<bool>()[i] = true;
    return stays.to(boxes.device());
  }
  template <class T>
  void backward(Ctx<T>&) {}
};
CG_OP("box_suppression", BoxSuppression,
      "Which of boxes (n, 4), corners, sorted from best to worst, are kept: a box is removed if it overlaps a better "
      "kept box of the same class by more than threshold. Not differentiated.")

struct BoxNms {
  double overlap_thresh = 0.5, valid_thresh = 0;
  int64_t topk = -1, coord_start = 2, score_index = 1, id_index = -1, background_id = -1;
  bool force_suppress = false, centered_in = false, centered_out = false;
  static constexpr auto params() {
    using Op = BoxNms;
    return std::make_tuple(param("overlap_thresh", &Op::overlap_thresh), param("valid_thresh", &Op::valid_thresh),
                           param("topk", &Op::topk), param("coord_start", &Op::coord_start),
                           param("score_index", &Op::score_index), param("id_index", &Op::id_index),
                           param("background_id", &Op::background_id), param("force_suppress", &Op::force_suppress),
                           param("centered_in", &Op::centered_in), param("centered_out", &Op::centered_out));
  }
  static constexpr Mask saves = 0;
  // Three tensors of shape (batch, boxes, 1), for each box of the result: the input box that it is; 1 if it is an input
  // box; 1 if its format was changed.
  Tensor places, there, changed;
  static constexpr auto stored() {
    return std::make_tuple(param("places", &BoxNms::places), param("there", &BoxNms::there),
                           param("changed", &BoxNms::changed));
  }

  // The indices of the boxes of one image that are kept.
  template <class T>
  std::vector<int64_t> stay(const T* x, int64_t n, int64_t width) const {
    std::vector<int64_t> order;
    const T least(static_cast<float>(valid_thresh)), background(static_cast<float>(background_id));
    for (int64_t i = 0; i < n; ++i) {
      const T* row = x + i * width;
      if (row[score_index] > least && !(id_index >= 0 && row[id_index] == background)) order.push_back(i);
    }
    rank(order, x + score_index, width);
    if (topk > 0 && topk < static_cast<int64_t>(order.size())) order.resize(topk);
    const bool sorted = id_index >= 0 && !force_suppress;
    std::vector<Box<T>> boxes;
    std::vector<float> classes;
    for (int64_t i : order) {
      const T* row = x + i * width;
      boxes.push_back(centered_in ? Box<T>::centered(row + coord_start) : Box<T>::corners(row + coord_start));
      if (sorted) classes.push_back(std::trunc(static_cast<float>(row[id_index])));
    }
    auto kept = Suppression<T>{static_cast<float>(overlap_thresh)}(boxes, classes);
    for (int64_t& i : kept) i = order[i];
    return kept;
  }
  // Converts four numbers to the other format. Boxes with a negative first number are not converted.
  template <class T>
  bool change(T* p) const {
    if (p[0] < 0) return false;
    const T a = p[0], b = p[1], c = p[2], d = p[3];
    if (centered_out) {
      p[0] = (a + c) / 2, p[1] = (b + d) / 2, p[2] = c - a, p[3] = d - b;
    } else {
      const Box<T> box = Box<T>::centered(p);
      p[0] = static_cast<T>(box.x0), p[1] = static_cast<T>(box.y0);
      p[2] = static_cast<T>(box.x1), p[3] = static_cast<T>(box.y1);
    }
    return true;
  }
  Tensor forward(const Tensor& x) {
    TORCH_CHECK_VALUE(x.dim() == 3, "box_nms: x must be (batch, boxes, numbers of a box), not ", x.sizes());
    const int64_t batch = x.size(0), n = x.size(1), width = x.size(2);
    TORCH_CHECK_VALUE(
        0 <= coord_start && coord_start <= width - 4 && 0 <= score_index && score_index < width && id_index < width,
        "box_nms: coord_start ", coord_start, ", score_index ", score_index, " and id_index ", id_index,
        " are not all within boxes of ", width, " numbers");
    if (x.is_meta()) {
      places = at::empty({batch, n, 1}, x.options().dtype(at::kLong));
      there = changed = at::empty({batch, n, 1}, x.options());
      return at::empty(x.sizes(), x.options());
    }
    kernels::reads_values("box_nms", x);
    const auto options = at::TensorOptions(at::kCPU);
    const Tensor from = host(x, x.scalar_type()), y = at::full(x.sizes(), -1, options.dtype(x.scalar_type()));
    places = at::zeros({batch, n, 1}, options.dtype(at::kLong));
    there = at::zeros({batch, n, 1}, options.dtype(x.scalar_type()));
    changed = at::zeros_like(there);
    by_dtype("box_nms", x.scalar_type(), [&]<class T>(T) {
      for (int64_t b = 0; b < batch; ++b) {
        const T* image = from.const_data_ptr<T>() + b * n * width;
        T* to = y.mutable_data_ptr<T>() + b * n * width;
        int64_t k = b * n;
        for (int64_t i : topk ? stay(image, n, width) : numbers_to(n)) {  // topk 0: all boxes, unchanged
          std::copy_n(image + i * width, width, to);
          const bool other = topk && centered_in != centered_out && change(to + coord_start);
          places.mutable_data_ptr<int64_t>()[k] = i;
          there.mutable_data_ptr<T>()[k] = 1;
          changed.mutable_data_ptr<T>()[k++] = other;
          to += width;
        }
      }
    });
    places = places.to(x.device()), there = there.to(x.device()), changed = changed.to(x.device());
    return y.to(x.device());
  }
  // The conversion of a box's numbers to the other format as a matrix (from, to).
  Tensor matrix(const Tensor& like, int64_t width) const {
    const double half[4][4] = {{1, 0, 1, 0}, {0, 1, 0, 1}, {-0.5, 0, 0.5, 0}, {0, -0.5, 0, 0.5}};
    const double full[4][4] = {{0.5, 0, -1, 0}, {0, 0.5, 0, -1}, {0.5, 0, 1, 0}, {0, 0.5, 0, 1}};
    std::vector<double> m(width * width);
    for (int64_t i = 0; i < width; ++i) m[i * width + i] = 1;
    for (int64_t i = 0; i < 4; ++i)
      for (int64_t j = 0; j < 4; ++j)
        m[(coord_start + i) * width + coord_start + j] = centered_out ? full[i][j] : half[i][j];
    return kernels::constant(m, at::kDouble).to(like.options()).reshape({width, width});
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] {
      const auto sizes = c.gy().sizes();  // those of x in forward
      T g = c.gy() * c.saved(there);
      if (centered_in != centered_out) {
        const T turned = matmul(g, transpose(T(matrix(value(g), sizes[2])), 0, 1));
        g = g + (turned - g) * c.saved(changed);
      }
      return scatter_along(g, broadcast_to(c.saved(places), sizes), 1, sizes);
    });
  }
};
CG_OP("box_nms", BoxNms,
      "Boxes x (batch, boxes, width) sorted by decreasing scores, without boxes that overlap a better one by more than "
      "overlap_thresh; the removed ones are replaced by rows of -1 at the end. coord_start, score_index and id_index: "
      "the columns of the four coordinates (corners, or with centered_in center and size), of the score and, unless "
      "negative, of the class. Boxes whose score is not above valid_thresh, boxes of class background_id and all but "
      "the best topk are removed, too; a box does not suppress boxes of other classes, unless force_suppress. "
      "centered_out: return centers and sizes.")

struct BipartiteMatching {
  bool smallest = false;
  double threshold = 0;
  int64_t topk = -1;
  static constexpr auto params() {
    using Op = BipartiteMatching;
    return std::make_tuple(required("threshold", &Op::threshold), param("smallest", &Op::smallest),
                           param("topk", &Op::topk));
  }
  static constexpr Mask saves = 0;

  std::tuple<Tensor, Tensor> forward(const Tensor& x) {
    TORCH_CHECK_VALUE(x.dim() == 3, "bipartite_matching: x must be (batch, rows, columns), not ", x.sizes());
    const int64_t batch = x.size(0), n = x.size(1), m = x.size(2);
    if (x.is_meta()) return {at::empty({batch, n}, x.options()), at::empty({batch, m}, x.options())};
    kernels::reads_values("bipartite_matching", x);
    const Tensor from = host(x, x.scalar_type());
    const Tensor rows = at::full({batch, n}, -1, from.options()), columns = at::full({batch, m}, -1, from.options());
    by_dtype("bipartite_matching", x.scalar_type(), [&]<class T>(T) {
      const double limit = static_cast<float>(threshold);
      for (int64_t b = 0; b < batch; ++b) {
        T *row = rows.mutable_data_ptr<T>() + b * n, *column = columns.mutable_data_ptr<T>() + b * m;
        int64_t count = 0;
        match(
            from.const_data_ptr<T>() + b * n * m, n, m, smallest, false,
            [&](Wide<T> v) { return smallest ? static_cast<double>(v) < limit : static_cast<double>(v) > limit; },
            [&](int64_t i, int64_t j) {
              row[i] = static_cast<T>(j), column[j] = static_cast<T>(i);
              return topk <= 0 || ++count <= topk;
            });
      }
    });
    return {rows.to(x.device()), columns.to(x.device())};
  }
  template <class T>
  void backward(Ctx<T>&) {}
};
CG_OP("bipartite_matching", BipartiteMatching,
      "Pairs of rows and columns of scores x (batch, n, m) above threshold (smallest: below it), the best first, with "
      "each row and column in at most one pair: the column of each row (batch, n), and the row of each column (batch, "
      "m); -1: none. With topk > 0 it ends after topk + 1 pairs. Not differentiated.")

}  // namespace
}  // namespace cg
