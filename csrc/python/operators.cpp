// The operators of Variable: a fast path for Variables of one dtype and for Python numbers; everything else calls the
// frontend's fallbacks.
#include <ATen/core/LegacyTypeDispatch.h>

#include "ops/index.h"
#include "python/deferred.h"

namespace cg::py {
namespace {

struct Operator {
  const char *name, *reversed;
  const char *op, *scalar, *reversed_scalar;  // names of ops; null if there is no fast path
  bool negate, invert;  // how the number is passed to `scalar`: x - 2 is x + -2, x / 2 is x * (1 / 2)
};
constexpr Operator kAdd{"add", "radd", "add", "add_scalar", "add_scalar", false, false};
constexpr Operator kSub{"sub", "rsub", "sub", "add_scalar", "rsub_scalar", true, false};
constexpr Operator kMul{"mul", "rmul", "mul", "mul_scalar", "mul_scalar", false, false};
constexpr Operator kDiv{"div", "rdiv", "div", "mul_scalar", "rdiv_scalar", false, true};
constexpr Operator kFloorDiv{"floordiv", "rfloordiv", nullptr, nullptr, nullptr, false, false};
constexpr Operator kPow{"pow", "rpow", "pow", "pow_scalar", "rpow_scalar", false, false};
constexpr Operator kMatMul{"matmul", "rmatmul", "matmul", nullptr, nullptr, false, false};

PyObject* fall_back(Frontend* f, const char* name, PyObject* a, PyObject* b) {
  PyObject* fn = f->fallbacks ? PyDict_GetItemString(f->fallbacks, name) : nullptr;
  if (!fn) Py_RETURN_NOTIMPLEMENTED;
  return b ? PyObject_CallFunctionObjArgs(fn, a, b, nullptr) : PyObject_CallOneArg(fn, a);
}

// The ops of an operator.
struct Ops {
  const OpInfo *op, *scalar, *reversed_scalar;
  explicit Ops(const Operator& o) : op(find(o.op)), scalar(find(o.scalar)), reversed_scalar(find(o.reversed_scalar)) {}
  static const OpInfo* find(const char* name) { return name ? find_op(name) : nullptr; }
};

bool floating(const at::Tensor& t) { return at::isFloatingType(t.scalar_type()); }

// Whether the values are computed later; the frontend then handles the dtype.
bool is_deferred(PyVariable* v) { return v->v.node && v->v.node->deferred; }

template <const Operator& O>
PyObject* binary(PyObject* a, PyObject* b) {
  const bool left = is_variable(a), right = is_variable(b);
  PyVariable* v = as_variable(left ? a : b);
  Frontend* f = v->frontend;
  static const Ops ops(O);
  try {
    if (left && right && is_deferred(v) && is_deferred(as_variable(b)) &&
        v->v.node->sizes.size() == as_variable(b)->v.node->sizes.size() && ops.op && &O != &kMatMul) {
      const Var in[] = {unread_var_of(v), unread_var_of(as_variable(b))};
      return call_op(ops.op->create(), in, f);
    }
    if (left && right && f->deferred != as_variable(b)->frontend->deferred) {
      const Obj own = cross(b, f, f->deferred ? "cross" : "leave");
      return binary<O>(a, own.get());
    }
    if (left && right && (is_deferred(v) || is_deferred(as_variable(b)))) return fall_back(f, O.name, a, b);
    if (left && right) {
      if (ops.op) {
        const at::Tensor &x = unread_tensor_of(as_variable(a)), &y = unread_tensor_of(as_variable(b));
        if (x.defined() && y.defined() && floating(x) && x.scalar_type() == y.scalar_type() &&
            x.device() == y.device()) {
          const Var in[] = {unread_var_of(as_variable(a)), unread_var_of(as_variable(b))};
          return call_op(ops.op->create(), in, f);
        }
      }
    } else {
      const OpInfo* op = left ? ops.scalar : ops.reversed_scalar;
      c10::Scalar s;
      PyObject* number = left ? b : a;
      if (op && (PyFloat_CheckExact(number) || PyLong_CheckExact(number)) && parse_scalar(number, &s)) {
        const Var x = unread_var_of(v);
        if (x.defined() && (is_deferred(v) || floating(x.data)) && !(O.invert && left && s.toDouble() == 0)) {
          if (left && O.negate) s = negative_of(s);
          if (left && O.invert) {
            static const OpInfo* divide = find_op("div_scalar");
            if (f->on_request)
              op = divide;
            else
              s = 1.0 / s.toDouble();
          }
          FunctionNode* node = op->create();
          *static_cast<c10::Scalar*>(op->params[0].address(node->params())) = s;
          return call_op(node, VarsRef(x), f);
        }
      }
    }
  } catch (const c10::Error&) {
    // The kernel refused the inputs: the frontend's fallback raises the original's error.
    if (!f->fallbacks || !PyDict_GetItemString(f->fallbacks, left ? O.name : O.reversed)) {
      set_error_from_exception();
      return nullptr;
    }
  } catch (...) {
    set_error_from_exception();
    return nullptr;
  }
  return left ? fall_back(f, O.name, a, b) : fall_back(f, O.reversed, b, a);
}

PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus == Py_None) return binary<kPow>(a, b);
  PyErr_SetString(PyExc_TypeError, "pow() of a Variable does not support a modulus");
  return nullptr;
}

