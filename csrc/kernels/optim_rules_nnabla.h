// Update rules that only nnabla has; see optim_rules.h.
#pragma once
#include "kernels/optim_math.h"

namespace cg::optim::nn {

struct Momentum {  // v, with the opposite sign of Chainer's; lr, momentum, decay
  static constexpr int states = 1, hypers = 3;
  template <class T, class S>
  static CG_FN void step(T& p, const T& g, T* s, const S* h) {
    s[0] = s[0] * h[1] + g * h[0];
    p = p - s[0] - p * h[2];
  }
};

struct Nesterov {  // v; lr, momentum, 1 + momentum
  static constexpr int states = 1, hypers = 3;
  template <class T, class S>
  static CG_FN void step(T& p, const T& g, T* s, const S* h) {
    const auto kept = s[0] * h[1];
    s[0] = kept - g * h[0];
    p += s[0] * h[2] - kept;
  }
};

struct Adamax {  // m, u; alpha_t, beta1, 1 - beta1, beta2, eps
  static constexpr int states = 2, hypers = 5;
  template <class T, class S>
  static CG_FN void step(T& p, const T& g, T* s, const S* h) {
    s[0] = s[0] * h[1] + g * h[2];
    s[1] = larger(s[1] * h[3], magnitude(g));
    p -= s[0] * h[0] / (s[1] + h[4]);
  }
};

struct Lion {  // m; lr, beta1, beta2, decay
  static constexpr int states = 1, hypers = 4;
  template <class T, class S>
  static CG_FN void step(T& p, const T& g, T* s, const S* h) {
    const auto direction = direction_of(g + (s[0] - g) * h[1]);
    s[0] = g + (s[0] - g) * h[2];
    p -= (direction + p * h[3]) * h[0];
  }
};

struct LambDirection {  // into x, from the gradient; m, v; beta1, 1 - beta1, beta2, 1 - beta2, corrections of m, v, eps
  static constexpr int states = 2, hypers = 7;
  static constexpr unsigned unread = kernels::mask(0);
  template <class T, class S>
  static CG_FN void step(T& x, const T& g, T* s, const S* h) {
    s[0] = s[0] * h[0] + g * h[1];
    s[1] = s[1] * h[2] + g * g * h[3];
    x = s[0] / h[4] / (root(s[1] / h[5]) + h[6]);
  }
};

template <bool amsgrad, bool plain>
struct AdaBelief {  // m, s (, s_max); beta1, 1 - beta1, beta2, 1 - beta2, alpha_t, decay, eps, sqrt(1 - beta2^t)
  static constexpr int states = 2 + amsgrad, hypers = 8;
  template <class T, class S>
  static CG_FN void step(T& p, const T& g, T* s, const S* h) {
    s[0] = s[0] * h[0] + g * h[1];
    const auto surprise = g - s[0];
    s[1] = s[1] * h[2] + surprise * surprise * h[3];
    if constexpr (amsgrad)
      s[2] = larger(s[2], s[1]) + h[6];
    else
      s[1] = s[1] + h[6];
    p -= p * h[5];
    if constexpr (plain)
      p -= s[0] * h[4];
    else
      p -= s[0] * h[4] / (root(s[1 + amsgrad]) / h[7] + h[6]);
  }
};

// Calls f.operator()<Rule>(name) for each rule.
template <class F>
void for_each_rule(F&& f) {
  f.template operator()<Momentum>("momentum");
  f.template operator()<Nesterov>("nesterov");
  f.template operator()<Adamax>("adamax");
  f.template operator()<Lion>("lion");
  f.template operator()<LambDirection>("lamb_direction");
  f.template operator()<AdaBelief<false, false>>("adabelief");
  f.template operator()<AdaBelief<false, true>>("adabelief_plain");
  f.template operator()<AdaBelief<true, false>>("adabelief_amsgrad");
  f.template operator()<AdaBelief<true, true>>("adabelief_amsgrad_plain");
}

}  // namespace cg::optim::nn
