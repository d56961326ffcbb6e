// Running functors on the CPU, and the forms of functors. docs/kernels.md says how to add a kernel.
//
// A map functor changes corresponding elements of its operands:
//   struct Axpy {  // y += a x
//     static constexpr int operands = 2;                            // y, x
//     static constexpr unsigned reads = mask(0, 1), writes = mask(0);
//     double a;
//     template <class C>                                            // C: float or double
//     CG_FN void operator()(C (&v)[operands]) const { v[0] += C(a) * v[1]; }
//   };
// Operands may be the same memory, starting at the same element. An index functor is called with each index of a range
// and holds the pointers that it needs:  CG_FN void operator()(int64_t i) const. A reduction's functor returns the term
// of corresponding elements. Terms are summed in an order that depends only on the sizes:
//   template <class C>
//   CG_FN C operator()(const C (&v)[operands]) const
#pragma once
#include <atomic>
#include <bit>
#include <memory>
#include <vector>

#include "kernels/denormals.h"
#include "kernels/levels.h"
#include "kernels/threads.h"
#include "kernels/walk.h"

namespace cg::kernels {

namespace detail {

// `known`: the end of the operands' memory, up to which it may be prefetched.
template <class T, class F>
CG_INLINE void map_loop(const F& given, T* const* p, int64_t begin, int64_t end, int64_t known) {
  const F f = given;  // a local copy, which stores cannot alias
  T* q[F::operands];
  for (int k = 0; k < F::operands; ++k) q[k] = p[k];
  // The hardware prefetcher stops at the end of each page and, for many streams, starts late on the next. So memory is
  // prefetched here: a page ahead for sums, less for update rules, which write most of what they read.
  constexpr bool mostly_read = std::popcount(F::reads & ~F::writes) > 1;
  if constexpr (mostly_read || std::popcount(F::reads) > 1) {
    constexpr int64_t line = 64 / sizeof(T), block = 2 * line, ahead = (mostly_read ? 4096 : 1024) / sizeof(T);
    for (; begin + block <= end && begin + block + ahead <= known; begin += block) {
      for (int k = 0; k < F::operands; ++k)
        if (F::reads >> k & 1)
          for (int64_t i = begin + ahead; i < begin + ahead + block; i += line) __builtin_prefetch(q[k] + i, 0, 2);
      CG_IVDEP
      for (int64_t i = begin; i < begin + block; ++i) map_element(f, q, i);
    }
  }
  CG_IVDEP
  for (int64_t i = begin; i < end; ++i) map_element(f, q, i);
}
// The range of a loop from `begin` to `end` in which memory has to be prefetched; the rest is in the cache.
template <class T, class F>
constexpr int64_t known_end(int64_t begin, int64_t end) {
  constexpr int64_t large = (1 << 20) / sizeof(T);
  return (end - begin) * F::operands >= large ? end : begin;
}
// Lanes are summed in the functor's type for a short stretch, and the stretches in double.
template <class T, class F>
CG_INLINE double reduce_loop(const F& given, T* const* p, int64_t begin, int64_t end) {
  const F f = given;
  T* q[F::operands];
  for (int k = 0; k < F::operands; ++k) q[k] = p[k] + begin;
  constexpr int64_t block = 1024;
  double sum = 0;
  for (int64_t left = end - begin; left > 0; left -= block) {
    sum += simd::sum<compute_t<T>>(left < block ? left : block,
                                   [&](int64_t i) __attribute__((always_inline)) { return term<T>(f, q, i); });
    for (int k = 0; k < F::operands; ++k) q[k] += block;
  }
  return sum;
}
template <class F>
CG_INLINE void each_loop(const F& given, int64_t begin, int64_t end) {
  const F f = given;
  CG_IVDEP
  for (int64_t i = begin; i < end; ++i) f(i);
}

// How many 16-bit elements map_range converts at a time.
constexpr int64_t kBlock = 512;

template <class T>
struct Widen {
  const T* x;
  float* y;
  CG_FN void operator()(int64_t i) const { y[i] = widen(x[i]); }
};
template <class T>
struct Narrow {
  const float* x;
  T* y;
  CG_FN void operator()(int64_t i) const { y[i] = narrow<T>(x[i]); }
};

template <class T, class F>
struct MapLoop {
  const F& f;
  T* const* p;
  int64_t begin, end, known;
  CG_INLINE void run() const { map_loop(f, p, begin, end, known); }
};
template <class T, class F>
struct ReduceLoop {
  const F& f;
  T* const* p;
  int64_t begin, end;
  double* sum;
  CG_INLINE void run() const { *sum = reduce_loop(f, p, begin, end); }
};
template <class F>
struct EachLoop {
  const F& f;
  int64_t begin, end;
  CG_INLINE void run() const { each_loop(f, begin, end); }
};

template <class F>
void each(const F& f, int64_t n) {
  run_loop(EachLoop<F>{f, 0, n});
}

template <class T, class F>
void map_range(const F& f, T* const* p, int64_t begin, int64_t end) {
  if constexpr (std::is_same_v<T, compute_t<T>> || requires(compute_t<T>(&v)[F::operands]) { f.template of<T>(v); }) {
    run_loop(MapLoop<T, F>{f, p, begin, end, known_end<T, F>(begin, end)});
  } else {
    // Blocks of 16-bit elements are converted, so that the functor's loop is compiled for float alone: loops that also
    // convert take half of the time of a build.
    float block[F::operands][kBlock];
    float* q[F::operands];
    for (int k = 0; k < F::operands; ++k) q[k] = block[k];
    for (; begin < end; begin += kBlock) {
      const int64_t n = end - begin < kBlock ? end - begin : kBlock;
      for (int k = 0; k < F::operands; ++k)
        if (F::reads >> k & 1) each(Widen<T>{p[k] + begin, q[k]}, n);
      run_loop(MapLoop<float, F>{f, q, 0, n, 0});
      for (int k = 0; k < F::operands; ++k)
        if (F::writes >> k & 1) each(Narrow<T>{q[k], p[k] + begin}, n);
    }
  }
}

// Calls f.operator()<float>(call, rows) for blocks of rows, with copies of 16-bit operands that stay in the cache.
template <class T, class F>
Status on_floats(const Call& c, int results, int64_t rows, F&& f) {
  std::vector<int64_t> row(c.operands);  // elements in a row of each operand
  int64_t all = 1;
  for (int k = 0; k < c.operands; ++k) all += row[k] = c.sizes[k] / rows;
  const int64_t step = 16 * kBlock < all ? 1 : 16 * kBlock / all;
  std::atomic<Status> status{0};
  in_threads(rows, kGrain < all ? 1 : kGrain / all, [&](int64_t begin, int64_t end) {
    const std::unique_ptr<float[]> memory(new float[all * step]);
    std::vector<void*> data(c.operands);
    std::vector<int64_t> sizes(c.operands);
    Call wide = c;
    wide.dtype = DType::f32;
    wide.data = data.data();
    wide.sizes = sizes.data();
    for (; begin < end; begin += step) {
      const int64_t n = end - begin < step ? end - begin : step;
      float* next = memory.get();
      for (int k = 0; k < c.operands; ++k) {
        sizes[k] = n * row[k];
        data[k] = c.data[k] ? next : nullptr;
        if (c.data[k] && k < results) each(Widen<T>{static_cast<const T*>(c.data[k]) + begin * row[k], next}, sizes[k]);
        next += sizes[k];
      }
      if (const Status s = f.template operator()<float>(wide, n)) status = s;
      for (int k = results; k < c.operands; ++k)
        if (data[k])
          each(Narrow<T>{static_cast<float*>(data[k]), static_cast<T*>(c.data[k]) + begin * row[k]}, sizes[k]);
    }
  });
  return status;
}

}  // namespace detail

struct Cpu {
  static constexpr bool narrow_indexes = false;  // rows.h

