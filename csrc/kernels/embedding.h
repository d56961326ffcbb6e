// Rows of a table by index, on the CPU.
#pragma once
#include <ATen/core/Tensor.h>

#include <optional>

namespace cg::kernels {

// `ids`: contiguous int32 or int64; negative ones count from the end; `ignore` names rows of zeros. All else is raw and
// contiguous. Raises IndexError for an id that is out of range.
void take_rows(const at::Tensor& table, const at::Tensor& ids, std::optional<int64_t> ignore, const at::Tensor& y);
// The transpose: adds each row of `gy` to that of a zeroed table.
void add_rows(const at::Tensor& gy, const at::Tensor& ids, std::optional<int64_t> ignore, const at::Tensor& table);

}  // namespace cg::kernels
