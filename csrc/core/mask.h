// Sets of a function's inputs and outputs.
#pragma once
#include <cstddef>
#include <cstdint>

namespace cg {

// The lower half of the bits stands for inputs, the upper half for outputs. The last bit of each half stands for all
// further inputs or outputs, so a function may have any number of them; these can only be selected together.
class Mask {
 public:
  constexpr Mask() = default;
  constexpr explicit Mask(uint64_t bits) : bits_(bits) {}
  constexpr Mask(int) {}  // 0: nothing
  constexpr bool input(size_t i) const { return bits_ >> 31 & 1 || bits_ >> at(i) & 1; }
  constexpr bool output(size_t j) const { return bits_ >> 63 & 1 || bits_ >> (32 + at(j)) & 1; }
  constexpr explicit operator bool() const { return bits_; }
  friend constexpr Mask operator|(Mask a, Mask b) { return Mask(a.bits_ | b.bits_); }
  constexpr Mask& operator|=(Mask b) { return *this = *this | b; }

 private:
  friend constexpr Mask in_bit(size_t i);
  friend constexpr Mask out_bit(size_t j);
  static constexpr size_t at(size_t k) { return k < 31 ? k : 31; }
  uint64_t bits_ = 0;
};

constexpr Mask in_bit(size_t i) { return Mask(uint64_t(1) << Mask::at(i)); }
constexpr Mask out_bit(size_t j) { return Mask(uint64_t(1) << (32 + Mask::at(j))); }
constexpr Mask kAllInputs = in_bit(31);

}  // namespace cg
