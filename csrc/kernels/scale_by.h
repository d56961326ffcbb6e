// Multiplies lists of tensors by a number on the device, so that clipping need not wait for the norm.
#pragma once
#include "kernels/call.h"

namespace cg::kernels {

struct ScaleBy {
  static constexpr int operands = 1;
  static constexpr unsigned reads = mask(0), writes = mask(0);
  const double* factor;
  template <class C>
  CG_FN void operator()(C (&v)[operands]) const {
    v[0] *= static_cast<C>(*factor);
  }
};

// Operands: x. Integers: the address of the number.
template <class Run>
Status scale_by(const Call& c) {
  if (c.n_integers != 1) return kBadCall;
  const ScaleBy f{reinterpret_cast<const double*>(c.integers[0])};
  return by_dtype(c, [&]<class T>() { return Run::template map_list<T>(f, c); });
}

}  // namespace cg::kernels
