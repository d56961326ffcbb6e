// Tapes as Python objects; compatgrad/exporting/_tape.py writes them.
#include "kernels/tape.h"

#include <ATen/Functions.h>

#include "python/common.h"
#include "python/optim.h"

namespace cg::py {
namespace {

namespace tape = kernels::tape;

struct Output {
  Ints size, stride;
  at::ScalarType dtype;
};
struct Tape {
  bool wide;  // numbers are double, not float
  std::vector<tape::Step> steps;
  std::vector<Output> outputs;
  Ints written;                // inputs
  std::vector<int64_t> least;  // bytes that each memory must have
};
constexpr char kTapeName[] = "compatgrad.tape";

int32_t small(int64_t n) {
  if (n < 0 || n > INT32_MAX) fail(PyExc_ValueError, "sizes and strides: expected numbers below 2^31");
  return static_cast<int32_t>(n);
}
// (memory, offset in bytes, strides)
tape::Operand operand_of(PyObject* o, int dims) {
  const Items parts(o, "operand");
  if (parts.size() != 3) fail(PyExc_ValueError, "operand: expected a memory, an offset and strides");
  const Ints strides = parse_ints(parts[2], "strides");
  if (static_cast<int>(strides.size()) != dims) fail(PyExc_ValueError, "strides: expected %d numbers", dims);
  tape::Operand r;
  r.base = py::integer(parts[0], "memory");
  r.offset = py::integer(parts[1], "offset");
  for (int d = 0; d < dims; ++d) r.stride[d] = small(strides[d]);
  return r;
}
// Notes how many bytes of its memory an operand reaches.
void note(Tape& t, const tape::Operand& o, const tape::Step& s, bool product, int skipped) {
  int64_t last = 0;
  for (int d = 0; d < s.dims; ++d) {
    if (product && d == s.dims - 3 + skipped) continue;
    if (!s.size[d]) return;
    last += (s.size[d] - 1) * int64_t(o.stride[d]);
  }
  if (o.base < 0 || o.base >= static_cast<int>(t.least.size()) || o.offset < 0)
    fail(PyExc_ValueError, "operand: there is no memory %d", o.base);
  t.least[o.base] = std::max(t.least[o.base], o.offset + (last + 1) * (t.wide ? 8 : 4));
}
// (kind, function, number, sizes, result, operands)
tape::Step step_of(PyObject* o, Tape& t) {
  const Items parts(o, "step");
  if (parts.size() != 6) fail(PyExc_ValueError, "step: expected six items");
  tape::Step s;
  const int kind = py::integer(parts[0], "kind"), function = py::integer(parts[1], "function");
  if (kind < 0 || kind > static_cast<int>(tape::Kind::Product)) fail(PyExc_ValueError, "kind: got %d", kind);
  if (function < 0 || function >= static_cast<int>(tape::Function::Count))
    fail(PyExc_ValueError, "function: got %d", function);
  s.kind = static_cast<tape::Kind>(kind);
  s.function = static_cast<tape::Function>(function);
  s.number = number(parts[2], "number");
  const Ints sizes = parse_ints(parts[3], "sizes");
  const bool product = s.kind == tape::Kind::Product;
  if (sizes.size() > tape::kDims || (product && sizes.size() < 3)) fail(PyExc_ValueError, "sizes: too many or few");
  s.dims = static_cast<uint8_t>(sizes.size());
  for (int d = 0; d < s.dims; ++d) s.size[d] = small(sizes[d]);
  s.result = operand_of(parts[4], s.dims);
  const Items operands(parts[5], "operands");
  if (operands.size() < 1 || operands.size() > 3) fail(PyExc_ValueError, "operands: expected one to three");
  s.operands = static_cast<uint8_t>(operands.size());
  for (int k = 0; k < s.operands; ++k) s.operand[k] = operand_of(operands[k], s.dims);
  // A product's depth is no dimension of the result and of what is added, its columns none of the first matrix, its
  // rows none of the second.
  constexpr int kSkipped[] = {1, 0, 2};
  note(t, s.result, s, product, 2);
  for (int k = 0; k < s.operands; ++k) note(t, s.operand[k], s, product, kSkipped[k]);
  return s;
}

// tape(wide, inputs, steps, outputs, written): a list of loops over memories: the workspace, the inputs, the outputs.
PyObject* make_tape(PyObject*, PyObject* const* args, Py_ssize_t) {
  auto t = std::make_unique<Tape>();
  t->wide = truth(args[0]);
  const Items outputs(args[3], "outputs");
  for (PyObject* o : outputs) {
    const Items parts(o, "outputs");
    if (parts.size() != 3) fail(PyExc_ValueError, "outputs: expected sizes, strides and dtypes");
    t->outputs.push_back({parse_ints(parts[0], "sizes"), parse_ints(parts[1], "strides"), parse_dtype(parts[2])});
  }
  const int inputs = py::integer(args[1], "inputs");
  if (inputs < 0) fail(PyExc_ValueError, "inputs: got %d", inputs);
  t->least.resize(1 + inputs + t->outputs.size());
  t->written = parse_ints(args[4], "written");
  for (const int64_t k : t->written)
    if (k < 0 || k >= inputs) fail(PyExc_ValueError, "written: there is no input %d", static_cast<int>(k));
  for (PyObject* o : Items(args[2], "steps")) t->steps.push_back(step_of(o, *t));
  PyObject* const made = PyCapsule_New(
      t.get(), kTapeName, [](PyObject* o) { delete static_cast<Tape*>(PyCapsule_GetPointer(o, kTapeName)); });
  if (!made) throw PyError();
  t.release();
  return made;
}

// run_tape(tape, first, last, workspace, inputs, outputs): runs steps first to last - 1; outputs None: makes them.
// Returns the outputs.
PyObject* run_tape(PyObject*, PyObject* const* args, Py_ssize_t) {
  const Tape* const t = static_cast<Tape*>(PyCapsule_GetPointer(args[0], kTapeName));
  if (!t) throw PyError();
  const int first = py::integer(args[1], "first"), last = py::integer(args[2], "last");
  if (first < 0 || last > static_cast<int>(t->steps.size())) fail(PyExc_IndexError, "the tape has no such steps");
  c10::SmallVector<at::Tensor, 64> held;
  held.push_back(unwrap_tensor(args[3], "workspace"));
  for (PyObject* o : Items(args[4], "inputs")) {
    const at::Tensor& x = unwrap_tensor(o, "inputs");
    held.push_back(x.is_neg() ? x.resolve_neg() : x);  // loops read the memory, which does not contain the sign
  }
  Obj outputs = Obj::borrow(args[5]);
  if (args[5] == Py_None) {
    outputs = list_of(t->outputs.size(), [&](size_t k) {
      const Output& o = t->outputs[k];
      held.push_back(at::empty_strided(o.size, o.stride, o.dtype));
      return wrap_tensor(held.back());
    });
  } else {
    for (PyObject* o : Items(args[5], "outputs")) held.push_back(unwrap_tensor(o, "outputs"));
  }
  if (held.size() != t->least.size()) fail(PyExc_ValueError, "inputs: expected another number of tensors");
  c10::SmallVector<char*, 64> bases;
  for (size_t k = 0; k < held.size(); ++k) {
    const at::Tensor& x = held[k];
    const auto size = static_cast<int64_t>(x.storage().nbytes()) - x.storage_offset() * x.element_size();
    if (!x.is_cpu() || size < t->least[k]) fail(PyExc_ValueError, "a tensor of a tape has too little memory");
    bases.push_back(static_cast<char*>(x.data_ptr()));
  }
  run_kernels(0, [&] {
    for (int i = first; i < last; ++i) {
      if (t->wide)
        tape::run<double>(t->steps[i], bases.data());
      else
        tape::run<float>(t->steps[i], bases.data());
    }
  });
  if (last == static_cast<int>(t->steps.size()))
    for (const int64_t k : t->written) bump_version(held[1 + k]);
  return outputs.release();
}

}  // namespace

PyMethodDef tape_functions[] = {{"tape", FAST(make_tape, 5),
                                 "tape(wide, inputs, steps, outputs, written): a list of loops, on numbers of double "
                                 "precision if `wide`, in a workspace, so "
                                 "many inputs, and outputs of given sizes, strides and dtypes, which writes to the "
                                 "inputs `written`. A step is a tuple of kind, function, number, sizes, "
                                 "result and operands; an operand is a tuple of memory, offset in bytes and strides."},
                                {"run_tape", FAST(run_tape, 6),
                                 "run_tape(tape, first, last, workspace, inputs, outputs): runs some steps of a tape "
                                 "and returns the outputs, which "
                                 "are made if None is given."},
                                {nullptr, nullptr, 0, nullptr}};

}  // namespace cg::py
