// Running functors on a GPU. A .cu file includes this and its kernels' headers, and registers the kernels: see sum.cu.
//
// If it is compiled by another compiler than nvcc, it runs the same blocks and threads one after the other on the CPU.
// So tests without a GPU check how a launch divides its elements, and the tables of lists.
#pragma once
#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/walk.h"

#if defined(__CUDACC__)
#include <cuda_runtime_api.h>
#endif

namespace cg::kernels {

#if defined(__CUDACC__)

template <class Body>
__global__ void __launch_bounds__(kThreads) kernel(const __grid_constant__ Body body) {
  body(Place{blockIdx.x, gridDim.x, static_cast<int32_t>(threadIdx.x), static_cast<int32_t>(blockDim.x)});
}

template <class Body>
__global__ void __launch_bounds__(kThreads) reduction(const __grid_constant__ Body body) {
  __shared__ double sums[kThreads];
  const Place place{blockIdx.x, gridDim.x, static_cast<int32_t>(threadIdx.x), kThreads};
  sums[place.thread] = body.find(place);
  for (int width = kThreads / 2; width; width /= 2) {
    __syncthreads();
    if (place.thread < width) sums[place.thread] += sums[place.thread + width];
  }
  if (place.thread == 0) body.store(place, sums[0]);
}

// Launches on the call's device and stream.
template <class Body>
Status start(const Call& c, void (*run)(const Body), const Body& body, int64_t blocks) {
  static_assert(sizeof(Body) <= 32764, "a kernel's parameters");
  int device = -1;
  if (const cudaError_t e = cudaGetDevice(&device)) return e;
  if (device != c.device)
    if (const cudaError_t e = cudaSetDevice(c.device)) return e;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(kThreads);
  config.stream = static_cast<cudaStream_t>(c.stream);
  const cudaError_t launched = cudaLaunchKernelEx(&config, run, body);
  if (device != c.device) cudaSetDevice(device);
  return launched;
}
template <class Body>
Status launch(const Call& c, const Body& body, int64_t blocks) {
  return start<Body>(c, kernel<Body>, body, blocks);
}
template <class Body>
Status launch_reduce(const Call& c, const Body& body, int64_t blocks) {
  return start<Body>(c, reduction<Body>, body, blocks);
}

// The number of blocks that fill the device with 2048 threads per multiprocessor.
inline int64_t full_grid(const Call& c) {
  int processors = 0;
  if (cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, c.device)) processors = 1;
  return int64_t(processors) * (2048 / kThreads);
}

#else

template <class Body>
Status launch(const Call&, const Body& body, int64_t blocks) {
  static_assert(sizeof(Body) <= 32764, "a kernel's parameters");
  for (int64_t block = 0; block < blocks; ++block)
    for (int32_t thread = 0; thread < kThreads; ++thread) body(Place{block, blocks, thread, kThreads});
  return 0;
}
template <class Body>
Status launch_reduce(const Call&, const Body& body, int64_t blocks) {
  for (int64_t block = 0; block < blocks; ++block) {
    double sums[kThreads];
    for (int32_t thread = 0; thread < kThreads; ++thread)
      sums[thread] = body.find(Place{block, blocks, thread, kThreads});
    for (int width = kThreads / 2; width; width /= 2)
      for (int thread = 0; thread < width; ++thread) sums[thread] += sums[thread + width];
    body.store(Place{block, blocks, 0, kThreads}, sums[0]);
  }
  return 0;
}
inline int64_t full_grid(const Call&) { return 3; }  // few, so that tests make every thread take several steps

#endif

struct Cuda {
  static constexpr bool narrow_indexes = true;  // rows.h

  // Calls f.operator()<T>(call, rows) for the call's type; Cpu::by_type replaces 16-bit operands.
  template <int, class F>
  static Status by_type(const Call& c, int64_t rows, F&& f) {
    return by_dtype(c, [&]<class T>() { return f.template operator()<T>(c, rows); });
  }

  // Applies a map functor to each set of the call, in one launch per set.
  template <class T, class F>
  static Status map(const F& f, const Call& c) {
    if (!is_map(c, F::operands)) return kBadCall;
    for (int64_t s = 0; s < c.sets; ++s) {
      MapBody<F, T> body{f, {}, c.sizes[s]};
      if (body.n <= 0) continue;
      for (int k = 0; k < F::operands; ++k) body.at[k] = static_cast<T*>(c.data[k * c.sets + s]);
      const int64_t vectors = (body.n + kLanes<T> - 1) / kLanes<T>;
      const int64_t blocks = std::min((vectors + kThreads - 1) / kThreads, full_grid(c));
      if (const Status e = launch(c, body, blocks)) return e;
    }
    return 0;
  }

