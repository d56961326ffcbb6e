// The arithmetic of recurrent cells per unit: the formula of each cell and its first derivative.
//
// `widths`: how many numbers each input has per unit; x contains all of them, input by input; each output in y is one
// number per unit. C is a number type of a kernel, a tensor, or a dual number (dual.h) of these.
#pragma once
#include "kernels/dual.h"

namespace cg::kernels::cells {

// Inputs: c; a, i, f, o. c' = tanh(a) s(i) + s(f) c, h = s(o) tanh(c'), where s is the logistic function.
struct Lstm {
  static constexpr int inputs = 2, outputs = 2, widths[] = {1, 4};
  template <class C>
  CG_FN static void forward(const C* x, C* y) {
    const C A = tanh(x[1]), I = sigmoid(x[2]), F = sigmoid(x[3]), O = sigmoid(x[4]);
    y[0] = A * I + F * x[0];
    y[1] = O * tanh(y[0]);
  }
  template <class C>
  CG_FN static void backward(const C* x, const C* gy, C* gx) {
    const C A = tanh(x[1]), I = sigmoid(x[2]), F = sigmoid(x[3]), O = sigmoid(x[4]);
    const C Y = tanh(A * I + F * x[0]);
    const C g = gy[1] * O * tanh_slope(Y) + gy[0];
    gx[0] = g * F;
    gx[1] = g * I * tanh_slope(A);
    gx[2] = g * A * sigmoid_slope(I);
    gx[3] = g * x[0] * sigmoid_slope(F);
    gx[4] = gy[1] * Y * sigmoid_slope(O);
  }
};

// Inputs: c1; c2; a1, i1, f1, o1; a2, i2, f2, o2. Two LSTM inputs are combined in one cell, whose output gate gets the
// sum o1 + o2.
struct Slstm {
  static constexpr int inputs = 4, outputs = 2, widths[] = {1, 1, 4, 4};
  template <class C>
  CG_FN static void forward(const C* x, C* y) {
    y[0] = cell(x);
    y[1] = sigmoid(x[5] + x[9]) * tanh(y[0]);
  }
  template <class C>
  CG_FN static void backward(const C* x, const C* gy, C* gx) {
    const C O = sigmoid(x[5] + x[9]), Y = tanh(cell(x));
    const C g = gy[1] * O * tanh_slope(Y) + gy[0];
    for (int k = 0; k < 2; ++k) {
      const C* const of = x + 2 + 4 * k;
      const C A = tanh(of[0]), I = sigmoid(of[1]), F = sigmoid(of[2]);
      C* const to = gx + 2 + 4 * k;
      gx[k] = g * F;
      to[0] = g * I * tanh_slope(A);
      to[1] = g * A * sigmoid_slope(I);
      to[2] = g * x[k] * sigmoid_slope(F);
      to[3] = gy[1] * Y * sigmoid_slope(O);
    }
  }

 private:
  template <class C>
  CG_FN static C cell(const C* x) {
    return tanh(x[2]) * sigmoid(x[3]) + tanh(x[6]) * sigmoid(x[7]) + sigmoid(x[4]) * x[0] + sigmoid(x[8]) * x[1];
  }
};

// Inputs: c1; ...; cn; a, i, o, f1, ..., fn. c' = tanh(a) s(i) + s(f1) c1 + ..., h = s(o) tanh(c').
struct TreeLstm {
  int children;
  template <class C>
  CG_FN void forward(const C* x, C* y) const {
    y[0] = cell(x);
    y[1] = sigmoid(x[children + 2]) * tanh(y[0]);
  }
  template <class C>
  CG_FN void backward(const C* x, const C* gy, C* gx) const {
    const C* const of = x + children;
    C* const to = gx + children;
    const C A = tanh(of[0]), I = sigmoid(of[1]), O = sigmoid(of[2]), Y = tanh(cell(x));
    const C g = gy[1] * O * tanh_slope(Y) + gy[0];
    to[0] = g * I * tanh_slope(A);
    to[1] = g * A * sigmoid_slope(I);
    to[2] = gy[1] * Y * sigmoid_slope(O);
    for (int k = 0; k < children; ++k) {
      const C F = sigmoid(of[3 + k]);
      gx[k] = g * F;
      to[3 + k] = g * x[k] * sigmoid_slope(F);
    }
  }

