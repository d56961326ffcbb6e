// The forward-backward recursion of connectionist temporal classification by a loop on the host, in the type of the
// data: the number that stands for the logarithm of 0 is so large that, as in the original, terms added to it are lost
// to rounding.
#pragma once
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace cg {

// Three transitions lead to a state, and three leave it: from itself or to itself, the next state, and the one after a
// skipped blank.
template <class X>
class CtcChain {
 public:
  CtcChain(int64_t time, int64_t batch, int64_t classes, int64_t states, X low)
      : time_(time), batch_(batch), classes_(classes), states_(states), low_(low), now_(states), next_(states) {}

  struct Sample {
    const int64_t *labels, *before, *after;  // (states), (states, 3), (states, 3)
    const bool *may_come, *may_go, *inside;  // (states, 3), (states, 3), (states)
    const X *begin, *end;                    // (states): initial values before the first and after the last step
    const bool* running;                     // of this sample: the column of (time, batch)
  };
  // Fills sample b of `through` (time, batch, states), the logarithm of the probability of all paths through each
  // state. Returns the logarithm of the probability of all paths.
  X run(const X* log_p, const Sample& s, int64_t b, X* through) {
    std::copy_n(s.begin, states_, now_.data());
    for (int64_t t = 0; t < time_; ++t) {
      const X* p = log_p + (t * batch_ + b) * classes_;
      X* to = through + (t * batch_ + b) * states_;
      for (int64_t i = 0; i < states_; ++i) to[i] = moved(s.before + 3 * i, s.may_come + 3 * i) + p[s.labels[i]];
      std::copy_n(to, states_, now_.data());
    }
    std::copy_n(s.end, states_, now_.data());
    for (int64_t t = time_ - 1; t >= 0; --t) {
      const X* p = log_p + (t * batch_ + b) * classes_;
      X* to = through + (t * batch_ + b) * states_;
      for (int64_t i = 0; i < states_; ++i) next_[i] = moved(s.after + 3 * i, s.may_go + 3 * i);
      for (int64_t i = 0; i < states_; ++i) to[i] += next_[i];
      for (int64_t i = 0; i < states_; ++i) now_[i] = s.running[t * batch_] ? next_[i] + p[s.labels[i]] : s.end[i];
    }
    const X* first = through + b * states_;
    const auto part = [&](int64_t i) { return s.inside[i] ? first[i] : 2 * low_; };
    X top = part(0), sum = 0;
    for (int64_t i = 1; i < states_; ++i) top = std::max(top, part(i));
    for (int64_t i = 0; i < states_; ++i) sum += share(part(i), finite(top));
    return std::log(sum) + finite(top);
  }

 private:
  // As in at::logsumexp, the largest term is not factored out if it is infinite.
  static X finite(X x) { return std::isfinite(x) ? x : 0; }
  // exp(x - top), without calling exp for the largest term and for negligible terms, which are most.
  static X share(X x, X top) { return x == top ? X(1) : x - top < -750 ? X(0) : std::exp(x - top); }
  X moved(const int64_t* places, const bool* may) const {
    const X a = may[0] ? now_[places[0]] : low_, b = may[1] ? now_[places[1]] : low_;
    const X c = may[2] ? now_[places[2]] : low_, top = finite(std::max(a, std::max(b, c)));
    return std::log(share(a, top) + share(b, top) + share(c, top)) + top;
  }

  int64_t time_, batch_, classes_, states_;
  X low_;
  std::vector<X> now_, next_;
};

}  // namespace cg
