#include "kernels/threads.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <exception>

#include "kernels/denormals.h"
#include "kernels/one_thread.h"

// Functions of the OpenMP library that torch has loaded. Linking another OpenMP library would give a second pool of
// threads, which torch.set_num_threads does not control. Weak symbols, because a torch without OpenMP does not have
// them.
extern "C" {
__attribute__((weak)) void GOMP_parallel(void (*run)(void*), void* data, unsigned threads, unsigned flags);
__attribute__((weak)) int omp_get_thread_num();
__attribute__((weak)) int omp_get_num_threads();
__attribute__((weak)) void omp_set_num_threads(int threads);
// Of the MKL inside torch, for the calling thread; 0: as many as OpenMP has. Returns the last setting.
__attribute__((weak)) int MKL_Set_Num_Threads_Local(int threads);
}

namespace cg::kernels {
namespace {

// Whether this process was forked. It then has only the thread that forked, and OpenMP would wait forever for the other
// threads of its pool.
bool forked = false;
[[maybe_unused]] const int watches_forks = pthread_atfork(nullptr, nullptr, [] { forked = true; });

thread_local int withheld = 0;  // the number of threads that a OneThread has taken from torch; 0: none has

struct Job {
  int64_t n, unit;
  void (*run)(void*, int64_t, int64_t);
  void* context;
  const unsigned denormals = DenormalMode::now();  // how the calling thread treats subnormal numbers
  std::atomic<bool> failed{false};
  std::exception_ptr error;  // the first exception
};

void run_share(void* data) {
  Job& job = *static_cast<Job*>(data);
  const int64_t threads = omp_get_num_threads(), thread = omp_get_thread_num();
  const int64_t share = ((job.n + threads - 1) / threads + job.unit - 1) / job.unit * job.unit, begin = share * thread;
  if (begin >= job.n) return;
  // A thread of the pool still treats them as the thread did that made the pool.
  const DenormalMode denormals(job.denormals);
  try {
    job.run(job.context, begin, std::min(job.n, begin + share));
  } catch (...) {
    if (!job.failed.exchange(true)) job.error = std::current_exception();
  }
}

}  // namespace

int64_t most_threads() {
  if (forked || at::in_parallel_region() || !GOMP_parallel || !omp_get_thread_num || !omp_get_num_threads) return 1;
  return withheld ? withheld : at::get_num_threads();
}

void in_threads(int64_t n, int64_t grain, void (*run)(void*, int64_t, int64_t), void* context) {
  const int64_t parts = std::min(most_threads(), (n + grain - 1) / grain);
  if (parts <= 1) return run(context, 0, n);
  // If parts have many elements, a part ends at a multiple of a cache line, so that two threads do not write to the
  // same line. If they have few items with much work each, a part may end at any item.
  Job job{n, std::clamp<int64_t>(grain / 64, 1, 64), run, context};
  GOMP_parallel(run_share, &job, static_cast<unsigned>(parts), 0);
  if (job.error) std::rethrow_exception(job.error);
}

OneThread::OneThread(bool wanted) {
  if (!wanted || withheld || !omp_set_num_threads || !at::globalContext().deterministicAlgorithms()) return;
  // Inside a parallel region torch computes in one thread anyway.
  if (at::in_parallel_region() || at::get_num_threads() == 1) return;
  holds_ = true;
  withheld = at::get_num_threads();
  omp_set_num_threads(1);  // not at::set_num_threads, whose number new threads of the program would start with
  if (MKL_Set_Num_Threads_Local) mkl_ = MKL_Set_Num_Threads_Local(1);
}
OneThread::~OneThread() {
  if (!holds_) return;
  omp_set_num_threads(withheld);
  if (MKL_Set_Num_Threads_Local) MKL_Set_Num_Threads_Local(mkl_);
  withheld = 0;
}

int simd_level() {
#if defined(CG_KERNEL_V3)
  static const int level = [] {
    __builtin_cpu_init();
    const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
    const bool v4 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
    return v3 && v4 ? 4 : v3 ? 3 : 1;
  }();
  return level;
#else
  return 1;
#endif
}

}  // namespace cg::kernels
