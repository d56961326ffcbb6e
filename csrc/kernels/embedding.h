// Rows of a table by index, on the CPU.
#pragma once
#include <ATen/core/Tensor.h>

#include <optional>

namespace cg::kernels {

// `ids`: contiguous int32 or int64; negative ids count from the end; the id `ignore` gives a row of zeros. The other
// tensors must be raw (raw.h) and contiguous. Raises IndexError for an id that is out of range.
void take_rows(const at::Tensor& table, const at::Tensor& ids, std::optional<int64_t> ignore, const at::Tensor& y);
// The transpose: adds each row of `gy` to the row of its id in a table.
void add_rows(const at::Tensor& gy, const at::Tensor& ids, std::optional<int64_t> ignore, const at::Tensor& table);

// Zeros like x of the given shape.
at::Tensor zeros(at::IntArrayRef sizes, const at::Tensor& x);
// Fills a raw and contiguous tensor with zeros.
void clear(const at::Tensor& x);

}  // namespace cg::kernels
