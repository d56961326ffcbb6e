// What the bindings of update rules share.
#pragma once
#include "kernels/optim_tensors.h"
#include "python/common.h"

namespace cg::py {

using optim::Rule;
using optim::Step;
using Hypers = std::array<double, optim::max_hypers>;

const Rule& parse_rule(PyObject* o);
Hypers parse_hypers(PyObject* o, const Rule& rule);
at::Tensor parse_tensor(PyObject* o, const char* name);  // of a tensor, or of a Variable with data
// Raises, naming what is wrong, before anything changes. states_here=false: a state may be on another device, which the
// caller looks for itself.
void check_step(const Rule& rule, const Step& s, bool states_here = true);
// Appends one state, a sequence of them, or none. A Variable of nnabla's holds it in single precision, and moves it.
void read_states(PyObject* o, Step& step);
inline const at::Tensor& tensor_in(const at::Tensor& t) { return t; }
inline const at::Tensor& tensor_in(const Step& s) { return s.x; }
template <class T>
int64_t count_elements(const T& all) {
  int64_t elements = 0;
  for (const auto& one : all) elements += tensor_in(one).numel();
  return elements;
}
void run_steps(const Rule& rule, c10::ArrayRef<Step> steps, const Hypers& hypers);
// Tells torch that parameters, their copies and states were overwritten, and where `gradients`, these too.
void written(c10::ArrayRef<Step> steps, bool gradients = false);

constexpr int64_t kReleaseAbove = 1 << 16;  // elements from which other threads may run meanwhile

template <class F>
void run_kernels(int64_t elements, F&& f) {
  at::AutoDispatchBelowADInplaceOrView guard;
  const Unlocked unlocked(elements >= kReleaseAbove);
  f();
}

// Their arrays in single precision, for reading and for writing: the array holds what is written.
at::Tensor read_single(Array& a);
const at::Tensor& write_single(Array& a);
// Where a Variable of nnabla's keeps its arrays; null for other objects.
Store* store_of(PyObject* o);

}  // namespace cg::py
