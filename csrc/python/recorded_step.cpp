// Steps of the functions that a graph has recorded.
#include <unordered_map>

#include "python/steps.h"

namespace cg::py {
namespace {

using at::Tensor, at::TensorList;

// A function of the graph. Its inputs are numbers of values: those of the step's inputs come first, then constants,
// then the results of the functions, in their order; -1 is an input that was left out.
struct Recorded {
  const OpInfo* op;
  Ref<FunctionNode> parameters;  // a node of its own, without a graph
  c10::SmallVector<int64_t, 3> reads;
};
struct Sequence {
  std::vector<Tensor> constants;
  std::vector<Recorded> functions;
  int64_t inputs, result;

  Tensor run(TensorList in) const {
    TORCH_CHECK_VALUE(in.size() == static_cast<size_t>(inputs), "expected ", inputs, " tensors, got ", in.size());
    const Locked lock;  // guards the nodes; functions of large tensors run without it
    std::vector<Tensor> values(in.begin(), in.end());
    values.insert(values.end(), constants.begin(), constants.end());
    for (const Recorded& f : functions) {
      Vars xs;
      for (const int64_t i : f.reads) xs.push_back(i < 0 ? Var() : Var(values[i]));
      const Ref<FunctionNode> node(f.op->create());
      copy_params(*f.op, f.parameters->params(), node->params());
      values.push_back(node->forward_unlocked(xs)[0]);
    }
    return values[result];
  }
};

// Writes the functions that lead to a node into a Sequence; false if one is no op or has several results, or if a value
// that they read is not there any more.
class Writer {
 public:
  Writer(Sequence& to) : to_(to) {}
  void give(const VariableNode* node, int64_t number) { numbers_[node] = number; }
  // The functions, each after those whose results it reads.
  bool order(const VariableNode* node) {
    if (numbers_.contains(node)) return true;
    FunctionNode* const f = node->creator.get();
    if (!f) {
      const Tensor t = node->variable ? node->variable->data : node->data;
      if (!t.defined()) return false;
      numbers_[node] = to_.inputs + static_cast<int64_t>(to_.constants.size());
      to_.constants.push_back(t);
      return true;
    }
    if (!f->info() || f->python || f->call || f->outputs.size() != 1) return false;
    for (const auto& x : f->inputs)
      if (x && !order(x.get())) return false;
    found_.emplace_back(f, node);
    numbers_[node] = -1;  // until all constants are known
    return true;
  }
  void write() {
    for (const auto& [f, node] : found_) {
      Recorded r{f->info(), Ref<FunctionNode>(f->info()->create()), {}};
      copy_params(*r.op, f->params(), r.parameters->params());
      for (const auto& x : f->inputs) r.reads.push_back(x ? numbers_.at(x.get()) : -1);
      numbers_[node] = to_.inputs + static_cast<int64_t>(to_.constants.size() + to_.functions.size());
      to_.functions.push_back(std::move(r));
    }
  }
  int64_t number(const VariableNode* node) const { return numbers_.at(node); }

 private:
  Sequence& to_;
  std::unordered_map<const VariableNode*, int64_t> numbers_;
  std::vector<std::pair<FunctionNode*, const VariableNode*>> found_;
};

// recorded_step(y, xs): a step that computes y from the tensors xs by the functions that were recorded between these
// Variables; None where there is none.
PyObject* recorded_step(PyObject*, PyObject* const* args, Py_ssize_t) {
  const Ref<VariableNode> y = node_of(expect_variable(args[0], "y"));
  auto s = std::make_shared<Sequence>();
  Writer writer(*s);
  const Items xs(args[1], "xs");
  s->inputs = xs.size();
  for (Py_ssize_t i = 0; i < xs.size(); ++i) writer.give(node_of(expect_variable(xs[i], "xs", i)).get(), i);
  if (!y || !writer.order(y.get())) Py_RETURN_NONE;
  writer.write();
  if (s->functions.empty()) Py_RETURN_NONE;
  s->result = writer.number(y.get());
  return new_step([s = std::shared_ptr<const Sequence>(std::move(s))](TensorList in) { return s->run(in); });
}

}  // namespace

PyMethodDef recorded_functions[] = {{"recorded_step", FAST(recorded_step, 2), nullptr}, {nullptr, nullptr, 0, nullptr}};

}  // namespace cg::py
