// Calls kernels by name, on the device of the tensors.
#pragma once
#include <ATen/core/Tensor.h>

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/call.h"

namespace cg::kernels {

// Whether kernels may access the memory of `t`: it is plain memory of one of the four dtypes, on the CPU or on a GPU
// that the library supports, and no tracer is active. The first CUDA tensor loads the library.
bool takes(const at::Tensor& t);
// Whether a map can process these tensors: they have the same dtype, device, shape and strides, without gaps.
bool takes_alike(at::TensorList ts);

class Kernel {
 public:
  explicit Kernel(const char* name) : name_(name) {}
  // Calls the kernel on one set of operands, for which `takes` must be true; undefined operands are absent. The first
  // operand determines dtype, device and size.
  void operator()(at::TensorList operands, c10::ArrayRef<double> numbers = {}, at::IntArrayRef integers = {}) const;
  // operands[k][s] is operand k of set s. The first set determines dtype and device.
  void on_list(c10::ArrayRef<at::TensorList> operands, c10::ArrayRef<double> numbers = {},
               at::IntArrayRef integers = {}) const;
  // `on_list` for addresses: operand k of set s is data[k * sets + s], with sizes[k * sets + s] elements. `like`
  // determines dtype and device.
  void on_pointers(const at::Tensor& like, c10::ArrayRef<void*> data, at::IntArrayRef sizes, int64_t sets,
                   c10::ArrayRef<double> numbers = {}) const;
  // A reduction: one float64 per set, on the operands' device.
  at::Tensor reduce(c10::ArrayRef<at::TensorList> operands, c10::ArrayRef<double> numbers = {}) const;
  bool exists(c10::DeviceType device) const { return find_on(device) != nullptr; }

 private:
  void run(Call& call, const at::Tensor& like, c10::ArrayRef<double> numbers, at::IntArrayRef integers) const;
  Launch find_on(c10::DeviceType device) const;
  const char* name_;
  mutable std::atomic<Launch> cpu_{nullptr}, cuda_{nullptr};
};

// Finds or builds the CUDA library and calls use_library, or warns why there is none. Set by csrc/python.
extern void (*find_library)(int device);
// Makes the library at `path` supply the CUDA kernels; with an empty path there are none.
void use_library(const std::string& path);
// Why the library at `path` cannot be used for a CUDA device; empty if it can.
std::string library_error(const std::string& path, int device);
std::string library_path();  // empty: not loaded

// Names of the kernels for CPU tensors.
std::vector<std::string> names();
// The kernels of another library with the interface of the CUDA library; for tests, usually on CPU tensors.
class Simulated {
 public:
  explicit Simulated(const std::string& path);
  ~Simulated();

 private:
  const Library* before_;
};

}  // namespace cg::kernels
