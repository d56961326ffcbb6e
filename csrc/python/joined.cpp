#include "python/joined.h"

#include <algorithm>

#include "core/door.h"
#include "core/postponed.h"
#include "core/tally.h"
#include "python/chains.h"

namespace cg::py {

int RunningPass::count_ = 0;

namespace {

// The `info` of such an op: what is needed to put the chain's functions in its place.
struct Joined : Pinned {
  FunctionNode* const f;
  const Chain& chain;
  const Obj owner, context;  // of the chain; the values' context
  Joined *before = nullptr, *after;
  static Joined* first;
  Joined(FunctionNode& node, PyObject* capsule, PyObject* c)
      : f(&node),
        chain(*Chain::of(capsule)),
        owner(Obj::borrow(capsule)),
        context(Obj::borrow(c)),
        after(std::exchange(first, this)) {
    if (after) after->before = this;
  }
  ~Joined() { leave(); }
  // Takes this from the list of those that separate_all() separates.
  void leave() {
    if (before || after || first == this) (before ? before->after : first) = after;
    if (after) after->before = before;
    before = after = nullptr;
  }
};
Joined* Joined::first = nullptr;
constexpr const char* kJoined = "compatgrad.joined";

// Outputs of chains' functions that become the variables that outputs of joined functions were. Until the end they have
// the arrays that the functions have computed: a program may have freed those of the variables, or written into them.
class Places : Pinned {
 public:
  ~Places() {
    for (Place& p : all_) {
      p.creator->call->outputs[p.index] = p.arrays;
      p.node->deferred->store = std::move(p.arrays);
    }
  }
  // Makes `made` the variable that output j of f was.
  void take(Ref<VariableNode>& made, FunctionNode& f, size_t j) {
    const Ref<FunctionNode> g = made->creator;
    const uint32_t index = made->output_index;
    if (VariableNode* const old = f.outputs[j].node) {
      Ref<VariableNode> kept(old);
      kept->become_output(g, index);
      kept->deferred->store = g->call->outputs[index];
      made.swap(kept);
    }
    all_.push_back({made, g, index, f.call->outputs[j]});
  }

 private:
  struct Place {
    Ref<VariableNode> node;
    Ref<FunctionNode> creator;
    uint32_t index;
    Ref<Store> arrays;
  };
  c10::SmallVector<Place, 2> all_;
};
void separate(FunctionNode& f) {
  const Ref<FunctionNode> self(&f);
  const Obj info = Obj::steal(static_cast<PyObject*>(std::exchange(f.call->info, nullptr)));
  Joined& joined = *static_cast<Joined*>(PyCapsule_GetPointer(info.get(), kJoined));
  joined.leave();  // at the beginning: another thread or a finalizer may call separate_all() in the middle of this
  const Chain& chain = joined.chain;
  const ChainStep& whole = *chain.joined;
  if (f.inputs.size() != whole.inputs.size()) return;  // the program has cut it off from its inputs
  const auto has_values = [](const Ref<VariableNode>& x) {
    const Array& a = *x->deferred->store->data;
    return !a.cleared && a.touched;
  };
  if (!std::all_of(f.inputs.begin(), f.inputs.end(), [](auto& x) { return x && x->deferred; })) return;
  const bool runs = std::all_of(f.inputs.begin(), f.inputs.end(), has_values);
  Values values;
  values.resize(chain.first_value);
  for (size_t i = 0; i < whole.inputs.size(); ++i) values[whole.inputs[i]] = f.inputs[i];
  const Setting type(real_dtype, f.call->real);
  const Setting device(real_device, f.call->device);
  const Setting postpones(may_postpone, 0);
  const ModeScope now(Mode::auto_forward, runs), plain(Mode::plain, false), recorded(Mode::enable_backprop, true);
  {
    Places places;
    for (size_t k = chain.first; k < chain.steps.size(); ++k) {
      const size_t begin = values.size();
      run_step(chain.steps[k], chain, values, joined.context.get());
      for (size_t j = 0; j < chain.joined_outputs.size(); ++j)
        if (const size_t n = chain.joined_outputs[j]; n >= begin && n < values.size()) places.take(values[n], f, j);
    }
  }
  f.unchain();
  for (size_t k = chain.first_value; k < values.size() && !runs; ++k) {
    const auto& outputs = chain.joined_outputs;
    if (std::find(outputs.begin(), outputs.end(), k) == outputs.end()) values[k]->deferred->store->data->clear();
  }
  release_from(values, chain.inputs);
}
void separate_all() {
  while (Joined::first && !RunningPass::any()) {
    const EngineScope engine;
    separate(*Joined::first->f);
  }
}

}  // namespace

bool may_join(const Chain& chain) {
  // Nothing observes the functions, no pass is running, which would keep separate_all() from showing them, and the op
  // computes what they compute, bit for bit.
  return chain.joined && !RunningPass::any() && !tally.ran && mode(Mode::auto_forward) && real_dtype == at::kFloat &&
         real_device.is_cpu();
}

void run_joined(const Chain& chain, PyObject* capsule, Values& values, PyObject* context) {
  auto [node, ys] = apply_step(*chain.joined, chain, values);
  if (node->recorded && node->call) {
    auto note = std::make_unique<Joined>(*node, capsule, context);
    PyObject* const info = PyCapsule_New(
        note.get(), kJoined, [](PyObject* o) { delete static_cast<Joined*>(PyCapsule_GetPointer(o, kJoined)); });
    if (!info) throw PyError();
    note.release();
    node->call->info = info;
  }
  values.resize(*std::max_element(chain.joined_outputs.begin(), chain.joined_outputs.end()) + 1);
  for (size_t j = 0; j < ys.size(); ++j) values[chain.joined_outputs[j]] = std::move(ys[j].node);
}

bool is_joined(PyObject* info) { return PyCapsule_IsValid(info, kJoined); }

RunningPass::RunningPass(bool shows) {
  if (shows) separate_all();
  ++count_;
}

// A finalizer that runs meanwhile may give the Variable another node, so these hold the node.
Shown Shown::creator(VariableNode& n) {
  const Ref<VariableNode> held(&n);
  separate_all();
  return Shown(n.creator.get());
}
std::vector<Shown> Shown::users(VariableNode& n) {
  const Ref<VariableNode> held(&n);
  separate_all();
  std::vector<std::pair<uint64_t, Shown>> numbered;
  n.deferred->users.each([&](FunctionNode& f, uint64_t number) { numbered.emplace_back(number, Shown(&f)); });
  std::sort(numbered.begin(), numbered.end(), [](auto& a, auto& b) { return a.first < b.first; });
  std::vector<Shown> all;
  for (auto& [number, f] : numbered) all.push_back(std::move(f));
  return all;
}
std::vector<Shown> Shown::order(VariableNode& y) {
  const Ref<VariableNode> held(&y);
  separate_all();
  std::vector<Shown> all;
  for (const Ref<FunctionNode>& f : *forward_order(y)) all.push_back(Shown(f.get()));
  return all;
}

}  // namespace cg::py
