#include "python/steps.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>

#include "kernels/pool_channels.h"
#include "ops/conv_direct.h"
#include "ops/conv_fixed.h"
#include "ops/conv_rows.h"
#include "ops/conv_tiles.h"

namespace cg::py {
namespace {

using at::Tensor, at::TensorList;

struct PyStep {
  PyObject_HEAD vectorcallfunc vectorcall;
  StepFunction* function;
};

PyObject* call(PyObject* self, PyObject* const* args, size_t n, PyObject* names) {
  return guarded([&] {
    if (names && PyTuple_GET_SIZE(names)) fail(PyExc_TypeError, "a step takes no keyword arguments");
    c10::SmallVector<Tensor, 4> in;
    for (Py_ssize_t i = 0; i < PyVectorcall_NARGS(n); ++i) in.push_back(tensor_argument(args[i], "input"));
    Tensor y;
    {
      const Unlocked unlocked(true);
      const at::AutoDispatchBelowADInplaceOrView unrecorded;
      y = (*reinterpret_cast<PyStep*>(self)->function)(in);
    }
    return wrap_tensor(y);
  });
}
Tensor optional(PyObject* o, const char* what) { return o == Py_None ? Tensor() : tensor_argument(o, what); }
void expect(TensorList in, size_t n) { TORCH_CHECK_VALUE(in.size() == n, "expected ", n, " tensors, got ", in.size()); }
template <size_t N>
void read_pairs(PyObject* o, const char* name, int64_t (*const (&to)[N])[2]) {
  const Ints numbers = parse_ints(o, name);
  if (numbers.size() != 2 * N) fail(PyExc_ValueError, "%s: expected %d numbers", name, static_cast<int>(2 * N));
  for (size_t k = 0; k < 2 * N; ++k) (*to[k / 2])[k % 2] = numbers[k];
}

// tiles_step(filters, bias, pad, add, rectify): convolve_tiles of x, or of y, to which it is added, and x.
PyObject* tiles(PyObject*, PyObject* const* args, Py_ssize_t) {
  const Tensor filters = tensor_argument(args[0], "filters"), bias = optional(args[1], "bias");
  const int64_t pad = integer(args[2], "pad");
  const bool add = truth(args[3]), rectify = truth(args[4]);
  return new_step([=](TensorList in) {
    expect(in, 1 + add);
    return convolve_tiles(in[add], filters, bias, pad, add ? in[0] : Tensor(), rectify);
  });
}
// rows_step(filters, bias, (*kernel, *stride, *pad), add, rectify): convolve_rows likewise.
PyObject* rows(PyObject*, PyObject* const* args, Py_ssize_t) {
  const Tensor filters = tensor_argument(args[0], "filters"), bias = optional(args[1], "bias");
  RowPlacement p;
  read_pairs<3>(args[2], "place", {&p.kernel, &p.stride, &p.pad});
  const bool add = truth(args[3]), rectify = truth(args[4]);
  return new_step([=](TensorList in) {
    expect(in, 1 + add);
    return convolve_rows(in[add], filters, bias, p, add ? in[0] : Tensor(), rectify);
  });
}
// direct_step(weight, bias, factor, addend, rectify, (*stride, *pad, *dilate), channelwise, overwrite, activation,
// numbers): convolve_direct of x, or, unless `overwrite` is None, of `added` and x.
PyObject* direct(PyObject*, PyObject* const* args, Py_ssize_t) {
  kernels::Direct d{};
  d.rectify = truth(args[4]);
  read_pairs<3>(args[5], "place", {&d.stride, &d.pad, &d.dilate});
  d.channelwise = truth(args[6]);
  const bool add = args[7] != Py_None, overwrite = add && truth(args[7]);
  const char* const name = PyUnicode_Check(args[8]) ? PyUnicode_AsUTF8(args[8]) : nullptr;
  constexpr std::string_view names[] = {"none", "relu", "hardtanh", "leaky_relu"};
  const auto found = std::find(std::begin(names), std::end(names), name ? name : "");
  if (found == std::end(names)) fail(PyExc_ValueError, "activation: got %R", args[8]);
  d.activation = static_cast<kernels::Activation>(found - names);
  const Items numbers(args[9], "numbers");
  if (numbers.size() > 0) d.low = static_cast<float>(number(numbers[0], "numbers"));
  if (numbers.size() > 1) d.high = static_cast<float>(number(numbers[1], "numbers"));
  const DirectLayer layer = direct_layer(d, tensor_argument(args[0], "weight"), optional(args[1], "bias"),
                                         optional(args[2], "factor"), optional(args[3], "addend"));
  return new_step([=](TensorList in) {
    expect(in, 1 + add);
    return convolve_direct(layer, in[add], add ? in[0] : Tensor(), overwrite);
  });
}
// max_pool_step((*kernel, *stride, *pad)): the maxima of windows of x, (n, channels, height, width) with channels last,
// as such an array.
PyObject* max_pool(PyObject*, PyObject* place) {
  kernels::PoolWindow w{{1}, {1}, {0}};
  int64_t kernel[2], stride[2], pad[2];
  read_pairs<3>(place, "place", {&kernel, &stride, &pad});
  for (int k = 0; k < 2; ++k) w.ksize[k + 1] = kernel[k], w.stride[k + 1] = stride[k], w.pad[k + 1] = pad[k];
  return new_step([=](TensorList in) {
    expect(in, 1);
    return kernels::max_pool_channels(w, in[0]);
  });
}

// ---- torch's operators ----------------------------------------------------------------------------------------------
c10::IValue value_of(PyObject* o, const c10::TypePtr& type, const char* name) {
  if (const auto optional = type->cast<c10::OptionalType>())
    return o == Py_None ? c10::IValue() : value_of(o, optional->getElementType(), name);
  switch (type->kind()) {
    case c10::TypeKind::TensorType:
      return tensor_argument(o, name);
    case c10::TypeKind::BoolType:
      return truth(o);
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
      return int64_t(integer(o, name));
    case c10::TypeKind::FloatType:
      return number(o, name);
    case c10::TypeKind::NumberType:
      if (c10::Scalar s; parse_scalar(o, &s)) return s;
      break;
    case c10::TypeKind::StringType:
      if (PyUnicode_Check(o)) return std::string(PyUnicode_AsUTF8(o));
      break;
    case c10::TypeKind::ListType: {
      const c10::TypePtr element = type->expect<c10::ListType>()->getElementType();
      c10::impl::GenericList items(element);
      for (PyObject* item : Items(o, name)) items.push_back(value_of(item, element, name));
      return items;
    }
    default:
      break;
  }
  fail(PyExc_TypeError, "%s: %R is no %s", name, o, type->str().c_str());
}

// torch_step(name, overload, arguments): an operator of torch with one result, whose arguments are given; `...` stands
// for the next input, and `[...]` for a list of all.
PyObject* torch_operator(PyObject*, PyObject* const* args, Py_ssize_t) {
  const char *const name = PyUnicode_AsUTF8(args[0]), *const overload = PyUnicode_AsUTF8(args[1]);
  if (!name || !overload) throw PyError();
  const c10::OperatorHandle op = c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
  const auto& arguments = op.schema().arguments();
  const Items given(args[2], "arguments");
  if (given.size() > static_cast<Py_ssize_t>(arguments.size())) fail(PyExc_TypeError, "%s: too many arguments", name);
  std::vector<c10::IValue> values;
  c10::SmallVector<size_t, 4> inputs;  // the arguments that are inputs
  bool listed = false;                 // the first of them is a list of all
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto& a = arguments[i];
    PyObject* const o = static_cast<Py_ssize_t>(i) < given.size() ? given[i] : nullptr;
    if (!o && !a.default_value()) fail(PyExc_TypeError, "%s: missing argument %s", name, a.name().c_str());
    const bool list = o && PyList_Check(o) && PyList_GET_SIZE(o) == 1 && PyList_GET_ITEM(o, 0) == Py_Ellipsis;
    if (list || o == Py_Ellipsis) inputs.push_back(i);
    listed |= list;
    values.push_back(list || o == Py_Ellipsis ? c10::IValue() : o ? value_of(o, a.type(), name) : *a.default_value());
  }
  return new_step([=](TensorList in) {
    expect(in, listed ? in.size() : inputs.size());
    std::vector<c10::IValue> stack = values;
    if (listed) {
      stack[inputs[0]] = in.vec();
    } else {
      for (size_t i = 0; i < in.size(); ++i) stack[inputs[i]] = in[i];
    }
    op.callBoxed(stack);
    return std::move(stack[0]).toTensor();
  });
}
// chain_step(steps): the result of one is the input of the next.
PyObject* chain(PyObject*, PyObject* steps) {
  std::vector<StepFunction> functions;
  for (PyObject* o : Items(steps, "steps")) {
    const StepFunction* const f = function_of_step(o);
    if (!f) fail(PyExc_TypeError, "steps: got %R", o);
    functions.push_back(*f);
  }
  if (functions.empty()) fail(PyExc_ValueError, "steps: expected at least one");
  return new_step([functions = std::move(functions)](TensorList in) {
    Tensor y = functions[0](in);
    for (size_t i = 1; i < functions.size(); ++i) y = functions[i](y);
    return y;
  });
}
// channels_last_step(step, copy): the step with its first input, an image, brought to channels last, or copied so.
PyObject* channels_last(PyObject*, PyObject* const* args, Py_ssize_t) {
  const StepFunction* const f = function_of_step(args[0]);
  if (!f) fail(PyExc_TypeError, "step: got %R", args[0]);
  return new_step([f = *f, copy = truth(args[1])](TensorList in) {
    constexpr auto kLast = at::MemoryFormat::ChannelsLast;
    c10::SmallVector<Tensor, 2> given(in.begin(), in.end());
    TORCH_CHECK_VALUE(!given.empty(), "expected tensors");
    given[0] = copy ? given[0].clone(kLast) : given[0].contiguous(kLast);
    return f(given);
  });
}
// rows_gain(places, maps, channels, numbers_of_channel) -> whether convolve_rows takes less time than oneDNN.
PyObject* gain(PyObject*, PyObject* const* args, Py_ssize_t) {
  int64_t n[4];
  for (int k = 0; k < 4; ++k) n[k] = integer(args[k], "rows_gain");
  return PyBool_FromLong(rows_gain(n[0], n[1], n[2], n[3]));
}
// fixed_way(filters, stride, padding, dilation, groups, images): the function of that name, of the shapes.
PyObject* way(PyObject*, PyObject* const* args, Py_ssize_t) {
  const Ints filters = parse_ints(args[0], "filters"), images = parse_ints(args[5], "images");
  Placement p{parse_ints(args[1], "stride"), parse_ints(args[2], "padding"), parse_ints(args[3], "dilation"),
              integer(args[4], "groups")};
  p.complete(2);
  p.check_axes("filters", filters);
  p.check_axes("images", images);
  return PyUnicode_FromString(fixed_way(p, filters, images));
}
// holds_window(kernel, padding, dilation): Placement::holds_window.
PyObject* window_in_padding(PyObject*, PyObject* const* args, Py_ssize_t) {
  const Ints kernel = parse_ints(args[0], "kernel");
  Placement p{{}, parse_ints(args[1], "padding"), parse_ints(args[2], "dilation")};
  p.complete(std::ssize(kernel));
  return PyBool_FromLong(p.holds_window(kernel));
}
PyObject* fits(PyObject*, PyObject*) { return PyBool_FromLong(kernels::direct_fits()); }

}  // namespace

