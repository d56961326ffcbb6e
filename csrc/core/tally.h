// What a report of a program's run counts.
#pragma once
#include "core/function.h"

namespace cg {

// The functions are null unless a report counts.
struct Tally {
  // A function has run forward. `counts`: false where it is only recorded, and runs later.
  void (*ran)(FunctionNode& f, VarsRef in, bool counts) = nullptr;
  // An array of a graph that runs later was copied to another device.
  void (*moved)(const at::Tensor& from, at::Device to) = nullptr;
  // A NumPy array (a PyObject) was copied, because torch cannot share its memory.
  void (*copied)(void* array) = nullptr;
};
extern Tally tally;

}  // namespace cg
