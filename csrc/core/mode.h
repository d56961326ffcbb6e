// Recording modes: thread-local values over process-wide defaults.
#pragma once
#include <cstdint>

#include "core/scope.h"

namespace cg {

// deferred: functions are recorded on variables whose values come later; auto_forward: they also run at once. plain:
// for any frontend, ops run at once on plain tensors (the inside of a composite function). recording, training: the
// modes of frontends that record on request (MXNet's autograd.record); both are off by default.
enum class Mode : uint8_t {
  enable_backprop,
  debug,
  type_check,
  lazy_grad_sum,
  train,
  deferred,
  auto_forward,
  plain,
  recording,
  training,
  count
};

constexpr int8_t kUnset = -1;

struct ModeTable {
  int8_t value[static_cast<int>(Mode::count)] = {kUnset, kUnset, kUnset, kUnset, kUnset,
                                                 kUnset, kUnset, kUnset, kUnset, kUnset};
};

extern thread_local ModeTable thread_modes __attribute__((tls_model("initial-exec")));
extern int8_t default_modes[static_cast<int>(Mode::count)];

inline bool mode(Mode m) {
  const int8_t v = thread_modes.value[static_cast<int>(m)];
  return (v == kUnset ? default_modes[static_cast<int>(m)] : v) != 0;
}

// Sets a mode until the end of a scope.
struct ModeScope : Setting<int8_t> {
  ModeScope(Mode m, bool value) : Setting(thread_modes.value[static_cast<int>(m)], value) {}
};

}  // namespace cg
