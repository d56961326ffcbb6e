// A kernel of each form, for tests of the launcher, or with -Itests/kernels/loops of the CPU loops. Compiled with
// library.cu.
#include "kernels/cuda.cuh"
#include "kernels/register.h"

namespace cg::kernels {
namespace {

struct Axpy {  // y += a x
  static constexpr int operands = 2;
  static constexpr unsigned reads = mask(0, 1), writes = mask(0);
  double a;
  template <class C>
  CG_FN void operator()(C (&v)[operands]) const {
    v[0] += C(a) * v[1];
  }
};
struct Swap {  // four operands: (a, b, c, d) become (b, a, a + c, d)
  static constexpr int operands = 4;
  static constexpr unsigned reads = mask(0, 1, 2), writes = mask(0, 1, 2);
  template <class C>
  CG_FN void operator()(C (&v)[operands]) const {
    const C a = v[0];
    v[0] = v[1];
    v[1] = a;
    v[2] += a;
  }
};
template <class T>
struct Gather {  // y[i] = tanh(x[(i * step) % n])
  T* y;
  const T* x;
  int64_t n, step;
  CG_FN void operator()(int64_t i) const { y[i] = narrow<T>(math::tanh(widen(x[i * step % n]))); }
};
struct Product {
  static constexpr int operands = 2;
  template <class C>
  CG_FN C operator()(const C (&v)[operands]) const {
    return v[0] * v[1];
  }
};

template <class Run>
Status form_map(const Call& c) {
  return by_dtype(c, [&]<class T>() { return Run::template map<T>(Axpy{c.numbers[0]}, c); });
}
template <class Run>
Status form_list(const Call& c) {
  return by_dtype(c, [&]<class T>() { return Run::template map_list<T>(Axpy{c.numbers[0]}, c); });
}
template <class Run>
Status form_swap(const Call& c) {
  return by_dtype(c, [&]<class T>() { return Run::template map_list<T>(Swap{}, c); });
}
template <class Run>
Status form_each(const Call& c) {
  return by_dtype(c, [&]<class T>() {
    const Gather<T> f{operand<T>(c, 0), operand<T>(c, 1), c.sizes[1], c.integers[0]};
    return Run::each(f, c.sizes[0], c);
  });
}
// Reads one element too many: what a sanitizer must find.
template <class T>
struct Beyond {
  T* y;
  const T* x;
  CG_FN void operator()(int64_t i) const { y[i] = x[i + 1]; }
};
template <class Run>
Status form_beyond(const Call& c) {
  return by_dtype(c,
                  [&]<class T>() { return Run::each(Beyond<T>{operand<T>(c, 0), operand<T>(c, 1)}, c.sizes[0], c); });
}
template <class Run>
Status form_reduce(const Call& c) {
  return by_dtype(c, [&]<class T>() { return Run::template reduce<T>(Product{}, c); });
}

CG_KERNEL(Cuda, form_map)
CG_KERNEL(Cuda, form_list)
CG_KERNEL(Cuda, form_swap)
CG_KERNEL(Cuda, form_each)
CG_KERNEL(Cuda, form_reduce)
CG_KERNEL(Cuda, form_beyond)

}  // namespace

}  // namespace cg::kernels
