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
double parse_number(PyObject* o);
at::Tensor parse_tensor(PyObject* o, const char* name);  // of a tensor, or of a Variable with data
// Raises, naming what is wrong, before anything changes. Where `states_here`, states on another device are wrong too.
void check_step(const Rule& rule, const Step& s, bool states_here = true);
// Appends one state, a sequence of them, or none. A Variable of nnabla's holds it in single precision, and moves it.
void read_states(PyObject* o, Step& step);
int64_t count_elements(at::TensorList tensors);
int64_t count_elements(c10::ArrayRef<Step> steps);
void run_steps(const Rule& rule, c10::ArrayRef<Step> steps, const Hypers& hypers);
// Parameters and states of these steps were overwritten, and where `gradients`, these too.
void written(c10::ArrayRef<Step> steps, bool gradients = false);

template <class F>
void for_each_item(PyObject* sequence, const char* name, F&& f) {
  if (!PyList_Check(sequence) && !PyTuple_Check(sequence))
    fail(PyExc_TypeError, "%s: expected a list or a tuple, got %s", name, Py_TYPE(sequence)->tp_name);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence); ++i) f(i, PySequence_Fast_GET_ITEM(sequence, i));
}

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

extern PyMethodDef parameter_methods[];

}  // namespace cg::py
