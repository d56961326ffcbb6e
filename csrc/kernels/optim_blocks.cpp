#include "kernels/optim_blocks.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string_view>

#include "kernels/cpu.h"
#include "kernels/optim.h"
#include "kernels/register.h"

namespace cg::optim {

using kernels::Call, kernels::Half, kernels::kBadCall, kernels::kChunk, kernels::kGrain, kernels::Launch,
    kernels::Status;

Launch cpu_kernel(const char* name) {
  for (const kernels::Entry& e : kernels::entries())
    if (std::string_view(name) == e.name) return e.launch;
  return nullptr;
}

namespace {

// Elements of a block. Blocks are small so that the processor, which executes some hundred instructions ahead, loads
// the data of the next kernel while one kernel runs: with 2048 elements an Adam step with weight decay takes a fifth
// longer.
constexpr int64_t kBlock = 512;
// The block length of reductions (kernels/cpu.h), so that sums are equal bit for bit
constexpr int64_t kSumBlock = 1024;
constexpr int kMaxOperands = 2 + max_states;

int64_t size_of(kernels::DType dtype) {
  return dtype == kernels::DType::f64 ? 8 : dtype == kernels::DType::f32 ? 4 : 2;
}

// Runs a kernel on one set of `n` elements.
Status run(Launch kernel, const Call& c, void* const* data, int operands, int64_t n, const double* numbers,
           int n_numbers) {
  int64_t sizes[kMaxOperands];
  std::fill_n(sizes, operands, n);
  Call part{};
  part.dtype = c.dtype;
  part.operands = operands;
  part.sets = 1;
  part.sizes = sizes;
  part.data = data;
  part.numbers = numbers;
  part.n_numbers = n_numbers;
  return kernel(part);
}

// Runs the changes of a prologue, each by its own kernel.
class Changes {
 public:
  explicit Changes(const Prologue& prologue) : prologue_(prologue) {}
  Status operator()(const Call& c, void* gradient, void* parameter, int64_t n) const {
    static const Launch kernels[Prologue::kinds] = {cpu_kernel("scale"), cpu_kernel("unscale"),
                                                    cpu_kernel("weight_decay"), cpu_kernel("lasso"),
                                                    cpu_kernel("hard_clip")};
    void* const data[] = {gradient, parameter};
    for (int s = 0; s < prologue_.n; ++s) {
      const double h[] = {prologue_.at[s] ? *prologue_.at[s] : prologue_.h[s][0], prologue_.h[s][1]};
      const int count = prologue_.kind[s] == Prologue::hard_clip ? 2 : 1;
      if (const Status e = run(kernels[prologue_.kind[s]], c, data, 2, n, h, count)) return e;
    }
    return 0;
  }

 private:
  const Prologue& prologue_;
};

// Calls block(s, i, n) for elements i to i + n of set s.
template <class F>
Status for_each_block(const Call& c, F&& block) {
  std::atomic<Status> status{0};
  for (int64_t s = 0; s < c.sets; ++s)
    kernels::in_threads(c.sizes[s], kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i += kBlock)
        if (const Status e = block(s, i, std::min(kBlock, end - i))) status = e;
    });
  return status;
}

void ask_for(const void* memory) {
  for (int line = 0; line < 4; ++line) __builtin_prefetch(static_cast<const char*>(memory) + 64 * line, 0, 2);
}

struct Widen {
  float* y;
  const Half* x;
  CG_FN void operator()(int64_t i) const { y[i] = kernels::widen(x[i]); }
};
struct Narrow {
  Half* y;
  const float* x;
  CG_FN void operator()(int64_t i) const { y[i] = kernels::narrow<Half>(x[i]); }
};

// The sum of squares of gradients after a prologue, which is not stored. Operands: gradients, parameters. Numbers: the
// prologue.
Status sum_of_squares_after(const Call& c) {
  static const Launch squares = cpu_kernel("sum_of_squares");
  Prologue prologue;
  if (!kernels::is_map(c, 2) || !prologue.read(c, 0) || !c.results || !c.workspace) return kBadCall;
  const Changes changes(prologue);
  const int64_t element = size_of(c.dtype);
  std::atomic<Status> status{0};
  double* partial = c.workspace;
  for (int64_t s = 0; s < c.sets; ++s) {
    const int64_t size = c.sizes[s], count = kernels::chunks(size);
    char* const operands[] = {static_cast<char*>(c.data[s]), static_cast<char*>(c.data[c.sets + s])};
    kernels::in_threads(count, kGrain / kChunk, [&](int64_t begin, int64_t end) {
      alignas(64) double scratch[kSumBlock], found, workspace;
      void* const copy = scratch;
      for (int64_t i = begin; i < end; ++i) {
        partial[i] = 0;
        for (int64_t at = i * kChunk; at < std::min(size, (i + 1) * kChunk); at += kSumBlock) {
          const int64_t n = std::min(kSumBlock, size - at);
          std::memcpy(copy, operands[0] + at * element, n * element);
          Status e = changes(c, copy, operands[1] + at * element, n);
          Call part = c;
          part.operands = part.sets = 1;
          part.n_numbers = part.n_integers = 0;
          part.sizes = &n;
          part.data = &copy;
          part.results = &found;
          part.workspace = &workspace;
          if (!e) e = squares(part);
          if (e) status = e;
          partial[i] += found;
        }
      }
    });
    c.results[s] = 0;
    for (int64_t i = 0; i < count; ++i) c.results[s] += partial[i];
    partial += count;
  }
  return status;
}
const kernels::Registered entered("sum_of_squares_after", sum_of_squares_after);

}  // namespace

Status update_in_blocks(Launch rule, int hypers, const Call& c) {
  Prologue prologue;
  if (c.operands > kMaxOperands || !kernels::is_map(c, c.operands) || !prologue.read(c, hypers)) return kBadCall;
  const Changes changes(prologue);
  const int64_t element = size_of(c.dtype);
  return for_each_block(c, [&](int64_t s, int64_t i, int64_t n) {
    void* data[kMaxOperands];
    for (int k = 0; k < c.operands; ++k) data[k] = static_cast<char*>(c.data[k * c.sets + s]) + i * element;
    // Prefetches the first cache lines of the next block; the hardware prefetcher then continues.
    for (int k = 2; k < c.operands; ++k) ask_for(data[k]);
    const Status e = changes(c, data[1], data[0], n);
    for (int k = 0; k < 2; ++k) ask_for(static_cast<char*>(data[k]) + n * element);
    return e ? e : run(rule, c, data, c.operands, n, c.numbers, hypers);
  });
}

Status update_mixed_in_blocks(Launch rule, const Call& c, bool narrow_input) {
  const int operands = c.operands - 1;
  if (operands < 2 || operands > kMaxOperands || c.dtype != kernels::DType::f32) return kBadCall;
  return for_each_block(c, [&](int64_t s, int64_t i, int64_t n) {
    alignas(64) float input[kBlock];
    void* data[kMaxOperands];
    for (int k = 0; k < operands; ++k) data[k] = static_cast<float*>(c.data[k * c.sets + s]) + i;
    if (narrow_input) {
      kernels::Cpu::each(Widen{input, static_cast<const Half*>(c.data[c.sets + s]) + i}, n, c);
      data[1] = input;
    }
    const Status e = run(rule, c, data, operands, n, c.numbers, c.n_numbers);
    if (Half* copy = static_cast<Half*>(c.data[operands * c.sets + s]))
      kernels::Cpu::each(Narrow{copy + i, static_cast<const float*>(data[0])}, n, c);
    return e;
  });
}

}  // namespace cg::optim