  // Applies a map functor to all sets, in as few launches as the size of the pointer table allows, usually one. `own`:
  // numbers for each set: the first number of all sets, then the second of all sets, and so on.
  template <class T, class F>
  static Status map_list(const F& f, const Call& c, const double* own = nullptr) {
    if (!is_map(c, F::operands)) return kBadCall;
    constexpr int small = list_capacity<F>(4000), large = list_capacity<F>(32000);
    for (int64_t s = 0; s < c.sets;) {
      Status e;
      // A launch copies its whole table, so short lists use a short table.
      if (c.sets - s <= small)
        e = launch_list<T, small>(f, c, s, own);
      else
        e = launch_list<T, large>(f, c, s, own);
      if (e) return e;
    }
    return 0;
  }

  // `map_list` in single precision. With `narrow_input` operand 1 has 16 bits. The last operand of the call, if it is
  // present, is a 16-bit copy of operand 0.
  template <class F>
  static Status map_mixed(const F& f, const Call& c, const double* own, bool narrow_input) {
    if (c.operands != F::operands + 1) return kBadCall;
    for (int64_t i = 0; i < c.operands * c.sets; ++i)
      if (c.sizes[i] != c.sizes[i % c.sets] && !(i >= F::operands * c.sets && !c.data[i])) return kBadCall;
    for (int64_t s = 0; s < c.sets;) {
      MixedBody<F, list_capacity<F>(4000 - 8 * 50)> body;
      body.narrow_input = narrow_input;
      int place = 0;
      for (int64_t set = s; set < c.sets && place < std::ssize(body.copy); ++set)
        if (c.sizes[set] > 0) body.copy[place++] = static_cast<Half*>(c.data[F::operands * c.sets + set]);
      const int64_t blocks = fill(body, f, c, s, own);
      if (blocks)
        if (const Status e = launch(c, body, blocks)) return e;
    }
    return 0;
  }

  // Calls an index functor for 0 <= i < n.
  template <class F>
  static Status each(const F& f, int64_t n, const Call& c, int64_t = 1) {
    if (n <= 0) return 0;
    return launch(c, EachBody<F>{f, n}, std::min((n + kThreads - 1) / kThreads, 4 * full_grid(c)));
  }

  // The sum of a functor's terms over each set, into the call's results.
  template <class T, class F>
  static Status reduce(const F& f, const Call& c) {
    if (!is_map(c, F::operands) || !c.results || !c.workspace) return kBadCall;
    int64_t done = 0;
    for (int64_t s = 0; s < c.sets;) {
      ReduceBody<F, T, list_capacity<F>(4000)> body;
      body.partial = c.workspace + done;
      const int64_t blocks = fill(body, f, c, s);
      if (blocks)
        if (const Status e = launch_reduce(c, body, blocks)) return e;
      done += blocks;
    }
    constexpr int capacity = 900;
    done = 0;
    for (int64_t s = 0; s < c.sets;) {
      FinishBody<capacity> body;
      body.partial = c.workspace + done;
      body.result = c.results + s;
      int count = 0;
      uint32_t next = 0;
      for (; s < c.sets && count < capacity; ++s) {
        body.first[count++] = next;
        next += static_cast<uint32_t>(chunks(c.sizes[s]));
      }
      body.first[count] = next;
      if (const Status e = launch_reduce(c, body, count)) return e;
      done += next;
    }
    return 0;
  }

 private:
  // Fills a table with as many sets from `s` on as fit; advances `s` and returns the number of blocks.
  template <class F, class T, int capacity>
  static int64_t fill(Table<F, T, capacity>& table, const F& f, const Call& c, int64_t& s,
                      const double* own = nullptr) {
    constexpr int count = SetNumbers<F, capacity>::count;
    table.f = f;
    table.sets = 0;
    if constexpr (count > 0) table.begin = s;
    int64_t blocks = 0;
    for (; s < c.sets && table.sets < capacity && blocks < (int64_t(1) << 30); ++s) {
      if (c.sizes[s] <= 0) continue;
      table.first[table.sets] = static_cast<uint32_t>(blocks);
      table.size[table.sets] = c.sizes[s];
      for (int k = 0; k < F::operands; ++k) table.at[k][table.sets] = static_cast<T*>(c.data[k * c.sets + s]);
      if constexpr (count > 0) {
        table.number[table.sets] = static_cast<int32_t>(s - table.begin);
        for (int k = 0; k < count; ++k) table.own[table.sets][k] = own ? own[k * c.sets + s] : f.h[k];
      }
      blocks += chunks(c.sizes[s]);
      ++table.sets;
    }
    return blocks;
  }
  template <class T, int capacity, class F>
  static Status launch_list(const F& f, const Call& c, int64_t& s, const double* own) {
    ListBody<F, T, capacity> body;
    const int64_t blocks = fill(body, f, c, s, own);
    return blocks ? launch(c, body, blocks) : 0;
  }
};

}  // namespace cg::kernels
