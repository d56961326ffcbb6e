// Which elements each GPU thread reads and writes, as functions of the thread's index. Tests run these functions on the
// CPU, one thread after the other.
#pragma once
#include "kernels/call.h"

namespace cg::kernels {

struct Place {
  int64_t block, blocks;
  int32_t thread, threads;
};

constexpr int kThreads = 256;

template <class T>
constexpr int kLanes = 16 / sizeof(T);
template <class T>
struct alignas(16) Vector {
  T at[kLanes<T>];
};

// Applies `f` to one element. A functor that rounds intermediate results gets the type T.
template <class T, class F, class C>
CG_FN void apply(const F& f, C (&v)[F::operands]) {
  if constexpr (requires { f.template of<T>(v); })
    f.template of<T>(v);
  else
    f(v);
}

// Applies a map functor (kernels/cpu.h) to one element of its operands.
template <class T, class F>
CG_FN void map_element(const F& f, T* const* p, int64_t i) {
  compute_t<T> v[F::operands];
  for (int k = 0; k < F::operands; ++k)
    if (F::reads >> k & 1) v[k] = widen(p[k][i]);
  apply<T>(f, v);
  for (int k = 0; k < F::operands; ++k)
    if (F::writes >> k & 1) p[k][i] = narrow<T>(v[k]);
}

// Computes one term of a reduction (kernels/cpu.h).
template <class T, class F>
CG_FN compute_t<T> term(const F& f, T* const* p, int64_t i) {
  compute_t<T> v[F::operands];
  for (int k = 0; k < F::operands; ++k) v[k] = widen(p[k][i]);
  if constexpr (requires { f.template prepare<T>(v); }) f.template prepare<T>(v);
  return f(v);
}

// Processes `count` vectors, `stride` elements apart; all loads come before the first use.
template <int count, class T, class F>
CG_FN void map_vectors(const F& f, T* const* p, int64_t i, int64_t stride) {
  Vector<T> x[count][F::operands];
  for (int u = 0; u < count; ++u)
    for (int k = 0; k < F::operands; ++k)
      if (F::reads >> k & 1) x[u][k] = *reinterpret_cast<const Vector<T>*>(p[k] + i + u * stride);
  for (int u = 0; u < count; ++u)
    for (int e = 0; e < kLanes<T>; ++e) {
      compute_t<T> v[F::operands];
      for (int k = 0; k < F::operands; ++k)
        if (F::reads >> k & 1) v[k] = widen(x[u][k].at[e]);
      apply<T>(f, v);
      for (int k = 0; k < F::operands; ++k)
        if (F::writes >> k & 1) x[u][k].at[e] = narrow<T>(v[k]);
    }
  for (int u = 0; u < count; ++u)
    for (int k = 0; k < F::operands; ++k)
      if (F::writes >> k & 1) *reinterpret_cast<Vector<T>*>(p[k] + i + u * stride) = x[u][k];
}

// The number of elements before the first 16-byte boundary that all operands have in common; -1 if they have none.
template <int operands, class T>
CG_FN int common_head(T* const* p) {
  const auto offset = [&](int k) { return static_cast<int>(reinterpret_cast<uintptr_t>(p[k]) & 15); };
  for (int k = 1; k < operands; ++k)
    if (offset(k) != offset(0)) return -1;
  return ((16 - offset(0)) & 15) / static_cast<int>(sizeof(T));
}

// Processes the elements of thread `t` of `threads`, out of n elements.
template <class T, class F>
CG_FN void map_walk(const F& f, T* const* p, int64_t n, int64_t t, int64_t threads) {
  // Vectors loaded at a time: enough to hide the latency of memory, without using more registers than necessary.
  constexpr int unroll = F::operands >= 4 ? 1 : F::operands == 3 ? 2 : 4;
  const int shared = common_head<F::operands>(p);
  if (shared < 0) {
    for (int64_t i = t; i < n; i += threads) map_element(f, p, i);
    return;
  }
  const int64_t head = shared < n ? shared : n, vectors = (n - head) / kLanes<T>, tail = head + vectors * kLanes<T>;
  int64_t v = t;
  if constexpr (unroll > 1)
    for (; v + (unroll - 1) * threads < vectors; v += unroll * threads)
      map_vectors<unroll>(f, p, head + v * kLanes<T>, threads * kLanes<T>);
  for (; v < vectors; v += threads) map_vectors<1>(f, p, head + v * kLanes<T>, 0);
  for (int64_t i = t; i < head; i += threads) map_element(f, p, i);
  for (int64_t i = tail + t; i < n; i += threads) map_element(f, p, i);
}

// The sum of the terms of thread `t`.
template <class T, class F>
CG_FN compute_t<T> reduce_walk(const F& f, T* const* p, int64_t n, int64_t t, int64_t threads) {
  constexpr int unroll = F::operands >= 4 ? 1 : F::operands == 1 ? 4 : 2;
  compute_t<T> sum = 0;
  const int shared = common_head<F::operands>(p);
  const int64_t head = shared < 0 ? n : shared < n ? shared : n;
  const int64_t vectors = (n - head) / kLanes<T>, tail = head + vectors * kLanes<T>;
  for (int64_t v = t; v < vectors; v += unroll * threads) {
    Vector<T> x[unroll][F::operands];
    for (int u = 0; u < unroll; ++u)
      if (v + u * threads < vectors)
        for (int k = 0; k < F::operands; ++k)
          x[u][k] = *reinterpret_cast<const Vector<T>*>(p[k] + head + (v + u * threads) * kLanes<T>);
    for (int u = 0; u < unroll; ++u)
      if (v + u * threads < vectors)
        for (int e = 0; e < kLanes<T>; ++e) {
          compute_t<T> values[F::operands];
          for (int k = 0; k < F::operands; ++k) values[k] = widen(x[u][k].at[e]);
          if constexpr (requires { f.template prepare<T>(values); }) f.template prepare<T>(values);
          sum += f(values);
        }
  }
  for (int64_t i = t; i < head; i += threads) sum += term<T>(f, p, i);
  for (int64_t i = tail + t; i < n; i += threads) sum += term<T>(f, p, i);
  return sum;
}

template <class F, class T>
struct MapBody {
  F f;
  T* at[F::operands];
  int64_t n;
  CG_FN void operator()(const Place& place) const {
    map_walk(f, at, n, place.block * place.threads + place.thread, place.blocks * place.threads);
  }
};

// Numbers for each set of a list, for functors with `per_set` such numbers, which get them by `use`.
template <class F, int capacity>
struct SetNumbers {
  static constexpr int count = 0;
};
template <class F, int capacity>
  requires(F::per_set > 0)
struct SetNumbers<F, capacity> {
  static constexpr int count = F::per_set;
  double own[capacity][count];
  int64_t begin;             // index in the whole list of the table's first set
  int32_t number[capacity];  // index of each set, relative to `begin`; empty sets are omitted
};

// A list of tensors in one launch. The table is a parameter of the kernel; a block finds its chunk by bisection.
template <class F, class T, int capacity>
struct Table : SetNumbers<F, capacity> {
  F f;
  int32_t sets;
  uint32_t first[capacity];  // the first block of each tensor
  int64_t size[capacity];
  T* at[F::operands][capacity];
  struct Chunk {
    int set;
    int64_t begin, size;
  };
  CG_FN Chunk find_chunk(int64_t block) const {
    int low = 0, high = sets;
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      (first[middle] <= block ? low : high) = middle;
    }
    const int64_t begin = (block - first[low]) * kChunk, left = size[low] - begin;
    return {low, begin, left < kChunk ? left : kChunk};
  }
  // Sets `p` to the block's chunk of each operand and returns the number of its elements.
  CG_FN int64_t chunk(int64_t block, T** p) const {
    const Chunk c = find_chunk(block);
    for (int k = 0; k < F::operands; ++k) p[k] = at[k][c.set] + c.begin;
    return c.size;
  }
  CG_FN F functor(int set) const {
    F own = f;
    if constexpr (SetNumbers<F, capacity>::count > 0) own.use(this->own[set], this->begin + this->number[set]);
    return own;
  }
};
template <class F, class T, int capacity>
struct ListBody : Table<F, T, capacity> {
  CG_FN void operator()(const Place& place) const {
    const auto c = this->find_chunk(place.block);
    T* p[F::operands];
    for (int k = 0; k < F::operands; ++k) p[k] = this->at[k][c.set] + c.begin;
    map_walk(this->functor(c.set), p, c.size, place.thread, place.threads);
  }
};

