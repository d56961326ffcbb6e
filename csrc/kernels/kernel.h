// Kernels on tensors: by name, on the device where the tensors are.
#pragma once
#include <ATen/core/Tensor.h>

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/call.h"

namespace cg::kernels {

// Whether kernels may take `t` by its pointer: plain memory of one of the four dtypes, on the CPU or on a GPU for which
// there is a library, and nobody traces. The first CUDA tensor loads the library.
bool takes(const at::Tensor& t);
// Whether a map may walk over all of them side by side: the same dtype, device, shape and strides, without gaps.
bool takes_alike(at::TensorList ts);

class Kernel {
 public:
  explicit Kernel(const char* name) : name_(name) {}
  // One set of operands, for which `takes` holds; undefined ones are absent. The first tells dtype, device and size.
  void operator()(at::TensorList operands, c10::ArrayRef<double> numbers = {}, at::IntArrayRef integers = {}) const;
  // operands[k][s] is operand k of set s. The first set tells dtype and device.
  void on_list(c10::ArrayRef<at::TensorList> operands, c10::ArrayRef<double> numbers = {},
               at::IntArrayRef integers = {}) const;
  // The same from addresses: operand k of set s is data[k * sets + s], of so many elements. `like` tells dtype and
  // device.
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

// Finds, or builds, the CUDA library and calls use_library, or says why there is none. Set by the Python binding.
extern void (*find_library)(int device);
// From now on kernels are those of the library at `path`; with an empty path there are none.
void use_library(const std::string& path);
// Why the library at `path` cannot be used for a CUDA device; empty: it can.
std::string library_error(const std::string& path, int device);
std::string library_path();  // empty: not loaded

// Names of the kernels that are there for CPU tensors.
std::vector<std::string> names();
// The kernels of another library with CUDA's interface: for tests, as a rule on CPU tensors.
class Simulated {
 public:
  explicit Simulated(const std::string& path);
  ~Simulated();

 private:
  const Library* before_;
};

}  // namespace cg::kernels
