// Memory for the numbers that a loop keeps while it runs.
#pragma once
#include <cstdint>
#include <cstring>

namespace cg::kernels {

// Of torch's allocator: if there is none, its error says how many bytes were asked for, and memory that is kept for
// tensors (core/memory.h) is given back before. It must be destroyed in the thread that made it.
class Memory {
 public:
  explicit Memory(int64_t bytes);
  Memory(const Memory&) = delete;
  ~Memory() {
    if (drop_) drop_(context_);
  }
  void* get() const { return data_; }

 private:
  void *data_, *context_;
  void (*drop_)(void* context);
};

template <class T>
class Workspace {
 public:
  explicit Workspace(int64_t n, bool zeros = true) : memory_(n * static_cast<int64_t>(sizeof(T))) {
    if (zeros) std::memset(memory_.get(), 0, n * sizeof(T));
  }
  T* get() const { return static_cast<T*>(memory_.get()); }

 private:
  const Memory memory_;
};

}  // namespace cg::kernels
