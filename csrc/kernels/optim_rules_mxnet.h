// Update rules of MXNet's optimizers and update operators; see optim_rules.h.
//
// Operations are in the original's order; constants that the original computes in the weights' precision are computed
// in that of `h`. The hyperparameters of all rules start with lr, wd, rescale_grad, clip_gradient (infinite: no
// clipping).
#pragma once
#include <cmath>

#include "kernels/optim_math.h"

namespace cg::optim::mx {

template <class T, class S>
CG_FN auto clipped(const T& x, S bound) {
  if constexpr (Number<T>) {
    const T most = bound < x ? bound : x;  // NaN stays NaN; with this order of operands each line is one instruction
    return -bound > most ? -bound : most;
  } else {
    if (std::isinf(bound)) return x;  // saves an operation
    return at_most(at_least(x, -bound), bound);
  }
}

// The gradient that most rules use: scaled, then with weight decay added, then clipped; or clipped without weight
// decay.
template <class T, class S>
CG_FN auto decayed(const T& p, const T& g, const S* h) {
  return clipped(g * h[2] + p * h[1], h[3]);
}
template <class T, class S>
CG_FN auto scaled(const T& g, const S* h) {
  return clipped(g * h[2], h[3]);
}

// Learning rate times scaled gradient. Without clipping the two factors are multiplied first.
template <bool clips, class T, class S>
CG_FN auto descent(const T& g, const S* h) {
  if constexpr (clips)
    return scaled(g, h) * h[0];
  else
    return g * (h[0] * h[2]);
}

template <bool clips>
struct Sgd {
  static constexpr int states = 0, hypers = 4;
  template <class T, class S>
  static CG_FN void step(T& p, const T& g, T*, const S* h) {
    p -= p * (h[0] * h[1]) + descent<clips>(g, h);
  }
};

template <bool clips>
struct SgdOp {  // the operator for a single weight, which rounds in another order
  static constexpr int states = 0, hypers = 4;
  template <class T, class S>
  static CG_FN void step(T& p, const T& g, T*, const S* h) {
    p = p * (1 - h[0] * h[1]) - descent<clips>(g, h);
  }
};

template <bool clips>
struct SgdMomentum {  // v; momentum
  static constexpr int states = 1, hypers = 5;
  template <class T, class S>
  static CG_FN void step(T& p, const T& g, T* s, const S* h) {
    s[0] = s[0] * h[4] - p * (h[0] * h[1]) - descent<clips>(g, h);
    p += s[0];
  }
};

template <bool apart>
struct Nag {  // v; momentum. The momentum is computed with the new weight, unless that is written to separate memory.
  static constexpr int states = 1, hypers = 5;
  template <class T, class S>
  static CG_FN void step(T& p, const T& g, T* s, const S* h) {
    const auto kept = s[0] * h[4];
    const auto grad = scaled(g, h);
    const auto next = kept - (grad + p * h[1]) * h[0];
    p = p - kept + next * (h[4] + 1);
    if constexpr (apart)
      s[0] = next;
    else
      s[0] = kept - (grad + p * h[1]) * h[0];
  }
};

struct Descend {  // along a given direction, which contains everything except the rate
  static constexpr int states = 0, hypers = 4;
  template <class T, class S>
  static CG_FN void step(T& p, const T& g, T*, const S* h) {
    p -= g * h[0];
  }
};

struct SignSgd {
  static constexpr int states = 0, hypers = 4;
  template <class T, class S>
  static CG_FN void step(T& p, const T& g, T*, const S* h) {
    p = p * (1 - h[0] * h[1]) - direction_of(g) * h[0];
  }
};

struct Signum {  // m; momentum, wd_lh
  static constexpr int states = 1, hypers = 6;
  template <class T, class S>
  static CG_FN void step(T& p, const T& g, T* s, const S* h) {
    s[0] = s[0] * h[4] - p * ((1 - h[4]) * h[1]) - scaled(g, h) * (1 - h[4]);
    p = p * (1 - h[0] * h[5]) + direction_of(s[0]) * h[0];
  }
};

struct Adam {  // m, v; beta1, beta2, eps
  static constexpr int states = 2, hypers = 7;
  template <class T, class S>
  static CG_FN void step(T& p, const T& g, T* s, const S* h) {
    const auto grad = decayed(p, g, h);
    s[0] = s[0] * h[4] + grad * (1 - h[4]);
    s[1] = s[1] * h[5] + grad * (1 - h[5]) * grad;
    p -= s[0] * h[0] / (root(s[1]) + h[6]);
  }
};

struct AdamW {  // m, v; beta1, beta2, eps, eta
  static constexpr int states = 2, hypers = 8;
  template <class T, class S>
  static CG_FN void step(T& p, const T& g, T* s, const S* h) {
    const auto grad = scaled(g, h);
    s[0] = s[0] * h[4] + grad * (1 - h[4]);
    s[1] = s[1] * h[5] + grad * grad * (1 - h[5]);
    p -= (s[0] * h[0] / (root(s[1]) + h[6]) + p * h[1]) * h[7];
  }
};

struct Ftml {  // d, v, z; beta1, beta2, eps, beta1^t, beta2^t
  static constexpr int states = 3, hypers = 9;
  template <class T, class S>
  static CG_FN void step(T& p, const T& g, T* s, const S* h) {
    const auto grad = decayed(p, g, h);
    s[1] = s[1] * h[5] + grad * grad * (1 - h[5]);
    const auto d = (root(s[1] / (1 - h[8])) + h[6]) * ((1 - h[7]) / h[0]);
    s[2] = s[2] * h[4] + grad * (1 - h[4]) - (d - s[0] * h[4]) * p;
    s[0] = d;
    p = s[2] / d * S(-1);
  }
};

struct LambDirection {  // into x, from the gradient; m, v, the weight; beta1, beta2, eps, beta1^t, beta2^t
  static constexpr int states = 3, hypers = 9;
  static constexpr unsigned unread = kernels::mask(0), unwritten = kernels::mask(4);
  template <class T, class S>
  static CG_FN void step(T& x, const T& g, T* s, const S* h) {
    const auto grad = scaled(g, h);
    s[0] = s[0] * h[4] + grad * (1 - h[4]);
    s[1] = s[1] * h[5] + grad * (1 - h[5]) * grad;
    x = s[0] / (1 - h[7]) / (root(s[1] / (1 - h[8])) + h[6]) + s[2] * h[1];
  }
};

struct AdaGrad {  // h; eps
  static constexpr int states = 1, hypers = 5;
  template <class T, class S>
  static CG_FN void step(T& p, const T& g, T* s, const S* h) {
    const auto grad = scaled(g, h);
    s[0] += grad * grad;
    p -= (grad / root(s[0] + h[4]) + p * h[1]) * h[0];
  }
};

struct AdaDelta {  // averages of squared gradients and steps; rho, 1 - rho, eps
  static constexpr int states = 2, hypers = 7;
  template <class T, class S>
  static CG_FN void step(T& p, const T& g, T* s, const S* h) {
    const auto grad = scaled(g, h);
    s[0] = s[0] * h[4] + grad * h[5] * grad;
    const auto delta = root(s[1] + h[6]) / root(s[0] + h[6]) * grad;
    s[1] = s[1] * h[4] + delta * h[5] * delta;
    p -= delta + p * h[1];
  }
};

struct RmsProp {  // n; gamma1, eps, clip_weights
  static constexpr int states = 1, hypers = 7;
  template <class T, class S>
  static CG_FN void step(T& p, const T& g, T* s, const S* h) {
    const auto grad = decayed(p, g, h);
    s[0] = grad * grad * (1 - h[4]) + s[0] * h[4];
    p = clipped(p - grad / root(s[0] + h[5]) * h[0], h[6]);
  }
};

struct RmsPropAlex {  // n, g, delta; gamma1, eps, clip_weights, gamma2
  static constexpr int states = 3, hypers = 8;
  template <class T, class S>
  static CG_FN void step(T& p, const T& g, T* s, const S* h) {
    const auto grad = decayed(p, g, h);
    s[0] = grad * (1 - h[4]) * grad + s[0] * h[4];
    s[1] = grad * (1 - h[4]) + s[1] * h[4];
    s[2] = s[2] * h[7] - grad * h[0] / root(s[0] - s[1] * s[1] + h[5]);
    p = clipped(p + s[2], h[6]);
  }
};

struct Ftrl {  // z, n; lamda1, beta
  static constexpr int states = 2, hypers = 6;
  template <class T, class S>
  static CG_FN void step(T& p, const T& g, T* s, const S* h) {
    const auto grad = scaled(g, h);
    const auto square = grad * grad;
    s[0] += grad - (root(s[1] + square) - root(s[1])) * p / h[0];
    s[1] += square;
    p = (clipped(s[0], h[4]) - s[0]) / ((root(s[1]) + h[5]) / h[0] + h[1]);
  }
};

struct Adamax {  // m, u; beta1, 1 - beta1, beta2, a small number that avoids 0 / 0
  static constexpr int states = 2, hypers = 8;
  template <class T, class S>
  static CG_FN void step(T& p, const T& g, T* s, const S* h) {
    const auto grad = decayed(p, g, h);
    s[0] = s[0] * h[4] + grad * h[5];
    s[1] = larger(s[1] * h[6], magnitude(grad));
    p -= s[0] * h[0] / (s[1] + h[7]);
  }
};

struct Nadam {  // m, v; beta1, 1 - beta1, beta2, 1 - beta2, weights of gradient and m, 1 - beta2^t, eps
  static constexpr int states = 2, hypers = 12;
  template <class T, class S>
  static CG_FN void step(T& p, const T& g, T* s, const S* h) {
    const auto grad = decayed(p, g, h);
    s[0] = s[0] * h[4] + grad * h[5];
    s[1] = s[1] * h[6] + grad * h[7] * grad;
    p -= (grad * h[8] + s[0] * h[9]) * h[0] / (root(s[1] / h[10]) + h[11]);
  }
};

template <bool has_momentum>
struct DcAsgd {  // the previous weight (, v); lamda, momentum
  static constexpr int states = 1 + has_momentum, hypers = 6;
  template <class T, class S>
  static CG_FN void step(T& p, const T& g, T* s, const S* h) {
    const auto grad = scaled(g, h);
    const auto pull = (grad + p * h[1] + grad * h[4] * grad * (p - s[0])) * h[0];
    s[0] = p;
    if constexpr (has_momentum) {
      s[1] = s[1] * h[5] - pull;
      p += s[1];
    } else {
      p -= pull;
    }
  }
};

// Calls f.operator()<Rule>(name) for each rule.
template <class F>
void for_each_rule(F&& f) {
  f.template operator()<Sgd<false>>("mx_sgd");
  f.template operator()<Sgd<true>>("mx_sgd_clip");
  f.template operator()<SgdOp<false>>("mx_sgd_op");
  f.template operator()<SgdOp<true>>("mx_sgd_op_clip");
  f.template operator()<Descend>("mx_descend");
  f.template operator()<SgdMomentum<false>>("mx_sgd_momentum");
  f.template operator()<SgdMomentum<true>>("mx_sgd_momentum_clip");
  f.template operator()<Nag<false>>("mx_nag");
  f.template operator()<Nag<true>>("mx_nag_apart");
  f.template operator()<SignSgd>("mx_signsgd");
  f.template operator()<Signum>("mx_signum");
  f.template operator()<Adam>("mx_adam");
  f.template operator()<AdamW>("mx_adamw");
  f.template operator()<Ftml>("mx_ftml");
  f.template operator()<LambDirection>("mx_lamb_direction");
  f.template operator()<AdaGrad>("mx_adagrad");
  f.template operator()<AdaDelta>("mx_adadelta");
  f.template operator()<RmsProp>("mx_rmsprop");
  f.template operator()<RmsPropAlex>("mx_rmspropalex");
  f.template operator()<Ftrl>("mx_ftrl");
  f.template operator()<Adamax>("mx_adamax");
  f.template operator()<Nadam>("mx_nadam");
  f.template operator()<DcAsgd<false>>("mx_dcasgd");
  f.template operator()<DcAsgd<true>>("mx_dcasgd_momentum");
}

}  // namespace cg::optim::mx
