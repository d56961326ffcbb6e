#include "kernels/select.h"

#include <ATen/ops/empty_like.h>

#include <algorithm>

#include "kernels/levels.h"
#include "kernels/raw.h"

namespace cg::kernels {
namespace {

constexpr int64_t kConditions = 1024;  // elements whose condition is converted at a time

bool choosable(const at::Tensor& t) { return t.device().is_cpu() && plain(t) && t.is_contiguous() && !t.is_complex(); }

// 1 where a number is not 0.
template <class C>
void not_zero(int64_t n, const C* from, uint8_t* to) {
  detail::run_loop(detail::Once{[=]() __attribute__((always_inline)) {
    CG_IVDEP
    for (int64_t i = 0; i < n; ++i) to[i] = from[i] != 0;
  }});
}
// The condition of elements from `begin` on as bytes, which are 0 or not; in `room` where they have to be converted.
const uint8_t* condition_bytes(const at::Tensor& c, int64_t begin, int64_t n, uint8_t* room) {
  switch (c.scalar_type()) {
    case at::kInt:
      not_zero(n, c.const_data_ptr<int32_t>() + begin, room);
      return room;
    case at::kLong:
      not_zero(n, c.const_data_ptr<int64_t>() + begin, room);
      return room;
    case at::kFloat:
      not_zero(n, c.const_data_ptr<float>() + begin, room);
      return room;
    case at::kDouble:
      not_zero(n, c.const_data_ptr<double>() + begin, room);
      return room;
    default:
      return static_cast<const uint8_t*>(c.const_data_ptr()) + begin;
  }
}
bool has_bytes(at::ScalarType t) {
  return t == at::kBool || t == at::kByte || t == at::kChar || t == at::kInt || t == at::kLong || t == at::kFloat ||
         t == at::kDouble;
}

template <class V>
void choose(int64_t n, const uint8_t* c, const V* a, const V* b, V* to) {
  const V zero{}, *const from = a ? a : b;
  detail::run_loop(detail::Once{[=]() __attribute__((always_inline)) {
    if (a && b) {
      CG_IVDEP
      for (int64_t i = 0; i < n; ++i) {
        const V x = a[i], y = b[i];
        to[i] = c[i] ? x : y;
      }
    } else if (a) {
      CG_IVDEP
      for (int64_t i = 0; i < n; ++i) {
        const V x = from[i];
        to[i] = c[i] ? x : zero;
      }
    } else {
      CG_IVDEP
      for (int64_t i = 0; i < n; ++i) {
        const V x = from[i];
        to[i] = c[i] ? zero : x;
      }
    }
  }});
}
template <class V>
void choose_all(const at::Tensor& c, const at::Tensor& a, const at::Tensor& b, const at::Tensor& y) {
  const auto elements = [](const at::Tensor& t) {
    return t.defined() ? static_cast<const V*>(t.const_data_ptr()) : nullptr;
  };
  const V *const first = elements(a), *const second = elements(b);
  V* const to = static_cast<V*>(y.mutable_data_ptr());
  in_threads(y.numel(), kGrain, [&](int64_t begin, int64_t end) {
    uint8_t room[kConditions];
    for (int64_t i = begin; i < end; i += kConditions) {
      const int64_t n = std::min(kConditions, end - i);
      choose(n, condition_bytes(c, i, n, room), first ? first + i : nullptr, second ? second + i : nullptr, to + i);
    }
  });
}

}  // namespace

at::Tensor selected(const at::Tensor& condition, const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor& x = a.defined() ? a : b;
  const auto fits = [&](const at::Tensor& t) {
    return !t.defined() || (choosable(t) && t.sizes() == x.sizes() && t.scalar_type() == x.scalar_type());
  };
  if (!has_bytes(condition.scalar_type()) || !choosable(condition) || condition.sizes() != x.sizes() || !fits(a) ||
      !fits(b))
    return {};
  const at::Tensor y = at::empty_like(x);
  switch (x.element_size()) {
    case 1:
      choose_all<uint8_t>(condition, a, b, y);
      break;
    case 2:
      choose_all<uint16_t>(condition, a, b, y);
      break;
    case 4:
      choose_all<uint32_t>(condition, a, b, y);
      break;
    case 8:
      choose_all<uint64_t>(condition, a, b, y);
      break;
    default:
      return {};
  }
  return y;
}

}  // namespace cg::kernels
