// Declarations shared by the bindings of update rules.
#pragma once
#include "kernels/one_thread.h"
#include "kernels/optim_tensors.h"
#include "python/common.h"

namespace cg::py {

using optim::Rule;
using optim::Step;
using Hypers = std::array<double, optim::max_hypers>;

const Rule& parse_rule(PyObject* o);
Hypers parse_hypers(PyObject* o, const Rule& rule);
at::Tensor parse_tensor(PyObject* o, const char* name);  // from a tensor, or from a Variable with data
// Raises an error that names the argument at fault, before anything is changed. states_here=false: a state may be on
// another device; the caller checks that itself.
void check_step(const Rule& rule, const Step& s, bool states_here = true);
// Appends one state, a sequence of states, or none. A state in an nnabla Variable is in single precision and is moved
// to the parameter's device.
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
// Increases torch's version counters of parameters, their copies and states, and with `gradients` those of gradients,
// too.
void written(c10::ArrayRef<Step> steps, bool gradients = false);

constexpr int64_t kReleaseAbove = 1 << 16;  // from this number of elements on, the interpreter lock is released

template <class F>
void run_kernels(int64_t elements, F&& f) {
  at::AutoDispatchBelowADInplaceOrView guard;
  const Unlocked unlocked(elements >= kReleaseAbove);
  const kernels::OneThread one;
  f();
}

// The tensor of an array in single precision, for reading, and for writing into the array.
at::Tensor read_single(Array& a);
const at::Tensor& write_single(Array& a);
// The arrays of an nnabla Variable; null for other objects.
Store* store_of(PyObject* o);

}  // namespace cg::py
