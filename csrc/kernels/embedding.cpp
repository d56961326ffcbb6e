#include "kernels/embedding.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <cstring>

#include "kernels/raw.h"
#include "kernels/simd.h"
#include "kernels/threads.h"

namespace cg::kernels {
namespace {

// Calls f(i, row) for the ids from `from` to `to`, with row -1 for an ignored id.
template <class F>
void each_id(const at::Tensor& ids, int64_t from, int64_t to, std::optional<int64_t> ignore, int64_t rows, F&& f) {
  auto visit = [&](const auto* p) {
    for (int64_t i = from; i < to; ++i) {
      const int64_t v = p[i], row = v < 0 ? v + rows : v;
      if (ignore && v == *ignore) {
        f(i, int64_t(-1));
        continue;
      }
      TORCH_CHECK_INDEX(row >= 0 && row < rows, "embedding: id ", v, " is out of range for ", rows, " rows");
      f(i, row);
    }
  };
  if (ids.scalar_type() == at::kInt)
    visit(ids.const_data_ptr<int32_t>());
  else
    visit(ids.const_data_ptr<int64_t>());
}

template <class T>
CG_INLINE void add(int64_t n, const T* __restrict x, T* __restrict y) {
  for (int64_t k = 0; k < n; ++k) y[k] += x[k];
}
CG_SIMD void add_row(int64_t n, const float* x, float* y) { add(n, x, y); }
CG_SIMD void add_row(int64_t n, const double* x, double* y) { add(n, x, y); }

}  // namespace

// Ordinary stores read each line of memory before they write it, which takes longer than the writing. So arrays of this
// many bytes, which do not stay in a cache anyway, are written past the caches.
constexpr int64_t kFromMemory = int64_t(1) << 24;

at::Tensor zeros(at::IntArrayRef sizes, const at::Tensor& x) {
  if (!raw(x) || c10::multiply_integers(sizes) * x.element_size() < kFromMemory) return at::zeros(sizes, x.options());
  at::Tensor y = at::empty(sizes, x.options());
  clear(y);
  return y;
}

void clear(const at::Tensor& x) {
  char* const p = static_cast<char*>(x.mutable_data_ptr());
  const int64_t bytes = x.numel() * x.element_size();
  int64_t done = 0;
#if defined(__SSE2__)
  constexpr int64_t kLine = 64;
  if (bytes >= kFromMemory && reinterpret_cast<uintptr_t>(p) % kLine == 0) {
    done = bytes / kLine * kLine;
    in_threads(bytes / kLine, kGrain, [=](int64_t begin, int64_t end) {
      auto* to = reinterpret_cast<__m128i*>(p + begin * kLine);
      const __m128i zero = _mm_setzero_si128();
      for (int64_t i = begin; i < end; ++i, to += 4)
        for (int k = 0; k < 4; ++k) _mm_stream_si128(to + k, zero);
      _mm_sfence();
    });
  }
#endif
  std::memset(p + done, 0, bytes - done);
}

void take_rows(const at::Tensor& table, const at::Tensor& ids, std::optional<int64_t> ignore, const at::Tensor& y) {
  const int64_t rows = table.size(0), width = table.size(1);
  with_dtype(table, [&]<class T>(T) {
    const T* from = table.const_data_ptr<T>();
    T* to = y.data_ptr<T>();
    in_threads(ids.numel(), kGrain / std::max<int64_t>(1, width) + 1, [&](int64_t begin, int64_t end) {
      each_id(ids, begin, end, ignore, rows, [=](int64_t i, int64_t row) {
        if (row < 0)
          std::fill(to + i * width, to + (i + 1) * width, T(0));
        else
          std::copy(from + row * width, from + (row + 1) * width, to + i * width);
      });
    });
  });
}

void add_rows(const at::Tensor& gy, const at::Tensor& ids, std::optional<int64_t> ignore, const at::Tensor& table) {
  const int64_t rows = table.size(0), width = table.size(1);
  with_dtype(gy, [&]<class T>(T) {
    const T* from = gy.const_data_ptr<T>();
    T* to = table.data_ptr<T>();
    // Each thread adds some columns, because several ids can be the same row.
    in_threads(width, kGrain / std::max<int64_t>(1, ids.numel()) + 1, [&](int64_t begin, int64_t end) {
      each_id(ids, 0, ids.numel(), ignore, rows, [=](int64_t i, int64_t row) {
        if (row >= 0) add_row(end - begin, from + i * width + begin, to + row * width + begin);
      });
    });
  });
}

}  // namespace cg::kernels
