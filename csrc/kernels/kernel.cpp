#include "kernels/kernel.h"

#include <ATen/ops/empty.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <dlfcn.h>

#include <atomic>

#include "kernels/capture.h"
#include "kernels/raw.h"
#include "kernels/register.h"

namespace cg::kernels {

std::vector<Entry>& entries() {
  static std::vector<Entry> all;
  return all;
}

void (*find_library)(int device) = nullptr;
thread_local bool capturing = false;
thread_local bool tracing = false;

bool written_down() {
  using c10::DispatchKey;
  using c10::impl::TorchDispatchModeKey;
  if (tracing || c10::impl::tls_local_dispatch_key_set().included_.has_any(c10::DispatchKeySet(
                     {DispatchKey::Functionalize, DispatchKey::FuncTorchDynamicLayerFrontMode, DispatchKey::Tracer})))
    return true;
  for (auto key : {TorchDispatchModeKey::FAKE, TorchDispatchModeKey::PROXY, TorchDispatchModeKey::FUNCTIONAL})
    if (c10::impl::TorchDispatchModeTLS::get_mode(key)) return true;
  return false;
}

namespace {

std::atomic<const Library*> cuda{nullptr};
std::atomic<bool> looked{false};
std::string loaded_path;
thread_local const Library* simulated = nullptr;

const Library* cuda_library(int device) {
  if (!looked.load(std::memory_order_acquire) && find_library) find_library(device);
  return cuda.load(std::memory_order_acquire);
}

const Library* open_library(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) throw std::runtime_error(std::string("cannot load the library of CUDA kernels: ") + dlerror());
  using Get = const Library* (*)();
  const auto get = reinterpret_cast<Get>(dlsym(handle, "compatgrad_kernels"));
  const Library* library = get ? get() : nullptr;
  if (!library || library->abi != kAbi)
    throw std::runtime_error(path + " is not a library of CUDA kernels for this version of compatgrad; build it again");
  return library;
}

// The stream that torch uses on this thread, from a C function of torch's CUDA library: torch's headers for streams
// need CUDA's headers, which are missing in a build for a CPU torch.
void* current_stream(int32_t device) {
  using Get = int32_t (*)(int32_t, void**);
  static const Get get = [] {
    void* torch = dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_NOLOAD);
    return torch ? reinterpret_cast<Get>(dlsym(torch, "aoti_torch_get_current_cuda_stream")) : nullptr;
  }();
  void* stream = nullptr;
  if (!get || get(device, &stream))
    throw std::runtime_error("cannot get torch's current CUDA stream: libtorch_cuda.so has no function for it");
  return stream;
}

std::optional<DType> dtype_of(const at::Tensor& t) {
  switch (t.scalar_type()) {
    case at::kHalf:
      return DType::f16;
    case at::kBFloat16:
      return DType::bf16;
    case at::kFloat:
      return DType::f32;
    case at::kDouble:
      return DType::f64;
    default:
      return {};
  }
}

Launch find(const Entry* all, size_t count, std::string_view name) {
  for (size_t i = 0; i < count; ++i)
    if (name == all[i].name) return all[i].launch;
  return nullptr;
}
}  // namespace

bool takes(const at::Tensor& t) {
  return plain(t) && dtype_of(t) && (t.is_cpu() || (t.is_cuda() && cuda_library(t.device().index())));
}

bool takes_alike(at::TensorList ts) {
  const at::Tensor& a = ts[0];
  if (!takes(a) || !a.is_non_overlapping_and_dense()) return false;
  for (const at::Tensor& t : ts.slice(1))
    if (t.scalar_type() != a.scalar_type() || t.device() != a.device() || t.sizes() != a.sizes() ||
        t.strides() != a.strides() || !plain(t))
      return false;
  return true;
}

Launch Kernel::find_on(c10::DeviceType device) const {
  if (simulated) return find(simulated->entries, simulated->count, name_);
  std::atomic<Launch>& known = device == c10::kCPU ? cpu_ : cuda_;
  Launch launch = known.load(std::memory_order_relaxed);
  if (launch) return launch;
  if (device == c10::kCPU)
    launch = find(entries().data(), entries().size(), name_);
  else if (const Library* library = device == c10::kCUDA ? cuda_library(0) : nullptr)
    launch = find(library->entries, library->count, name_);
  known.store(launch, std::memory_order_relaxed);
  return launch;
}

