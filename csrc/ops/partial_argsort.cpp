// Partial argsort: the positions of the first elements in sorted order, without sorting the other elements.
#include <ATen/ops/sort.h>
#include <ATen/ops/topk.h>

#include <algorithm>
#include <vector>

#include "core/deferred.h"
#include "kernels/raw.h"
#include "kernels/threads.h"
#include "ops/functions.h"

namespace cg {
namespace {

// Whether a is before b in sorted order, in which NaN is larger than every number.
template <bool descending, class T>
bool in_front(T a, T b) {
  return descending ? a > b || (a != a && b == b) : a < b || (b != b && a == a);
}
template <class T>
struct Placed {
  T value;
  int64_t place;
};

// Writes the places of the first k of n elements in sorted order. `kept` collects the elements that are before the k-th
// one of those read so far. It has room for 2 k + 8 elements; whenever it is full, its first k stay. An element that
// equals the k-th one is not collected, because the order is stable.
template <bool descending, class T>
void first_of(int64_t n, const T* x, int64_t k, std::vector<Placed<T>>& kept, int64_t* to) {
  const auto less = [](const Placed<T>& a, const Placed<T>& b) {
    return in_front<descending>(a.value, b.value) || (!in_front<descending>(b.value, a.value) && a.place < b.place);
  };
  const int64_t room = 2 * k + 8;
  kept.resize(room);
  int64_t count = 0, i = 0;
  if (k <= 8) {  // insertion into a sorted row takes less time for few elements
    for (; i < n; ++i) {
      if (count == k && !in_front<descending>(x[i], kept[k - 1].value)) continue;
      int64_t j = count < k ? count++ : k - 1;
      for (; j > 0 && in_front<descending>(x[i], kept[j - 1].value); --j) kept[j] = kept[j - 1];
      kept[j] = {x[i], i};
    }
    for (int64_t j = 0; j < k; ++j) to[j] = kept[j].place;
    return;
  }
  for (; i < std::min(n, room); ++i) kept[count++] = {x[i], i};
  while (i < n) {
    std::nth_element(kept.begin(), kept.begin() + (k - 1), kept.begin() + count, less);
    count = k;
    const T last = kept[k - 1].value;
    for (; i < n && count < room; ++i)
      if (in_front<descending>(x[i], last)) kept[count++] = {x[i], i};
  }
  std::partial_sort(kept.begin(), kept.begin() + k, kept.begin() + count, less);
  for (int64_t j = 0; j < k; ++j) to[j] = kept[j].place;
}
template <class T>
void first_of_lines(const Tensor& lines, int64_t k, bool descending, int64_t* to) {
  const int64_t n = lines.size(-1);
  const T* const x = lines.const_data_ptr<T>();
  kernels::in_threads(lines.numel() / n, kernels::kGrain / n + 1, [&](int64_t begin, int64_t end) {
    std::vector<Placed<T>> kept;
    for (int64_t i = begin; i < end; ++i)
      (descending ? first_of<true, T> : first_of<false, T>)(n, x + i * n, k, kept, to + i * k);
  });
}

struct PartialArgsort {
  int64_t k = 1, axis = -1;
  bool reverse = false;
  static constexpr auto params() {
    return std::make_tuple(required("k", &PartialArgsort::k), param("axis", &PartialArgsort::axis),
                           param("reverse", &PartialArgsort::reverse));
  }
  static constexpr Mask saves = 0;

  // For tensors that are not in main memory, and for a quarter or more of the elements of a line.
  Tensor by_sorting(const Tensor& x, int64_t a, int64_t n) const {
    if (4 * k < n && kernels::plain(x) && !x.is_cpu() && x.scalar_type() != at::kBool) {
      const auto [values, places] = at::topk(x, k + 1, a, reverse);
      // at::topk takes any of several equal elements, so its positions are right only if no two values are equal
      if (values.narrow(a, 0, k).ne(values.narrow(a, 1, k)).all().item<bool>())
        return places.narrow(a, 0, k).clone(at::MemoryFormat::Contiguous);
    }
    const Tensor places = std::get<1>(at::sort(x, /*stable=*/true, a, reverse));
    // A view would keep the places of all elements in memory
    return k == n ? places.contiguous() : places.narrow(a, 0, k).clone(at::MemoryFormat::Contiguous);
  }
  Ints result(const Tensor& x) const {
    const int64_t a = wrap_axis(axis, x.dim()), n = x.dim() ? x.size(a) : 1, least = x.dim() ? 0 : 1;
    TORCH_CHECK_VALUE(k >= least && k <= n, "partial_argsort: k must be in [", least, ", ", n,
                      "], the size of the axis, not ", k);
    Ints sizes = ints(x.sizes());
    if (x.dim()) sizes[a] = k;
    return sizes;
  }
  Tensor infer(const Tensor& x) const { return hollow(result(x), at::kLong, x.device()); }
  Tensor forward(const Tensor& x) {
    const Ints sizes = result(x);
    const int64_t a = wrap_axis(axis, x.dim()), n = x.dim() ? x.size(a) : 1;
    const at::ScalarType t = x.scalar_type();
    if (!x.device().is_cpu() || !kernels::plain(x) || x.dim() == 0 || 4 * k >= n || k == 0 || x.numel() == 0 ||
        c10::isComplexType(t))
      return by_sorting(x, a, n);
    const at::ScalarType key = t == at::kDouble          ? at::kDouble
                               : at::isFloatingType(t)   ? at::kFloat
                               : c10::elementSize(t) < 4 ? at::kInt
                                                         : t;
    const Tensor lines = x.movedim(a, -1).contiguous().to(key);
    Ints moved = ints(lines.sizes());
    moved.back() = k;
    const Tensor places = at::empty(moved, lines.options().dtype(at::kLong));
    int64_t* const to = places.mutable_data_ptr<int64_t>();
    if (key == at::kDouble)
      first_of_lines<double>(lines, k, reverse, to);
    else if (key == at::kFloat)
      first_of_lines<float>(lines, k, reverse, to);
    else if (key == at::kInt)
      first_of_lines<int32_t>(lines, k, reverse, to);
    else if (key == at::kLong)
      first_of_lines<int64_t>(lines, k, reverse, to);
    else
      return by_sorting(x, a, n);
    return places.movedim(-1, a).contiguous();
  }
  template <class T>
  void backward(Ctx<T>&) {}
};
CG_OP("partial_argsort", PartialArgsort,
      "The positions of the first k elements in sorted order along an axis; equal elements keep their order.")

}  // namespace
}  // namespace cg
