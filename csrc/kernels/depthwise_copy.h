// Copies between planes and the workspace of depthwise convolutions (depthwise_plan.h), for float and double.
#pragma once
#include "kernels/depthwise_plan.h"

namespace cg::kernels::planes {

// Writes the rows of `plane` that results of the rows [first, first + count) read into plane k of the workspace, whose
// numbers beyond the border of the plane's columns are zero. `clean`: so are those beyond the border of its rows.
void fill(const Plan& p, const float* plane, int64_t first, int64_t count, int64_t k, bool clean, float* work);
void fill(const Plan& p, const double* plane, int64_t first, int64_t count, int64_t k, bool clean, double* work);
// Writes the phases of results, each at a distance of `size` from the one before and in rows of p.pitch, into the rows
// of `plane` that the rows [first, first + count) of the phases are.
void emit(const Plan& p, const float* phases, int64_t size, int64_t first, int64_t count, float* plane);
void emit(const Plan& p, const double* phases, int64_t size, int64_t first, int64_t count, double* plane);
// Copies rows of a map to a distance of p.pitch.
void spread(const Plan& p, const float* rows, int64_t count, float* to);
void spread(const Plan& p, const double* rows, int64_t count, double* to);

}  // namespace cg::kernels::planes
