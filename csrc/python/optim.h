// What the bindings of update rules share.
#pragma once
#include <ATen/core/LegacyTypeDispatch.h>

#include "kernels/optim_tensors.h"
#include "python/common.h"

namespace cg::py {

using optim::Step;
using Hypers = std::array<double, optim::max_hypers>;

const optim::Rule& parse_rule(PyObject* o);
Hypers parse_hypers(PyObject* o, const optim::Rule& rule);
// Raises, naming what is wrong, before anything changes. Where `states_here`, states on another device are wrong too.
void check_step(const optim::Rule& rule, const Step& s, bool states_here = true);
int64_t count_elements(c10::ArrayRef<Step> steps);
void run_steps(const optim::Rule& rule, c10::ArrayRef<Step> steps, const Hypers& hypers);

// Parameters, gradients and states of these steps were overwritten.
inline void written(c10::ArrayRef<Step> steps) {
  for (const Step& s : steps) {
    for (const at::Tensor* t : {&s.x, &s.y}) bump_version(*t);
    for (const at::Tensor& t : s.states) bump_version(t);
  }
}

template <class F>
void for_each_item(PyObject* sequence, const char* name, F&& f) {
  if (!PyList_Check(sequence) && !PyTuple_Check(sequence))
    fail(PyExc_TypeError, "%s: expected a list or a tuple", name);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence); ++i) f(i, PySequence_Fast_GET_ITEM(sequence, i));
}

constexpr int64_t kReleaseAbove = 1 << 16;  // elements from which other threads may run meanwhile

template <class F>
void run_kernels(int64_t elements, F&& f) {
  at::AutoDispatchBelowADInplaceOrView guard;
  if (elements < kReleaseAbove) return f();
  struct Released {
    PyThreadState* state = PyEval_SaveThread();
    ~Released() { PyEval_RestoreThread(state); }
  } released;
  f();
}

// solver.cpp, mx_optim.cpp
void add_solver(PyObject* module);
void add_mx_optim(PyObject* module);

}  // namespace cg::py
