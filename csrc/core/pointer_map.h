// A small hash table from addresses to values, in which a pass stores data about nodes: open addressing with linear
// probing, no allocation for the first few entries, no tombstones after a removal.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/scope.h"

namespace cg {

template <class Key, class Value>
class PointerMap : Pinned {
 public:
  Value* find(const Key* key) {
    Cell& c = cells_[place(key)];
    return c.key ? &c.value : nullptr;
  }
  const Value* find(const Key* key) const { return const_cast<PointerMap*>(this)->find(key); }
  bool contains(const Key* key) const { return find(key) != nullptr; }
  // The value of `key`, created if there was none, and whether it was created. The pointer is valid until the next
  // `insert`.
  std::pair<Value*, bool> insert(const Key* key) {
    if (2 * (size_ + 1) > capacity_) grow();
    Cell& c = cells_[place(key)];
    const bool made = !c.key;
    if (made) {
      c.key = key;
      ++size_;
    }
    return {&c.value, made};
  }
  // Returns the value, so that it is destroyed by the caller: code that its destruction runs may use the table.
  Value take(const Key* key) {
    size_t i = place(key);
    if (!cells_[i].key) return Value();
    Value taken = std::exchange(cells_[i].value, Value());
    --size_;
    for (size_t j = next(i); cells_[j].key; j = next(j)) {
      // An entry moves into the gap if the gap lies between its home cell and its current cell.
      const size_t home = hash(cells_[j].key);
      if (((j - home) & mask()) < ((j - i) & mask())) continue;
      cells_[i] = std::exchange(cells_[j], Cell());
      i = j;
    }
    cells_[i].key = nullptr;
    return taken;
  }
  size_t size() const { return size_; }

 private:
  struct Cell {
    const Key* key = nullptr;
    Value value{};
  };
  static constexpr size_t kFirst = 8;
  size_t mask() const { return capacity_ - 1; }
  size_t next(size_t i) const { return (i + 1) & mask(); }
  size_t hash(const Key* key) const {
    return (reinterpret_cast<uintptr_t>(key) * 0x9E3779B97F4A7C15ull >> 32) & mask();
  }
  size_t place(const Key* key) const {
    size_t i = hash(key);
    while (cells_[i].key && cells_[i].key != key) i = next(i);
    return i;
  }
  void grow() {
    auto larger = std::make_unique<Cell[]>(2 * capacity_);
    Cell* const old = std::exchange(cells_, larger.get());
    const size_t n = std::exchange(capacity_, 2 * capacity_);
    for (size_t i = 0; i < n; ++i)
      if (old[i].key) cells_[place(old[i].key)] = std::move(old[i]);
    more_ = std::move(larger);
  }
  Cell few_[kFirst];
  std::unique_ptr<Cell[]> more_;
  Cell* cells_ = few_;
  size_t capacity_ = kFirst, size_ = 0;
};

struct Nothing {};
template <class Key>
using PointerSet = PointerMap<Key, Nothing>;

}  // namespace cg
