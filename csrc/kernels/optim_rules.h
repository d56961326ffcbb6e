// The update rules of optimizers: one formula per rule, for CPU loops (T = float or double) and for tensors (T = a type
// whose assignment writes into the tensor, S = double).
//
//   static CG_FN void step(T& x, const T& y, T* s, const S* h)
//
// updates a parameter x from its gradient y, the rule's states s and the hyperparameters h; the rules at the end change
// a gradient x by its parameter y. The comment at each rule lists its states, then its hyperparameters. The formulas of
// Chainer's rules have the order of operations and the constant folding of its NumPy code, so that the results agree
// bit for bit. nnabla uses the same rules where they are mathematically equal.
#pragma once
#include "kernels/optim_math.h"

namespace cg::optim {

struct Sgd {  // lr
  static constexpr int states = 0, hypers = 1;
  template <class T, class S>
  static CG_FN void step(T& p, const T& g, T*, const S* h) {
    p -= g * h[0];
  }
};

struct MomentumSgd {  // v; lr, momentum
  static constexpr int states = 1, hypers = 2;
  template <class T, class S>
  static CG_FN void step(T& p, const T& g, T* s, const S* h) {
    s[0] *= h[1];
    s[0] -= g * h[0];
    p += s[0];
  }
};

struct CorrectedMomentumSgd {  // v; lr, momentum
  static constexpr int states = 1, hypers = 2;
  template <class T, class S>
  static CG_FN void step(T& p, const T& g, T* s, const S* h) {
    s[0] *= h[1];
    s[0] -= g;
    p += s[0] * h[0];
  }
};

struct NesterovAg {  // v; lr, momentum, momentum^2, (1 + momentum) * lr
  static constexpr int states = 1, hypers = 4;
  template <class T, class S>
  static CG_FN void step(T& p, const T& g, T* s, const S* h) {
    s[0] *= h[1];
    s[0] -= g * h[0];
    p += s[0] * h[2];
    p -= g * h[3];
  }
};

struct AdaGrad {  // h; lr, eps
  static constexpr int states = 1, hypers = 2;
  template <class T, class S>
  static CG_FN void step(T& p, const T& g, T* s, const S* h) {
    s[0] += g * g;
    p -= g * h[0] / (root(s[0]) + h[1]);
  }
};

template <bool scaled>
struct AdaDelta {  // msg, msdx; rho, 1 - rho, eps (, lr)
  static constexpr int states = 2, hypers = 3 + scaled;
  template <class T, class S>
  static CG_FN void step(T& p, const T& g, T* s, const S* h) {
    s[0] *= h[0];
    s[0] += g * h[1] * g;
    const auto dx = root((s[1] + h[2]) / (s[0] + h[2])) * g;
    s[1] *= h[0];
    s[1] += dx * h[1] * dx;
    if constexpr (scaled)
      p -= dx * h[3];
    else
      p -= dx;
  }
};

template <bool inside>
struct RmsProp {  // ms; lr, alpha, 1 - alpha, eps
  static constexpr int states = 1, hypers = 4;
  template <class T, class S>
  static CG_FN void step(T& p, const T& g, T* s, const S* h) {
    s[0] *= h[1];
    s[0] += g * h[2] * g;
    if constexpr (inside)
      p -= g * h[0] / root(s[0] + h[3]);
    else
      p -= g * h[0] / (root(s[0]) + h[3]);
  }
};

struct RmsPropGraves {  // n, g, delta; lr, alpha, 1 - alpha, momentum, eps
  static constexpr int states = 3, hypers = 5;
  template <class T, class S>
  static CG_FN void step(T& p, const T& g, T* s, const S* h) {
    s[0] *= h[1];
    s[0] += g * h[2] * g;
    s[1] *= h[1];
    s[1] += g * h[2];
    s[2] *= h[3];
    s[2] -= g * h[0] / root(s[0] - s[1] * s[1] + h[4]);
    p += s[2];
  }
};

struct Smorms3 {  // mem, g, g2; lr, eps, 1
  static constexpr int states = 3, hypers = 3;
  template <class T, class S>
  static CG_FN void step(T& p, const T& g, T* s, const S* h) {
    const auto r = h[2] / (s[0] + h[2]);
    const auto keep = h[2] - r;
    s[1] = keep * s[1] + r * g;
    s[2] = keep * s[2] + r * g * g;
    const auto x = s[1] * s[1] / (s[2] + h[1]);
    p -= g * at_most(x, h[0]) / (root(s[2]) + h[1]);
    s[0] = s[0] * (h[2] - x) + h[2];
  }
};

template <bool amsgrad, bool bound>
struct Adam {  // m, v (, vhat); alpha_t, 1 - beta1, 1 - beta2, eps, 1 - eta * weight_decay_rate, -eta (, lower, upper)
  static constexpr int states = 2 + amsgrad, hypers = 6 + 2 * bound;
  static constexpr bool widens = true;
  template <class T>
  static CG_FN auto step_size(const T& root_v, const auto* h) {
    const auto step = h[0] / (root_v + h[3]);
    if constexpr (bound)
      return at_most(at_least(step, h[6]), h[7]);
    else
      return step;
  }
  template <class T, class S>
  static CG_FN void step(T& p, const T& g, T* s, const S* h) {
    const auto wide = widened(g);
    s[0] += (wide - s[0]) * h[1];
    s[1] += (wide * wide - s[1]) * h[2];
    if constexpr (amsgrad) s[2] = larger(s[2], s[1]);
    p = p * h[4] + step_size(root(widened(s[1 + amsgrad])), h) * s[0] * h[5];
  }
};

struct Msvag {  // m, v; 1 - beta, 1 - beta^t, rho, 1 - rho, lr, eta, weight_decay_rate, 0, 1
  static constexpr int states = 2, hypers = 9;
  template <class T, class S>
  static CG_FN void step(T& p, const T& g, T* s, const S* h) {
    s[0] += (g - s[0]) * h[0];
    s[1] += (g * g - s[1]) * h[0];
    const auto mt = s[0] / h[1];
    const auto mt2 = mt * mt;
    const auto spread = (s[1] / h[1] - mt2) / h[3];
    const auto factor = nan_to_zero(at_most(at_least(mt2 / (mt2 + spread * h[2]), h[7]), h[8]));
    p -= (mt * h[4] * factor + p * h[6]) * h[5];
  }
};

// Rules that change a gradient: x is the gradient, y is its parameter.
struct WeightDecay {  // rate
  static constexpr int states = 0, hypers = 1;
  template <class T, class S>
  static CG_FN void step(T& g, const T& p, T*, const S* h) {
    g += p * h[0];
  }
};

struct Lasso {  // rate
  static constexpr int states = 0, hypers = 1;
  template <class T, class S>
  static CG_FN void step(T& g, const T& p, T*, const S* h) {
    g += sign_of(p) * h[0];
  }
};

struct HardClip {  // lower, upper
  static constexpr int states = 0, hypers = 2;
  static constexpr unsigned unread = kernels::mask(1);
  template <class T, class S>
  static CG_FN void step(T& g, const T&, T*, const S* h) {
    g = at_most(at_least(g, h[0]), h[1]);
  }
};

struct Scale {  // rate
  static constexpr int states = 0, hypers = 1;
  static constexpr unsigned unread = kernels::mask(1);
  template <class T, class S>
  static CG_FN void step(T& g, const T&, T*, const S* h) {
    g *= h[0];
  }
};

struct Unscale {  // the factor by which the loss was multiplied
  static constexpr int states = 0, hypers = 1;
  static constexpr unsigned unread = kernels::mask(1);
  template <class T, class S>
  static CG_FN void step(T& g, const T&, T*, const S* h) {
    g = g / h[0];
  }
};

// Calls f.operator()<Rule>(name) for each rule.
template <class F>
void for_each_rule(F&& f) {
  f.template operator()<Sgd>("sgd");
  f.template operator()<MomentumSgd>("momentum_sgd");
  f.template operator()<CorrectedMomentumSgd>("corrected_momentum_sgd");
  f.template operator()<NesterovAg>("nesterov_ag");
  f.template operator()<AdaGrad>("ada_grad");
  f.template operator()<AdaDelta<false>>("ada_delta");
  f.template operator()<AdaDelta<true>>("ada_delta_scaled");
  f.template operator()<RmsProp<false>>("rmsprop");
  f.template operator()<RmsProp<true>>("rmsprop_inside");
  f.template operator()<RmsPropGraves>("rmsprop_graves");
  f.template operator()<Smorms3>("smorms3");
  f.template operator()<Adam<false, false>>("adam");
  f.template operator()<Adam<true, false>>("amsgrad");
  f.template operator()<Adam<false, true>>("adabound");
  f.template operator()<Adam<true, true>>("amsbound");
  f.template operator()<Msvag>("msvag");
  f.template operator()<WeightDecay>("weight_decay");
  f.template operator()<Lasso>("lasso");
  f.template operator()<HardClip>("hard_clip");
  f.template operator()<Scale>("scale");
  f.template operator()<Unscale>("unscale");
}

}  // namespace cg::optim
