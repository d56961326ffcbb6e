// Counted references of the graph.
//
// Counts are plain integers, because the graph is only accessed with the interpreter lock held. Destruction is
// iterative: a chain of a million functions is freed without recursion.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>

namespace cg {

struct VariableNode;
struct FunctionNode;

// Deletes `node`, or queues it when a deletion is already running further up the stack.
void destroy(VariableNode* node);
void destroy(FunctionNode* node);

template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  Ref(T* p) : p_(p) {
    if (p_) p_->retain();
  }
  Ref(const Ref& o) : Ref(o.p_) {}
  Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  Ref& operator=(Ref o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~Ref() {
    if (p_) p_->release();
  }
  // Takes over a reference that is already counted.
  static Ref steal(T* p) {
    Ref r;
    r.p_ = p;
    return r;
  }
  void reset() { Ref().swap(*this); }
  void swap(Ref& o) noexcept { std::swap(p_, o.p_); }
  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_ != nullptr; }
  bool operator==(const Ref& o) const { return p_ == o.p_; }
  bool operator==(std::nullptr_t) const { return !p_; }

 private:
  T* p_ = nullptr;
};

}  // namespace cg