// ListBody in single precision, where operand 1 may have 16 bits, and operand 0 may have a 16-bit copy, which is
// updated too.
template <class F, int capacity>
struct MixedBody : Table<F, float, capacity> {
  bool narrow_input;
  Half* copy[capacity];  // null: no copy
  CG_FN void operator()(const Place& place) const {
    const auto c = this->find_chunk(place.block);
    const F f = this->functor(c.set);
    float* p[F::operands];
    for (int k = 0; k < F::operands; ++k) p[k] = this->at[k][c.set] + c.begin;
    const Half* input = reinterpret_cast<const Half*>(this->at[1][c.set]) + c.begin;
    Half* output = copy[c.set] ? copy[c.set] + c.begin : nullptr;
    for (int64_t i = place.thread; i < c.size; i += place.threads) {
      float v[F::operands];
      for (int k = 0; k < F::operands; ++k)
        if (F::reads >> k & 1) v[k] = k == 1 && narrow_input ? widen(input[i]) : p[k][i];
      f(v);
      for (int k = 0; k < F::operands; ++k)
        if (F::writes >> k & 1) p[k][i] = v[k];
      if (output) output[i] = narrow<Half>(v[0]);
    }
  }
};

// A reduction: the sums of a block's threads are added, and the block's sum is stored.
template <class F, class T, int capacity>
struct ReduceBody : Table<F, T, capacity> {
  double* partial;  // the sum of each block
  CG_FN double find(const Place& place) const {
    T* p[F::operands];
    const int64_t n = this->chunk(place.block, p);
    return reduce_walk(this->f, p, n, place.thread, place.threads);
  }
  CG_FN void store(const Place& place, double sum) const { partial[place.block] = sum; }
};
// Adds the blocks' sums of each set, which are adjacent.
template <int capacity>
struct FinishBody {
  uint32_t first[capacity + 1];
  const double* partial;
  double* result;
  CG_FN double find(const Place& place) const {
    double sum = 0;
    for (int64_t i = first[place.block] + place.thread; i < first[place.block + 1]; i += place.threads)
      sum += partial[i];
    return sum;
  }
  CG_FN void store(const Place& place, double sum) const { result[place.block] = sum; }
};
// The number of tensors per launch for which the table fits into `bytes`.
template <class F>
constexpr int list_capacity(int bytes) {
  int own = 0;
  if constexpr (requires { F::per_set; }) own = 8 * F::per_set + 4;
  return (bytes - static_cast<int>(sizeof(F)) - 48) / (12 + 8 * F::operands + own);
}

template <class F>
struct EachBody {
  F f;
  int64_t n;
  CG_FN void operator()(const Place& place) const {
    const int64_t threads = place.blocks * place.threads;
    for (int64_t i = place.block * place.threads + place.thread; i < n; i += threads) f(i);
  }
};

}  // namespace cg::kernels
