// What Python's garbage collector sees of the graph.
//
// Nodes are not Python objects. A Python object that holds nodes (a Variable, the handle of a node, or a function
// defined in Python) reports the Python objects behind those nodes that only it keeps alive: all references to such a
// node come from the reporting object or from other such nodes. A full collection walks through all of them, each node
// once per traversal. Younger collections, which run every few hundred allocations, stop after kSteps nodes, so that a
// long graph costs them little.
#include "core/plan.h"
#include "core/pointer_map.h"
#include "python/common.h"

namespace cg::py {
namespace {

constexpr int kSteps = 64;
bool full_collection = false;

class Walk {
 public:
  Walk(visitproc visit, void* arg) : visit_(visit), arg_(arg) {}
  // Called with a node to which `holders` known references exist.
  void meet(VariableNode* x, uint32_t holders = 1) {
    uint32_t& known = *known_variables_.insert(x).first;
    known += holders;
    if (known != x->refs) return;
    if (x->creator) meet(x->creator.get());
    if (x->deferred && x->deferred->plan)
      for (auto& f : functions_of(*x->deferred->plan)) meet(f.get());
  }
  void meet(FunctionNode* f) {
    if (f->python) {
      object(f->handle);
      return;
    }
    const uint32_t known = ++*known_functions_.insert(f).first;
    if (!f->owns_handle) {
      if (known == f->refs) own_.push_back(f);
    } else if (known + 1 == f->refs) {
      object(f->handle);  // the other reference is the handle's own
    }
  }
  // Visits what a function holds, and the nodes that only the function keeps alive.
  int run() {
    for (int steps = 0; !own_.empty() && !stopped_ && (full_collection || steps < kSteps); ++steps) {
      FunctionNode* f = own_.pop_back_val();
      inputs_of(*f);
    }
    return stopped_;
  }
  void inputs_of(FunctionNode& f) {
    object(f.hooks);
    object(f.stack);
    object(host_of(f));
    for (auto& x : f.inputs)
      if (x) meet(x.get());
  }

 private:
  void object(void* o) {
    if (o && !stopped_) stopped_ = visit_(static_cast<PyObject*>(o), arg_);
  }
  const visitproc visit_;
  void* const arg_;
  int stopped_ = 0;
  PointerMap<VariableNode, uint32_t> known_variables_;
  PointerMap<FunctionNode, uint32_t> known_functions_;
  c10::SmallVector<FunctionNode*, 16> own_;
};

// collection(phase, info), one of gc.callbacks
void collection(PyObject*, PyObject* const* args, Py_ssize_t n) {
  PyObject* generation = n == 2 && PyDict_Check(args[1]) ? PyDict_GetItemString(args[1], "generation") : nullptr;
  full_collection = generation && PyLong_AsLong(generation) == 2 && PyUnicode_Check(args[0]) &&
                    PyUnicode_CompareWithASCIIString(args[0], "start") == 0;
  PyErr_Clear();
}
PyMethodDef method = {"collection", FAST(collection), "Tells the graph which kind of collection starts."};

}  // namespace

int traverse_function(FunctionNode* f, visitproc visit, void* arg) {
  Walk walk(visit, arg);
  walk.inputs_of(*f);
  return walk.run();
}

int traverse_node(VariableNode* node, uint32_t holders, visitproc visit, void* arg) {
  if (node->refs == holders && !node->creator && !node->deferred) return 0;
  Walk walk(visit, arg);
  walk.meet(node, holders);
  return walk.run();
}

void init_collect() {
  Obj gc = Obj::steal(PyImport_ImportModule("gc")),
      callbacks = Obj::steal(PyObject_GetAttrString(gc.get(), "callbacks"));
  Obj callback = Obj::steal(PyCFunction_New(&method, nullptr));
  if (PyList_Append(callbacks.get(), callback.get()) < 0) throw PyError();
}

}  // namespace cg::py
