// Scopes in which the engine works below torch's autograd, and in which it calls user code.
#pragma once
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <optional>

#include "core/scope.h"
#include "core/settle.h"

namespace cg {

struct Whereabouts {
  c10::impl::PODLocalDispatchKeySet keys;  // torch's dispatch keys at the point where user code called the engine
  bool inside;                             // whether the engine's own code runs
};
extern thread_local Whereabouts whereabouts __attribute__((tls_model("initial-exec")));

// Around the engine's own arithmetic: torch does not record it, nor change its dtypes (torch.autocast).
class EngineScope : Pinned {
 public:
  EngineScope() : outer_(whereabouts) {
    if (!whereabouts.inside) whereabouts = {c10::impl::raw_local_dispatch_key_set, true};
    below_.emplace(c10::autograd_dispatch_keyset_with_ADInplaceOrView | c10::autocast_dispatch_keyset);
  }
  ~EngineScope() { whereabouts = outer_; }

 private:
  const Whereabouts outer_;
  std::optional<c10::impl::ExcludeDispatchKeyGuard> below_;  // must be made after `keys` was read
};

// Around a call of user code, including finalizers and signal handlers: torch's autograd, the hooks of its modules and
// the version counters of tensors work there as outside the engine. Outside an EngineScope a Door changes nothing.
class Door : Pinned {
 public:
  Door() : keys_(outer_.inside ? LocalDispatchKeySet(outer_.keys) : c10::impl::tls_local_dispatch_key_set()) {
    settle_quietly();  // user code may write into arrays that functions wait to read
    whereabouts.inside = false;
  }
  ~Door() {
    whereabouts = outer_;
    settle_quietly();  // the engine reads what user code has computed
  }

 private:
  using LocalDispatchKeySet = c10::impl::LocalDispatchKeySet;
  const Whereabouts outer_ = whereabouts;
  c10::impl::ForceDispatchKeyGuard keys_;
};

// Calls user code.
template <class F, class... A>
decltype(auto) user_code(F&& f, A&&... args) {
  const Door door;
  return f(std::forward<A>(args)...);
}

// The frontend (an object of csrc/python) whose call runs on this thread. Functions remember it as their `frontend`.
extern thread_local void* caller __attribute__((tls_model("initial-exec")));
struct CallerScope : Setting<void*> {
  explicit CallerScope(void* c) : Setting(caller, c) {}
};

}  // namespace cg
