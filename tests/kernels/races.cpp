// Kernels' CPU loops on four threads, without torch: a program for ThreadSanitizer. The threads are std::threads, whose
// synchronization it knows; OpenMP's library does not tell it.
#include <ATen/Parallel.h>

#include <cstdio>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

#include "kernels/call.h"
#include "kernels/threads.h"

extern "C" const cg::kernels::Library* compatgrad_kernels();

namespace {
thread_local int thread = 0, threads = 1;
}
extern "C" {
int omp_get_thread_num() { return thread; }
int omp_get_num_threads() { return threads; }
void GOMP_parallel(void (*run)(void*), void* data, unsigned count, unsigned) {
  std::vector<std::thread> all;
  for (unsigned t = 0; t < count; ++t)
    all.emplace_back([=] {
      thread = static_cast<int>(t);
      threads = static_cast<int>(count);
      run(data);
    });
  for (std::thread& t : all) t.join();
}
}

namespace {

using namespace cg::kernels;

struct Problem {
  std::vector<std::vector<float>> operands;
  std::vector<double> numbers, results, workspace;
  std::vector<int64_t> integers;
};

Status call(const char* name, Problem& p) {
  std::vector<int64_t> sizes;
  std::vector<void*> data;
  for (auto& x : p.operands) {
    sizes.push_back(static_cast<int64_t>(x.size()));
    data.push_back(x.data());
  }
  Call c{};
  c.dtype = DType::f32;
  c.operands = static_cast<int32_t>(data.size());
  c.sets = 1;
  c.sizes = sizes.data();
  c.data = data.data();
  c.numbers = p.numbers.data();
  c.n_numbers = static_cast<int32_t>(p.numbers.size());
  c.integers = p.integers.data();
  c.n_integers = static_cast<int32_t>(p.integers.size());
  p.results.assign(1, 0);
  p.workspace.assign(static_cast<size_t>(chunks_of(c)), 0);
  c.results = p.results.data();
  c.workspace = p.workspace.data();
  const Library* library = compatgrad_kernels();
  for (int32_t k = 0; k < library->count; ++k)
    if (std::string_view(name) == library->entries[k].name) return library->entries[k].launch(c);
  return kBadCall;
}

std::vector<float> draw(size_t n) {
  static uint32_t state = 1;
  std::vector<float> x(n);
  for (float& v : x) v = static_cast<float>((state = state * 1664525u + 1013904223u) >> 8) / float(1 << 24) + 0.25f;
  return x;
}

int failures = 0;
void expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("%s\n", what);
  ++failures;
}

void kernel(const char* name, std::vector<size_t> sizes, std::vector<double> numbers, std::vector<int64_t> integers) {
  Problem p{{}, std::move(numbers), {}, {}, std::move(integers)};
  for (size_t n : sizes) p.operands.push_back(draw(n));
  Problem alone = p;
  expect(call(name, p) == 0, name);
  at::num_threads = 1;
  expect(call(name, alone) == 0, name);
  at::num_threads = 4;
  expect(p.operands == alone.operands && p.results == alone.results, name);
}

}  // namespace

int main() {
  const size_t n = 300'007;
  kernel("sum_n", {n, n, n}, {1.0}, {});
  kernel("sum_of_squares", {n}, {}, {});
  kernel("adam", {n, n, n, n}, {0.1, 0.1, 0.001, 1e-8, 1.0, -1.0}, {});
  const int64_t rows = 1009, inner = 67;
  const size_t units = rows * inner;
  kernel("lstm_grad", {units, 4 * units, units, units, units, 4 * units}, {}, {rows, inner});

  // a few things with much to do each: every thread gets some
  std::vector<int> owner(7, -1);
  in_threads(7, 1, [&](int64_t begin, int64_t end) { std::fill(&owner[begin], &owner[0] + end, thread); });
  expect(owner == std::vector<int>({0, 0, 1, 1, 2, 2, 3}), "shares of 7 things");
  // elements: shares end at cache lines
  std::vector<int64_t> ends(4, 0);
  in_threads(200'001, kGrain, [&](int64_t, int64_t end) { ends[static_cast<size_t>(thread)] = end; });
  expect(ends[0] % 64 == 0 && ends[1] % 64 == 0 && ends[3] == 200'001, "shares of many elements");
  try {
    in_threads(7, 1, [&](int64_t begin, int64_t) {
      if (begin) throw std::runtime_error("from a thread");
    });
    expect(false, "an exception was lost");
  } catch (const std::runtime_error& e) {
    expect(std::string_view(e.what()) == "from a thread", e.what());
  }
  std::printf("%d failures\n", failures);
  return failures != 0;
}
