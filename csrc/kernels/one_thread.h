// Results that do not depend on the number of threads.
#pragma once

namespace cg::kernels {

// As long as this exists and torch.use_deterministic_algorithms is on, torch's kernels and the libraries that it calls
// compute in one thread. Some of them add numbers in as many parts as there are threads, or compute the last elements
// of each thread's part by another formula. The results of the loops of `in_threads` do not depend on the number of
// threads, so these loops keep it.
class OneThread {
 public:
  explicit OneThread(bool wanted = true);
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int mkl_ = 0;         // the setting to restore
  bool holds_ = false;  // whether this object, and not one around it, has changed the number
};

}  // namespace cg::kernels
