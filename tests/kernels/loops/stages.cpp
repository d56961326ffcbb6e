// The element-wise functions of csrc/kernels/stages.h for tests, which load them by ctypes, in a process without
// memory.
#include "kernels/stages.h"

#include <cstdlib>
#include <new>

using cg::kernels::run_stages, cg::kernels::Stage;

namespace {
bool no_memory = false;
}
void* operator new(std::size_t n) {
  if (no_memory) throw std::bad_alloc();
  return std::malloc(n);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return no_memory ? nullptr : std::malloc(n); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }

// y = (x * 2 + 1)^3 x; the first three results are not kept. Returns whether there was memory.
template <class T>
static bool chain(T* x, T* y, int64_t n, bool without) {
  const std::vector<Stage> stages{{Stage::MulNumber, 2, 0, 0, 1},
                                  {Stage::AddNumber, 1, 1, 1, 2},
                                  {Stage::Power, 3, 2, 2, 3},
                                  {Stage::Mul, 0, 3, 0, 4}};
  const std::vector<T*> arrays{x, nullptr, nullptr, nullptr, y};
  no_memory = without;
  run_stages<T>(stages, arrays, 0, n);
  T* const more = new (std::nothrow) T[16];
  delete[] more;
  no_memory = false;
  return more != nullptr;
}
extern "C" {
__attribute__((visibility("default"))) bool chain_of_floats(float* x, float* y, int64_t n, bool without) {
  return chain(x, y, n, without);
}
__attribute__((visibility("default"))) bool chain_of_doubles(double* x, double* y, int64_t n, bool without) {
  return chain(x, y, n, without);
}
}
