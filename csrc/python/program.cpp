// Programs: lists of steps that run one after the other, in one call from Python.
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/dot.h>
#include <ATen/ops/sum.h>

#include <cmath>

#include "python/steps.h"

namespace cg::py {
namespace {

using at::Tensor;
constexpr char kProgram[] = "compatgrad._C.program";

struct Step {
  Obj object;
  const StepFunction* function;  // of `object`; null: that is called as a Python function
  Ints reads, dead;              // places of its inputs, and places that no later step reads
  int64_t place;                 // of its result
};
struct Program {
  std::vector<Step> steps;
  std::vector<Tensor> places;  // parameters at their places
  Ints inputs, outputs;

  void check(const Ints& at) const {
    for (const int64_t i : at)
      if (i < 0 || i >= static_cast<int64_t>(places.size())) fail(PyExc_IndexError, "there is no place %d", int(i));
  }
};

// program(steps, places, inputs, outputs): a program for run_program. A step is a tuple of a function, the places of
// its inputs, that of its result, and those that no later step reads; `places` has a parameter at its place, else None.
PyObject* make_program(PyObject*, PyObject* const* args, Py_ssize_t) {
  auto p = std::make_unique<Program>();
  for (PyObject* o : Items(args[1], "places"))
    p->places.push_back(o == Py_None ? Tensor() : tensor_argument(o, "places"));
  for (PyObject* o : Items(args[0], "steps")) {
    const Items parts(o, "steps");
    if (parts.size() != 4) fail(PyExc_ValueError, "steps: expected tuples of four");
    p->steps.push_back({Obj::borrow(parts[0]), function_of_step(parts[0]), parse_ints(parts[1], "reads"),
                        parse_ints(parts[3], "dead"), integer(parts[2], "place")});
    p->check(p->steps.back().reads), p->check(p->steps.back().dead), p->check({p->steps.back().place});
  }
  p->check(p->inputs = parse_ints(args[2], "inputs"));
  p->check(p->outputs = parse_ints(args[3], "outputs"));
  PyObject* const made = PyCapsule_New(
      p.get(), kProgram, [](PyObject* o) { delete static_cast<Program*>(PyCapsule_GetPointer(o, kProgram)); });
  if (!made) throw PyError();
  p.release();
  return made;
}

Tensor call_python(PyObject* function, at::TensorList in) {
  const Locked lock;  // its thread state is that of the caller, whose exception the program's call raises
  const Obj xs = tuple_of(in.size(), [&](size_t i) { return wrap_tensor(in[i]); });
  return tensor_argument(Obj::steal(PyObject_CallObject(function, xs.get())).get(), "a step's result");
}

const Tensor& there(const Tensor& t) {
  TORCH_CHECK(t.defined(), "program: a place that is read has no value");
  return t;
}

// run_program(program, inputs, most): the outputs, contiguous. If `most` is given: None where the squares of an input's
// numbers do not add up to less, or where the sum of an output's numbers is not finite.
PyObject* run_program(PyObject*, PyObject* const* args, Py_ssize_t n) {
  const auto* const p = static_cast<const Program*>(PyCapsule_GetPointer(args[0], kProgram));
  if (!p) throw PyError();
  std::vector<Tensor> values = p->places;
  const Items inputs(args[1], "inputs");
  if (inputs.size() != static_cast<Py_ssize_t>(p->inputs.size()))
    fail(PyExc_ValueError, "inputs: expected another number of tensors");
  for (size_t k = 0; k < p->inputs.size(); ++k) values[p->inputs[k]] = tensor_argument(inputs[k], "inputs");
  const double most = n > 2 ? number(args[2], "most") : 0;
  const at::NoGradGuard no_grad;
  const bool usual = [&] {
    const Unlocked unlocked(true);
    if (n > 2) {
      const at::AutoDispatchBelowADInplaceOrView unrecorded;
      for (const int64_t i : p->inputs) {
        const Tensor flat = values[i].reshape(-1);
        if (!(at::dot(flat, flat).item<float>() < most)) return false;
      }
    }
    c10::SmallVector<Tensor, 8> in;
    for (const Step& s : p->steps) {
      in.clear();
      for (const int64_t i : s.reads) in.push_back(there(values[i]));
      if (s.function) {
        const at::AutoDispatchBelowADInplaceOrView unrecorded;
        values[s.place] = (*s.function)(in);
      } else {
        values[s.place] = call_python(s.object.get(), in);
      }
      for (const int64_t i : s.dead) values[i].reset();
    }
    const at::AutoDispatchBelowADInplaceOrView unrecorded;
    for (const int64_t i : p->outputs) {
      values[i] = there(values[i]).contiguous();
      if (n > 2 && !std::isfinite(at::sum(values[i]).item<float>())) return false;
    }
    return true;
  }();
  if (!usual) Py_RETURN_NONE;
  return list_of(p->outputs.size(), [&](size_t k) { return wrap_tensor(values[p->outputs[k]]); }).release();
}

}  // namespace

PyMethodDef program_functions[] = {{"program", FAST(make_program, 4), nullptr},
                                   {"run_program", FAST(run_program, 2, 3), nullptr},
                                   {nullptr, nullptr, 0, nullptr}};

}  // namespace cg::py
