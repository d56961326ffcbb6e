// Where the formula of a visited function leaves gradients that need no memory of their own.
#pragma once
#include "core/slots.h"

namespace cg {

// Lets rows of leaves' gradients, and parts of other gradients, wait in the slots. Used by passes during which no code
// can read gradients.
template <class T>
struct Taker final : RowTaker {
  GradientSlots<T>& slots;
  const Nodes& inputs;
  Mask taken;  // the inputs whose gradients are computed later
  Taker(GradientSlots<T>& s, const Nodes& in) : slots(s), inputs(in) {}
  bool take(size_t i, RowSum sum, const at::Tensor& a, const at::Tensor& b) override {
    if (inputs[i]->creator || !slots.join(*inputs[i], sum, a, b)) return false;
    taken |= in_bit(i);
    return true;
  }

  c10::SmallVector<at::Tensor, 4> rooms;  // memory for the gradients of inputs; undefined: none
  void find_rooms(c10::ArrayRef<bool> wanted) {
    for (size_t i = 0; i < inputs.size(); ++i)
      rooms.push_back(wanted[i] ? slots.room(inputs[i], inputs) : at::Tensor());
  }
  at::Tensor write(size_t i, RowSum sum, const at::Tensor& a, const at::Tensor& b) override {
    if (i >= rooms.size() || !rooms[i].defined() || !sum->write) return {};
    const auto* const memory = storage_of(rooms[i]);  // an operand may be the last gradient, which is in this memory
    if (memory == storage_of(a) || memory == storage_of(b)) return {};
    return sum->write(rooms[i], a, b) ? rooms[i] : at::Tensor();
  }

  std::optional<Part> part;  // is put into its slot after the formula, under the interpreter lock
  size_t part_of = 0;
  bool take_part(size_t i, Part&& p) override {
    if (part || !inputs[i]->creator || inputs[i]->deferred || !slots.waits_for_parts(*inputs[i])) return false;
    part = std::move(p);
    part_of = i;
    taken |= in_bit(i);
    return true;
  }
};

}  // namespace cg
