// Where the engine works below torch's autograd, and where it lets user code in.
#pragma once
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <optional>

#include "core/scope.h"

namespace cg {

struct Whereabouts {
  c10::impl::PODLocalDispatchKeySet keys;  // torch's dispatch keys where user code called the engine
  bool inside;                             // the engine's own code runs
};
extern thread_local Whereabouts whereabouts __attribute__((tls_model("initial-exec")));

// The engine's own arithmetic: torch records none of it, and does not change its dtypes (torch.autocast).
class EngineScope : Pinned {
 public:
  EngineScope() : outer_(whereabouts) {
    if (!whereabouts.inside) whereabouts = {c10::impl::raw_local_dispatch_key_set, true};
    below_.emplace(c10::autograd_dispatch_keyset_with_ADInplaceOrView | c10::autocast_dispatch_keyset);
  }
  ~EngineScope() { whereabouts = outer_; }

 private:
  const Whereabouts outer_;
  std::optional<c10::impl::ExcludeDispatchKeyGuard> below_;  // made after the keys were read
};

// Around a call of user code, finalizers and signal handlers included: torch's autograd, its modules' hooks and the
// version counters of tensors work there as they do outside. Outside an EngineScope it changes nothing.
class Door : Pinned {
 public:
  Door() : keys_(outer_.inside ? LocalDispatchKeySet(outer_.keys) : c10::impl::tls_local_dispatch_key_set()) {
    whereabouts.inside = false;
  }
  ~Door() { whereabouts = outer_; }

 private:
  using LocalDispatchKeySet = c10::impl::LocalDispatchKeySet;
  const Whereabouts outer_ = whereabouts;
  c10::impl::ForceDispatchKeyGuard keys_;
};

// A call of user code.
template <class F, class... A>
decltype(auto) user_code(F&& f, A&&... args) {
  const Door door;
  return f(std::forward<A>(args)...);
}

// Whose call runs on this thread: a frontend, an object of the language binding. Functions remember who recorded them.
extern thread_local void* caller __attribute__((tls_model("initial-exec")));
struct CallerScope : Setting<void*> {
  explicit CallerScope(void* c) : Setting(caller, c) {}
};

}  // namespace cg
