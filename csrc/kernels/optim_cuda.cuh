// Update rules on a GPU: with changes of the gradient before them, with rates for each set, with 16-bit weights.
#pragma once
#include "kernels/cuda.cuh"
#include "kernels/optim.h"
#include "kernels/optim_prologue.h"

namespace cg::optim {

// Runs the prologue and the rule in registers; the changed gradient is stored as well.
template <class R>
struct Prepared : Update<R> {
  static constexpr int operands = Update<R>::operands;
  static constexpr unsigned writes = Update<R>::writes | kernels::mask(1);
  Prologue prologue;
  template <class T, class C>
  CG_FN void of(C (&v)[operands]) const {
    prologue.change<T>(v[1], v[0]);
    (*this)(v);
  }
};

template <class R>
kernels::Status prepared(const kernels::Call& c) {
  Prepared<R> f{};
  if (c.n_numbers < R::hypers || !f.prologue.read(c, R::hypers)) return kernels::kBadCall;
  if (f.prologue.n && (Update<R>::reads & 3) != 3) return kernels::kBadCall;
  for (int k = 0; k < R::hypers; ++k) f.h[k] = c.numbers[k];
  // Without changes, a test for an empty list at each element took a quarter of the time.
  const Update<R>& alone = f;
  return kernels::by_dtype(c, [&]<class T>() {
    return f.prologue.n ? kernels::Cuda::map_list<T>(f, c) : kernels::Cuda::map_list<T>(alone, c);
  });
}

// Rules whose first two hyperparameters are a rate and a decay, which may differ for each set. They are passed in the
// call's numbers after the hyperparameters (the rates of all sets, then the decays), or as floats at two addresses on
// the device. Integers, if present: these two addresses or 0, and whether gradients have 16 bits while everything else
// is in single precision. An additional operand is a 16-bit copy of the first (map_mixed).
template <class R>
struct Rated : Update<R> {
  static constexpr int per_set = 2;
  const float* at[per_set];  // null: the values are in the table
  CG_FN void use(const double* own, int64_t set) {
    for (int k = 0; k < per_set; ++k) this->h[k] = at[k] ? static_cast<double>(at[k][set]) : own[k];
  }
};

template <class R>
kernels::Status rated(const kernels::Call& c) {
  using F = Rated<R>;
  F f{};
  if (c.n_numbers != R::hypers && c.n_numbers != R::hypers + F::per_set * c.sets) return kernels::kBadCall;
  if (c.n_integers != 0 && c.n_integers != 3) return kernels::kBadCall;
  for (int k = 0; k < R::hypers; ++k) f.h[k] = c.numbers[k];
  for (int k = 0; k < F::per_set && c.n_integers; ++k) f.at[k] = reinterpret_cast<const float*>(c.integers[k]);
  const double* own = c.n_numbers > R::hypers ? c.numbers + R::hypers : nullptr;
  if (c.operands == F::operands + 1) {
    if (c.dtype != kernels::DType::f32) return kernels::kBadCall;
    return kernels::Cuda::map_mixed(f, c, own, c.n_integers == 3 && c.integers[2] != 0);
  }
  return kernels::by_dtype(c, [&]<class T>() { return kernels::Cuda::map_list<T>(f, c, own); });
}

// The sum of squares of gradients after their changes; the changed gradients are not stored.
struct PreparedSquare {
  static constexpr int operands = 2;  // gradient, parameter
  Prologue prologue;
  template <class T, class C>
  CG_FN void prepare(C (&v)[operands]) const {
    prologue.change<T>(v[0], v[1]);
  }
  template <class C>
  CG_FN C operator()(const C (&v)[operands]) const {
    return v[0] * v[0];
  }
};

// For `for_each_rule`: registers a kernel for each rule, under the rule's name.
struct EnterPrepared {
  template <class R>
  void operator()(const char* name) const {
    kernels::Registered(name, prepared<R>);
  }
};
struct EnterRated {
  template <class R>
  void operator()(const char* name) const {
    kernels::Registered(name, rated<R>);
  }
};

}  // namespace cg::optim