 private:
  template <class C>
  CG_FN C cell(const C* x) const {
    const C* const of = x + children;
    C sum = tanh(of[0]) * sigmoid(of[1]);
    for (int k = 0; k < children; ++k) sum = sum + sigmoid(of[3 + k]) * x[k];
    return sum;
  }
};
constexpr int kMostChildren = 3;  // kernels exist for up to this number of children, one kernel per number, because
                                  // they keep all values in registers

// Inputs: c; a, i, f, o; the peephole terms p, q of i, f. c' = tanh(a) s(i + p) + s(f + q) c. Outputs c' and o; the
// peephole of o reads c' (see PeepholeOutput).
struct PeepholeCell {
  static constexpr int inputs = 4, outputs = 2, widths[] = {1, 4, 1, 1};
  template <class C>
  CG_FN static void forward(const C* x, C* y) {
    y[0] = tanh(x[1]) * sigmoid(x[2] + x[5]) + sigmoid(x[3] + x[6]) * x[0];
    y[1] = x[4];
  }
  template <class C>
  CG_FN static void backward(const C* x, const C* gy, C* gx) {
    const C A = tanh(x[1]), I = sigmoid(x[2] + x[5]), F = sigmoid(x[3] + x[6]);
    gx[0] = gy[0] * F;
    gx[1] = gy[0] * I * tanh_slope(A);
    gx[2] = gx[5] = gy[0] * A * sigmoid_slope(I);
    gx[3] = gx[6] = gy[0] * x[0] * sigmoid_slope(F);
    gx[4] = gy[1];
  }
};
// Inputs: c'; o; the peephole term p of o. h = s(o + p) tanh(c').
struct PeepholeOutput {
  static constexpr int inputs = 3, outputs = 1, widths[] = {1, 1, 1};
  template <class C>
  CG_FN static void forward(const C* x, C* y) {
    y[0] = sigmoid(x[1] + x[2]) * tanh(x[0]);
  }
  template <class C>
  CG_FN static void backward(const C* x, const C* gy, C* gx) {
    const C O = sigmoid(x[1] + x[2]), Y = tanh(x[0]);
    gx[0] = gy[0] * O * tanh_slope(Y);
    gx[1] = gx[2] = gy[0] * Y * sigmoid_slope(O);
  }
};

// Inputs: h; rx, zx, nx of the input; rh, zh, nh of the state. r = s(rx + rh), z = s(zx + zh), n = tanh(nx + r nh), h'
// = n + z (h - n).
struct Gru {
  static constexpr int inputs = 3, outputs = 1, widths[] = {1, 3, 3};
  template <class C>
  CG_FN static void forward(const C* x, C* y) {
    const C R = sigmoid(x[1] + x[4]), Z = sigmoid(x[2] + x[5]), N = tanh(x[3] + R * x[6]);
    y[0] = N + Z * (x[0] - N);
  }
  template <class C>
  CG_FN static void backward(const C* x, const C* gy, C* gx) {
    const C R = sigmoid(x[1] + x[4]), Z = sigmoid(x[2] + x[5]), N = tanh(x[3] + R * x[6]);
    const C gn = gy[0] * one_minus(Z) * tanh_slope(N);
    gx[0] = gy[0] * Z;
    gx[1] = gx[4] = gn * x[6] * sigmoid_slope(R);
    gx[2] = gx[5] = gy[0] * (x[0] - N) * sigmoid_slope(Z);
    gx[3] = gn;
    gx[6] = gn * R;
  }
};
// Part of a GRU whose reset gate comes before the matrix product. Inputs: a; b; h. The product's operand is s(a + b) h.
struct GruReset {
  static constexpr int inputs = 3, outputs = 1, widths[] = {1, 1, 1};
  template <class C>
  CG_FN static void forward(const C* x, C* y) {
    y[0] = sigmoid(x[0] + x[1]) * x[2];
  }
  template <class C>
  CG_FN static void backward(const C* x, const C* gy, C* gx) {
    const C R = sigmoid(x[0] + x[1]);
    gx[0] = gx[1] = gy[0] * x[2] * sigmoid_slope(R);
    gx[2] = gy[0] * R;
  }
};
// Inputs: zx; zh; nx; nh; h (of the input and of the state). z = s(zx + zh), n = tanh(nx + nh), h' = z n + (1 - z) h.
struct GruUpdate {
  static constexpr int inputs = 5, outputs = 1, widths[] = {1, 1, 1, 1, 1};
  template <class C>
  CG_FN static void forward(const C* x, C* y) {
    const C Z = sigmoid(x[0] + x[1]);
    y[0] = Z * tanh(x[2] + x[3]) + one_minus(Z) * x[4];
  }
  template <class C>
  CG_FN static void backward(const C* x, const C* gy, C* gx) {
    const C Z = sigmoid(x[0] + x[1]), N = tanh(x[2] + x[3]);
    gx[0] = gx[1] = gy[0] * (N - x[4]) * sigmoid_slope(Z);
    gx[2] = gx[3] = gy[0] * Z * tanh_slope(N);
    gx[4] = gy[0] * one_minus(Z);
  }
};
// Part of a minimal gated unit, whose only gate f is also its reset gate. Inputs: f; h. The product's operand is s(f)
// h.
struct MguReset {
  static constexpr int inputs = 2, outputs = 1, widths[] = {1, 1};
  template <class C>
  CG_FN static void forward(const C* x, C* y) {
    y[0] = sigmoid(x[0]) * x[1];
  }
  template <class C>
  CG_FN static void backward(const C* x, const C* gy, C* gx) {
    const C F = sigmoid(x[0]);
    gx[0] = gy[0] * x[1] * sigmoid_slope(F);
    gx[1] = gy[0] * F;
  }
};
// Inputs: f; n; h. h' = s(f) tanh(n) + (1 - s(f)) h.
struct MguUpdate {
  static constexpr int inputs = 3, outputs = 1, widths[] = {1, 1, 1};
  template <class C>
  CG_FN static void forward(const C* x, C* y) {
    const C F = sigmoid(x[0]);
    y[0] = F * tanh(x[1]) + one_minus(F) * x[2];
  }
  template <class C>
  CG_FN static void backward(const C* x, const C* gy, C* gx) {
    const C F = sigmoid(x[0]), N = tanh(x[1]);
    gx[0] = gy[0] * (N - x[2]) * sigmoid_slope(F);
    gx[1] = gy[0] * F * tanh_slope(N);
    gx[2] = gy[0] * one_minus(F);
  }
};

}  // namespace cg::kernels::cells
