// Update rules as kernels: operands are parameter, gradient and states, one set per parameter; numbers are the hypers.
#pragma once
#include "kernels/optim_math.h"
#include "kernels/register.h"

namespace cg::optim {

inline constexpr int max_states = 3, max_hypers = 12;

namespace detail {
template <class R>
constexpr unsigned unread() {
  if constexpr (requires { R::unread; }) return R::unread;
  return 0;
}
template <class R>
constexpr unsigned unwritten() {
  if constexpr (requires { R::unwritten; }) return R::unwritten;
  return 0;
}
}  // namespace detail

template <class R>
struct Update {
  static_assert(R::states <= max_states && R::hypers <= max_hypers);
  static constexpr int operands = 2 + R::states;
  static constexpr unsigned reads = kernels::first(operands) & ~detail::unread<R>();
  static constexpr unsigned writes = kernels::first(operands) & ~kernels::mask(1) & ~detail::unwritten<R>();
  // The averages of a unit that gets no gradient any more decay to subnormal numbers, with which processors are slow.
  static constexpr bool flushes_denormals = true;
  double h[R::hypers];
  template <class C>
  CG_FN void operator()(C (&v)[operands]) const {
    C hypers[R::hypers];
    for (int k = 0; k < R::hypers; ++k) hypers[k] = static_cast<C>(h[k]);
    R::step(v[0], v[1], v + 2, hypers);
  }
};

template <class Run, class R>
kernels::Status update(const kernels::Call& c) {
  if (c.n_numbers != R::hypers) return kernels::kBadCall;
  Update<R> f;
  for (int k = 0; k < R::hypers; ++k) f.h[k] = c.numbers[k];
  return kernels::by_dtype(c, [&]<class T>() { return Run::template map_list<T>(f, c); });
}

// For `for_each_rule`: registers a kernel for each rule, under the rule's name.
template <class Run>
struct Enter {
  template <class R>
  void operator()(const char* name) const {
    kernels::Registered(name, update<Run, R>);
  }
};

}  // namespace cg::optim
