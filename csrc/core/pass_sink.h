// Where a pass gets those gradients of a visited function that are computed later, or in memory that is there.
#pragma once
#include "core/slots.h"

namespace cg {

// Lets rows of leaves' gradients, and parts of other gradients, wait in the slots. Used by passes during which no code
// can read gradients.
template <class T>
struct PassSink final : GradientSink {
  GradientSlots<T>& slots;
  const Nodes& inputs;
  Mask later;  // the inputs whose gradients are computed later
  PassSink(GradientSlots<T>& s, const Nodes& in) : slots(s), inputs(in) {}
  bool keep_rows(size_t i, RowSum sum, const at::Tensor& a, const at::Tensor& b) override {
    if (inputs[i]->creator || !slots.join(*inputs[i], sum, a, b)) return false;
    later |= in_bit(i);
    return true;
  }

  c10::SmallVector<at::Tensor, 4> memories;  // memory for the gradients of inputs; undefined: none
  void find_memories(c10::ArrayRef<bool> wanted) {
    for (size_t i = 0; i < inputs.size(); ++i)
      memories.push_back(wanted[i] ? slots.last_memory(inputs[i], inputs) : at::Tensor());
  }
  at::Tensor write_rows(size_t i, RowSum sum, const at::Tensor& a, const at::Tensor& b) override {
    if (i >= memories.size() || !memories[i].defined() || !sum->write) return {};
    const auto* const memory = storage_of(memories[i]);  // an operand may be the last gradient, which is in this memory
    if (memory == storage_of(a) || memory == storage_of(b)) return {};
    return sum->write(memories[i], a, b) ? memories[i] : at::Tensor();
  }

  std::optional<Part> part;  // is put into its slot after the formula, under the interpreter lock
  size_t part_of = 0;
  bool keep_part(size_t i, Part&& p) override {
    if (part || !inputs[i]->creator || inputs[i]->deferred || !slots.waits_for_parts(*inputs[i])) return false;
    part = std::move(p);
    part_of = i;
    later |= in_bit(i);
    return true;
  }
};

}  // namespace cg