PyTypeObject StepType = [] {
  PyTypeObject t = type_of<PyStep>("compatgrad._C.Step", "A function of tensors with what it needs besides.",
                                   Py_TPFLAGS_HAVE_VECTORCALL);
  t.tp_vectorcall_offset = offsetof(PyStep, vectorcall);
  t.tp_call = PyVectorcall_Call;
  t.tp_dealloc = [](PyObject* o) {
    delete reinterpret_cast<PyStep*>(o)->function;
    PyObject_Free(o);
  };
  return t;
}();

const StepFunction* function_of_step(PyObject* o) {
  return Py_IS_TYPE(o, &StepType) ? reinterpret_cast<PyStep*>(o)->function : nullptr;
}
PyObject* new_step(StepFunction f) {
  auto* const step = PyObject_New(PyStep, &StepType);
  if (!step) throw PyError();
  step->vectorcall = call;
  step->function = new StepFunction(std::move(f));
  return reinterpret_cast<PyObject*>(step);
}

PyMethodDef step_functions[] = {{"tiles_step", FAST(tiles, 5), nullptr},
                                {"rows_step", FAST(rows, 5), nullptr},
                                {"direct_step", FAST(direct, 10), nullptr},
                                {"max_pool_step", guard<max_pool>, METH_O, nullptr},
                                {"torch_step", FAST(torch_operator, 3), nullptr},
                                {"chain_step", guard<chain>, METH_O, nullptr},
                                {"channels_last_step", FAST(channels_last, 2), nullptr},
                                {"rows_gain", FAST(gain, 4), nullptr},
                                {"fixed_way", FAST(way, 6), nullptr},
                                {"holds_window", FAST(window_in_padding, 3), nullptr},
                                {"direct_fits", guard<fits>, METH_NOARGS, nullptr},
                                {nullptr, nullptr, 0, nullptr}};

}  // namespace cg::py
