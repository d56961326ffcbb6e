// Declarations shared by the files of the Python binding. Only convert.cpp converts tensors to Python objects, because
// the header for that costs 24 s of compile time per file.
#pragma once
#include "core/backprop.h"
#include "core/deferred.h"
#include "core/door.h"
#include "core/mode.h"
#include "core/op.h"
#include "python/object.h"

namespace cg::py {

struct Frontend {
  PyObject_HEAD PyObject *name, *variable_class, *variable_node_class, *node_class, *node_classes, *fallbacks,
      *on_grad_error, *enter;
  char numpy;             // arrays are NumPy views, otherwise torch tensors
  char record_constants;  // functions are recorded even if no input needs a gradient
  char deferred;          // functions are recorded on variables whose values come later
  char on_request;        // functions are recorded only in the mode `recording`
  PyObject* base;         // a frontend whose ops give results of this frontend if an input belongs to this one; or null
};

struct PyVariable {
  PyObject_HEAD Variable v;
  Frontend* frontend;  // borrowed: frontends are immortal
  PyObject* array;     // the array that was returned to or passed by the program, or null
  // The TensorImpl whose memory `array` shares; null: it shares none and is converted at each use
  const void* array_of;
  PyObject* grad_var;   // the Python object of v.grad, or null
  PyObject* node_view;  // the Python object of the node, after it was first asked for
  PyObject *dict, *weakrefs;
};

struct PyVariableNode {
  PyObject_HEAD Ref<VariableNode> node;
  Frontend* frontend;
  PyObject* weakrefs;
};

struct PyFunctionNode {
  PyObject_HEAD FunctionNode* node;  // native: a counted reference; Python-defined: owned
  Frontend* frontend;
  PyObject *dict, *weakrefs;
};

// A node that is defined in Python; its Python object owns it.
struct PythonNode final : FunctionNode {
  explicit PythonNode(PyObject* self) {
    python = true;
    handle = self;
  }
  Tensors forward(VarsRef) override { throw std::logic_error("a Python function is run by its apply"); }
  Mask saves(c10::ArrayRef<bool>) const override { return 0; }
  void backward(Ctx<at::Tensor>&) override { throw std::logic_error("run by python_backward"); }
  void backward(Ctx<Var>&) override { throw std::logic_error("run by python_backward"); }
  Ints retained_inputs, retained_outputs;
};

extern PyTypeObject VariableType, VariableNodeType, FunctionNodeType, FrontendType, BoundType;
extern Frontend* native_frontend;
// The frontend whose call runs on this thread: hooks and Python-defined backwards see its classes.
using FrontendScope = CallerScope;
inline Frontend* frontend_or_native(void* f) { return f ? static_cast<Frontend*>(f) : native_frontend; }
inline Frontend* active_frontend() { return frontend_or_native(caller); }
extern Frontend* deferred_frontend;  // the frontend whose graph runs later, after it has recorded something
// The frontend that recorded f. If a pass adds a sum of gradients to a graph of another kind than its caller's, the sum
// belongs to that graph's frontend.
inline Frontend* frontend_of(const FunctionNode& f) {
  Frontend* own = frontend_or_native(f.frontend ? f.frontend : caller);  // not recorded yet: the frontend that calls
  const bool later = f.call != nullptr;
  return static_cast<bool>(own->deferred) == later ? own : later ? deferred_frontend : native_frontend;
}

// Makes `del x.attribute` an error for all attributes of `type`; a setter would get it as a null value.
void refuse_deletion(PyTypeObject& type);

// Whether an object that the graph points to may be returned to Python: not if it is being deallocated.
inline bool living(const void* o) { return o && Py_REFCNT(static_cast<PyObject*>(const_cast<void*>(o))) > 0; }

inline bool is_variable(PyObject* o) { return PyObject_TypeCheck(o, &VariableType); }
inline PyVariable* as_variable(PyObject* o) { return reinterpret_cast<PyVariable*>(o); }
// Converts an argument; a TypeError names it if it is not a Variable. `index`: its index in a sequence with that name.
PyVariable* expect_variable(PyObject* o, const char* name, Py_ssize_t index = -1);
Frontend* expect_frontend(PyObject* o);
inline bool is_function(PyObject* o) { return PyObject_TypeCheck(o, &FunctionNodeType); }
inline PyFunctionNode* as_function(PyObject* o) { return reinterpret_cast<PyFunctionNode*>(o); }

// A Variable and its node point to each other. `leave` ends this: the node is then without a Variable.
inline void leave(PyVariable* v) {
  if (v->v.node && v->v.node->variable == &v->v) v->v.node->variable = nullptr;
}
inline void place(PyVariable* v, Ref<VariableNode> node) {
  leave(v);
  v->v.node = std::move(node);
  if (v->v.node) v->v.node->variable = &v->v;
}
// Calls `read` for each Variable of a sequence; undefined for None, if None is allowed.
template <class F>
Vars read_variables(PyObject* sequence, const char* name, bool allow_none, F&& read) {
  const Items items(sequence, name);
  Vars vars;
  for (Py_ssize_t i = 0; i < items.size(); ++i)
    vars.push_back(allow_none && items[i] == Py_None ? Var() : read(expect_variable(items[i], name, i)));
  return vars;
}

// ---- convert.cpp, params.cpp ----------------------------------------------------------------------------------------
void init_convert();
bool is_tensor(PyObject* o);
bool is_ndarray(PyObject* o);
PyObject* new_ndarray(PyObject* o);                       // from a sequence; new reference
PyObject* wrap_tensor(const at::Tensor& t);               // new reference; None for an undefined tensor
at::Tensor unwrap_tensor(PyObject* o, const char* what);  // refuses tensors that require torch's grad
bool in_torch_graph(PyObject* o);                         // whether it is a tensor that requires torch's grad
at::Tensor torch_tensor(PyObject* o);                     // any torch tensor
// Converts an array to a tensor; `aliases` says whether both share memory.
at::Tensor tensor_of_array(PyObject* array, bool* aliases);
// A tensor that shares the memory of a GPU array (CuPy's); undefined for other objects.
at::Tensor tensor_of_device_array(PyObject* o, const char* what);
PyObject* array_of_tensor(const at::Tensor& t);  // NumPy or CuPy view; new reference
void expect_writable(const at::Tensor& t);       // ValueError if it is in the memory of a read-only array
bool is_broadcast(const at::Tensor& t);          // whether elements of it share memory
PyObject* to_frontend_array(const at::Tensor& t, Frontend* f);  // None for an undefined tensor
PyObject* dtype_object(at::ScalarType t, Frontend* f);          // borrowed
at::ScalarType parse_dtype(PyObject* o);
bool parse_scalar(PyObject* o, c10::Scalar* out);  // Python numbers only
void parse_param(const ParamInfo& p, PyObject* value, void* address);
PyObject* format_param(const ParamInfo& p, const void* address);
Ints parse_ints(PyObject* o, const char* name);
PyObject* tuple_of_ints(at::IntArrayRef a);

// ---- wrap.cpp -------------------------------------------------------------------------------------------------------
const at::Tensor& tensor_of(PyVariable* v);  // undefined if uninitialized
void set_tensor(PyVariable* v, at::Tensor t);
void set_data(PyVariable* v, PyObject* data, const char* what);
void take(PyVariable* v, Var x);  // makes `v` the Variable of x
PyVariable* allocate(PyTypeObject* type, Frontend* f);
Frontend* frontend_of_object(PyObject* o);  // by the attribute _frontend of an object or a class
const Ref<VariableNode>& node_of(PyVariable* v);
Var var_of(PyVariable* v);
// For functions that join_attention() may join, and for code that reads no values.
Var unread_var_of(PyVariable* v);
const at::Tensor& unread_tensor_of(PyVariable* v);
PyObject* wrap_var(Var v, Frontend* f);  // a new Variable of the frontend's class; None if undefined
PyObject* wrap_data(PyObject* data, Frontend* f, bool requires_grad);  // a new Variable around an array, tensor or None
PyObject* wrap_outputs(Vars ys, Frontend* f);                          // one Variable, or a tuple
PyVariable* living_variable(const VariableNode& n);  // null if there is none, or if it is being deallocated
PyObject* variable_of_node(const Ref<VariableNode>& n, Frontend* f);
// As `variable_of_node`, for a frontend's own code: if the node's Variable belongs to another frontend, returns a
// second Variable for the node.
PyObject* own_variable_of_node(const Ref<VariableNode>& n, Frontend* f);
// Whether an argument is a Variable of another frontend, or a list or tuple that contains one.
bool is_foreign(PyObject* o, const Frontend* f, int depth = 2);
void set_gradient(PyVariable* v, PyObject* grad_var);
const at::Tensor& gradient_tensor(PyVariable* v);  // undefined if there is none
// collect.cpp: visits what only the `holders` references of one object to `node` keep alive; visits what `f` keeps
// alive.
void init_collect();
int traverse_node(VariableNode* node, uint32_t holders, visitproc visit, void* arg);
int traverse_function(FunctionNode* f, visitproc visit, void* arg);
extern PyNumberMethods variable_number;
extern PyMappingMethods variable_mapping;
extern PySequenceMethods variable_sequence;

// ---- node.cpp, function.cpp, function_methods.cpp -------------------------------------------------------------------
PyObject* view_of_node(const Ref<VariableNode>& n, Frontend* f);  // null node: None
// Getter and setter of an attribute that is a string or None.
PyObject* get_string(const std::unique_ptr<std::string>& s);
void put_string(std::unique_ptr<std::string>& s, PyObject* value, const char* name);
class Shown;                                                     // joined.h
PyObject* view_of_function(const Shown& f, Frontend* frontend);  // null: None
// Makes `view`, a node that a program made, the Python object of a native function that runs next, with the hooks of
// `view`.
void adopt(PyObject* view, FunctionNode* fresh);
void keep_view(FunctionNode* f);  // makes the node own its Python object
void python_backward(FunctionNode& f, NodesRef inputs, VarsRef gys, Vars& gxs, c10::ArrayRef<bool> wanted, void* pass,
                     Binding::Pending pending);
PyObject* tuple_of_variables(VarsRef xs, Frontend* f);  // of the frontend's classes; None for an undefined Var
PyObject* variable_of(const Var& x, Frontend* f);  // the existing Variable of x, otherwise a new one; None if undefined
// Reads one gradient per entry of `wanted`, or one per wanted entry.
void read_gradients(PyObject* sequence, c10::ArrayRef<bool> wanted, Vars& gxs, const char* who);
FunctionNode* function_of_view(PyObject* o);  // null for None; TypeError if it is not a FunctionNode

// ---- bound.cpp, wrap.cpp --------------------------------------------------------------------------------------------
PyObject* frontend_bind(PyObject* self, PyObject* args, PyObject* kwargs);
PyObject* raw_op(const OpInfo* info);  // new reference
// Reads an argument of an op. `f` becomes the input's frontend if that one is based on `f`.
bool to_var(PyObject* o, Var* out, Frontend*& f);
// Runs an op on engine variables for a frontend.
PyObject* call_op(FunctionNode* fresh, VarsRef in, Frontend* f);
// Runs a function on engine variables in the modes of a frontend, and creates no Python objects.
Vars apply_for(FunctionNode& node, VarsRef in, Frontend* f, bool record_constants = false);

// ---- hooks.cpp, passes.cpp, registry.cpp ----------------------------------------------------------------------------
void init_binding();
PyObject* function_hooks();  // borrowed: this thread's dict
bool forwards_observed();    // whether hooks observe forward calls
extern PyMethodDef hook_methods[], pass_methods[], registry_methods[], function_methods[];
// optim.cpp, optim_parameters.cpp
extern PyMethodDef optim_methods[], parameter_methods[];
// kernels.cpp
void init_kernels();
extern PyMethodDef kernel_methods[];
// arrays.cpp, deferred.cpp, deferred_functions.cpp, host.cpp: variables and functions whose values come later
extern PyTypeObject ArrayType, DeferredVariableType;
extern PyMethodDef array_functions[], deferred_functions[], graph_functions[];
PyObject* wrap_array(const Ref<Array>& a);  // an object of the class that the frontend has set
// marks.cpp: gradients that are written into a program's memory
extern PyMethodDef mark_functions[];
// torch_node.cpp, torch_call.cpp: pieces of torch's graph as functions
void init_torch_graph();
extern PyMethodDef torch_functions[];
Var enter(const at::Tensor& t, Frontend* f);  // a variable that continues torch's graph of `t`
Ref<Array> unwrap_array(PyObject* o, const char* what);
// From the Python object of a function, or from a Variable, whose creator it is
FunctionNode& deferred_function(PyObject* o);
PyObject* apply_host(PyObject*, PyObject* const* args, Py_ssize_t n);
PyObject* function_host(PyObject*, PyObject* o);
PyObject* host_of(FunctionNode& f);  // borrowed; for a function that apply_host made, otherwise null

}  // namespace cg::py