void Kernel::run(Call& call, const at::Tensor& like, c10::ArrayRef<double> numbers, at::IntArrayRef integers) const {
  const at::Device device = like.device();
  const Launch launch = find_on(device.type());
  if (!launch) throw std::runtime_error(std::string(name_) + ": there is no such kernel for " + device.str());
  call.dtype = *dtype_of(like);
  call.device = device.is_cuda() ? device.index() : 0;
  call.numbers = numbers.data();
  call.n_numbers = static_cast<int32_t>(numbers.size());
  call.integers = integers.data();
  call.n_integers = static_cast<int32_t>(integers.size());
  call.stream = device.is_cuda() ? current_stream(call.device) : nullptr;
  const Status status = launch(call);
  if (!status) return;
  const std::string name = name_;
  if (status < 0) throw std::invalid_argument(name + ": the kernel does not take these operands");
  const Library* library = simulated ? simulated : cuda_library(0);
  throw std::runtime_error(name + " on " + device.str() + ": CUDA error " + std::to_string(status) + ", " +
                           library->error_text(status));
}

void Kernel::operator()(at::TensorList operands, c10::ArrayRef<double> numbers, at::IntArrayRef integers) const {
  c10::SmallVector<void*, 12> data;
  c10::SmallVector<int64_t, 12> sizes;
  for (const at::Tensor& t : operands) {
    data.push_back(t.defined() ? t.data_ptr() : nullptr);
    sizes.push_back(t.defined() ? t.numel() : 0);
  }
  Call call{};
  call.operands = static_cast<int32_t>(operands.size());
  call.sets = 1;
  call.sizes = sizes.data();
  call.data = data.data();
  run(call, operands[0], numbers, integers);
}

namespace {
// A call's operands in the form of the C interface between the libraries.
struct Lists {
  Call call{};
  std::vector<void*> data;
  std::vector<int64_t> sizes;
  Lists(c10::ArrayRef<at::TensorList> operands, const char* name) {
    const size_t sets = operands[0].size();
    data.reserve(operands.size() * sets);
    sizes.reserve(operands.size() * sets);
    for (const at::TensorList& list : operands) {
      TORCH_CHECK_VALUE(list.size() == sets, name, ": lists of ", sets, " and of ", list.size(), " operands");
      for (const at::Tensor& t : list) {
        data.push_back(t.defined() ? t.data_ptr() : nullptr);
        sizes.push_back(t.defined() ? t.numel() : 0);
      }
    }
    call.operands = static_cast<int32_t>(operands.size());
    call.sets = static_cast<int64_t>(sets);
    call.sizes = sizes.data();
    call.data = data.data();
  }
};
}  // namespace

void Kernel::on_list(c10::ArrayRef<at::TensorList> operands, c10::ArrayRef<double> numbers,
                     at::IntArrayRef integers) const {
  if (operands[0].empty()) return;
  Lists lists(operands, name_);
  run(lists.call, operands[0][0], numbers, integers);
}

void Kernel::on_pointers(const at::Tensor& like, c10::ArrayRef<void*> data, at::IntArrayRef sizes, int64_t sets,
                         c10::ArrayRef<double> numbers) const {
  Call call{};
  call.operands = static_cast<int32_t>(data.size() / sets);
  call.sets = sets;
  call.sizes = sizes.data();
  call.data = data.data();
  run(call, like, numbers, {});
}

at::Tensor Kernel::reduce(c10::ArrayRef<at::TensorList> operands, c10::ArrayRef<double> numbers) const {
  TORCH_CHECK_VALUE(!operands[0].empty(), name_, ": an empty list has no device");
  Lists lists(operands, name_);
  const at::Tensor memory =
      at::empty({lists.call.sets + chunks_of(lists.call)}, operands[0][0].options().dtype(at::kDouble));
  lists.call.results = memory.mutable_data_ptr<double>();
  lists.call.workspace = lists.call.results + lists.call.sets;
  run(lists.call, operands[0][0], numbers, {});
  return memory.narrow(0, 0, lists.call.sets);
}

void use_library(const std::string& path) {
  if (!path.empty()) {
    cuda.store(open_library(path), std::memory_order_release);
    loaded_path = path;
  }
  looked.store(true, std::memory_order_release);
}
std::string library_error(const std::string& path, int device) {
  try {
    const Library* library = open_library(path);
    const Status status = library->probe(device);
    return status ? library->error_text(status) : "";
  } catch (const std::exception& e) {
    return e.what();
  }
}
std::string library_path() { return cuda.load(std::memory_order_acquire) ? loaded_path : std::string(); }

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const Entry& e : entries()) all.emplace_back(e.name);
  std::sort(all.begin(), all.end());
  return all;
}

Simulated::Simulated(const std::string& path) : before_(simulated) { simulated = open_library(path); }
Simulated::~Simulated() { simulated = before_; }

}  // namespace cg::kernels