PyObject* unary(PyObject* o, const OpInfo* op) {
  PyVariable* v = as_variable(o);
  const Var x = unread_var_of(v);
  if (!x.defined() || !floating(x.data)) return fall_back(v->frontend, op->name, o, nullptr);
  return call_op(op->create(), VarsRef(x), v->frontend);
}
PyObject* negative(PyObject* o) {
  static const OpInfo* op = find_op("neg");
  return unary(o, op);
}
// Frontends differ in the gradient of NaN.
PyObject* absolute(PyObject* o) { return fall_back(as_variable(o)->frontend, "abs", o, nullptr); }
PyObject* positive(PyObject* o) { return Py_NewRef(o); }

PyObject* subscript(PyObject* o, PyObject* key) {
  PyVariable* v = as_variable(o);
  if (v->frontend->fallbacks)
    if (PyObject* fn = PyDict_GetItemString(v->frontend->fallbacks, "getitem"))
      return PyObject_CallFunctionObjArgs(fn, o, key, nullptr);
  static const OpInfo* op = find_op("get_item");
  if (!tensor_of(v).defined()) fail(PyExc_ValueError, "an uninitialized Variable cannot be indexed");
  Ref<FunctionNode> node(op->create());
  parse_param(op->params[0], key, op->params[0].address(node->params()));
  const Var in[] = {var_of(v)};
  return call_op(node.get(), in, v->frontend);
}

Py_ssize_t length(PyObject* o) {
  const at::Tensor& t = unread_tensor_of(as_variable(o));
  if (!t.defined()) fail(PyExc_TypeError, "object of type 'NoneType' has no len()");
  if (t.dim() == 0) fail(PyExc_TypeError, "len() of unsized object");
  return t.size(0);
}
PyObject* item(PyObject* o, Py_ssize_t i) {
  if (i >= length(o)) fail(PyExc_IndexError, "index out of range");  // ends an iteration
  Obj key = Obj::steal(PyLong_FromSsize_t(i));
  return subscript(o, key.get());
}

}  // namespace

PyNumberMethods variable_number = [] {
  PyNumberMethods n = {};
  n.nb_add = binary<kAdd>;
  n.nb_subtract = binary<kSub>;
  n.nb_multiply = binary<kMul>;
  n.nb_true_divide = binary<kDiv>;
  n.nb_floor_divide = binary<kFloorDiv>;
  n.nb_matrix_multiply = binary<kMatMul>;
  n.nb_power = power;
  n.nb_negative = guard<negative>;
  n.nb_positive = positive;
  n.nb_absolute = guard<absolute>;
  return n;
}();
PyMappingMethods variable_mapping = {guard<length>, guard<subscript>, nullptr};
PySequenceMethods variable_sequence = [] {
  PySequenceMethods s = {};
  s.sq_length = guard<length>;
  s.sq_item = guard<item>;
  return s;
}();

}  // namespace cg::py