  // Applies a map functor to each set of the call.
  template <class T, class F>
  static Status map(const F& f, const Call& c) {
    if (!is_map(c, F::operands)) return kBadCall;
    for (int64_t s = 0; s < c.sets; ++s) {
      T* p[F::operands];
      for (int k = 0; k < F::operands; ++k) p[k] = static_cast<T*>(c.data[k * c.sets + s]);
      in_threads(c.sizes[s], kGrain, [&](int64_t begin, int64_t end) {
        const FlushDenormals flush(requires { F::flushes_denormals; });
        detail::map_range(f, p, begin, end);
      });
    }
    return 0;
  }
  template <class T, class F>
  static Status map_list(const F& f, const Call& c) {
    return map<T>(f, c);
  }
  // Calls f.operator()<T>(call, rows) for a call with one set, whose operands have `rows` rows. 16-bit operands are
  // replaced by copies in float, so that large functors are compiled for two types instead of four; operands from
  // number `results` on are written back.
  template <int results, class F>
  static Status by_type(const Call& c, int64_t rows, F&& f) {
    switch (c.dtype) {
      case DType::f32:
        return f.template operator()<float>(c, rows);
      case DType::f64:
        return f.template operator()<double>(c, rows);
      case DType::f16:
        return detail::on_floats<Half>(c, results, rows, f);
      case DType::bf16:
        return detail::on_floats<BFloat16>(c, results, rows, f);
    }
    return kBadCall;
  }
  // Writes the sum of a functor's terms over each set to the call's results.
  template <class T, class F>
  static Status reduce(const F& f, const Call& c) {
    if (!is_map(c, F::operands) || !c.results || !c.workspace) return kBadCall;
    double* partial = c.workspace;
    for (int64_t s = 0; s < c.sets; ++s) {
      T* p[F::operands];
      for (int k = 0; k < F::operands; ++k) p[k] = static_cast<T*>(c.data[k * c.sets + s]);
      const int64_t size = c.sizes[s], count = chunks(size);
      in_threads(count, kGrain / kChunk, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          detail::run_loop(detail::ReduceLoop<T, F>{f, p, i * kChunk, (i + 1) * kChunk < size ? (i + 1) * kChunk : size,
                                                    partial + i});
      });
      c.results[s] = 0;
      for (int64_t i = 0; i < count; ++i) c.results[s] += partial[i];
      partial += count;
    }
    return 0;
  }
  // Calls an index functor for 0 <= i < n. `work`: about how many elements one call reads; 0 if the rows are empty.
  template <class F>
  static Status each(const F& f, int64_t n, const Call&, int64_t work = 1) {
    in_threads(n,
               kGrain / (work < 1        ? 1
                         : work < kGrain ? work
                                         : kGrain),
               [&](int64_t begin, int64_t end) { detail::run_loop(detail::EachLoop<F>{f, begin, end}); });
    return 0;
  }
};

}  // namespace cg::kernels
