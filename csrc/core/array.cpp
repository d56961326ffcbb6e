// Arrays of deferred variables, and families of arrays on one memory.
#include <ATen/ops/full.h>

#include <algorithm>
#include <stdexcept>

#include "core/deferred.h"

namespace cg {

// The arrays on this array's memory hang below it as a tree. The root owns the tensor; the others hold views of it, set
// anew whenever the root gets another one.
struct Array::Family {
  Ref<Array> parent;   // null: the root
  int64_t offset = 0;  // in the parent, in elements
  bool part = false;   // made by narrow: it never replaces the memory alone
  std::vector<Array*> children;
  void add(Array* a) { children.push_back(a); }
};

Array::Array(at::IntArrayRef s) : sizes(s.begin(), s.end()) {}
Array::~Array() {
  if (!family || !family->parent) return;
  Array& p = *family->parent;
  auto& c = p.family->children;
  c.erase(std::find(c.begin(), c.end(), this));
  if (c.empty() && !p.family->parent) p.family.reset();
}

bool Array::is_part() const { return family && family->part; }
// The array of which this one is at most another shape.
Array& Array::base() { return family && family->parent && !family->part ? *family->parent : *this; }
Array& Array::root() {
  Array* a = this;
  while (a->family && a->family->parent) a = a->family->parent.get();
  return *a;
}

void Array::rebind() {
  if (!family) return;
  if (tensor.defined() && !tensor.is_contiguous()) tensor = tensor.contiguous();
  for (Array* c : family->children) {
    c->tensor =
        tensor.defined() ? tensor.view(-1).narrow(0, c->family->offset, c->numel()).view(c->sizes) : at::Tensor();
    c->dtype = dtype;
    c->device = device;
    c->typed = typed;
    c->touched |= touched;
    c->fill_value = fill_value;
    c->rebind();
  }
}

void Array::mark_below(bool zero) {
  zeroing = zero;
  touched = true;
  cleared = false;
  if (!family) return;
  for (Array* c : family->children) c->mark_below(zero);
}
// Zeros below an array are zeros; one value written into an array makes all above it something else.
void Array::mark(bool zero) {
  Array* a = &base();
  a->mark_below(zero);
  while (a->family && a->family->parent) {
    a = &a->family->parent->base();
    a->touched = true;
    if (zero) continue;
    a->zeroing = a->cleared = false;
    for (Array* c : a->family->children)
      if (!c->family->part) c->zeroing = c->cleared = false;
  }
}

const at::Tensor& Array::make() {
  Array& r = root();
  if (!r.tensor.defined())
    r.tensor = at::full(r.sizes, r.fill_value, at::TensorOptions().dtype(r.dtype).device(r.device));
  r.typed = true;
  r.rebind();
  return tensor;
}

const at::Tensor& Array::write() {
  ++modified;
  touched = true;
  zeroing = cleared = false;
  if (family) mark(false);
  return read();
}

void Array::put(at::Tensor t) {
  if (family) return put_shared(t);
  tensor = std::move(t);
  dtype = tensor.scalar_type();
  device = tensor.device();
  if (at::IntArrayRef(sizes) != tensor.sizes()) sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
  zeroing = cleared = false;
  touched = typed = true;
  ++modified;
}

void Array::put_shared(const at::Tensor& t) {
  if (t.numel() != numel())
    throw std::runtime_error("an array that shares its memory cannot take " + std::to_string(t.numel()) +
                             " elements instead of " + std::to_string(numel()));
  Array &r = root(), &b = base();
  if (&b == &r) {
    r.tensor = t.reshape(r.sizes);
    r.dtype = t.scalar_type();
    r.device = t.device();
    r.typed = true;
    r.rebind();
    write();
    return;
  }
  if (!r.typed) set_dtype(t.scalar_type());
  if (t.scalar_type() != dtype)
    throw std::runtime_error(std::string("an array made by narrow cannot be cast: its memory holds ") +
                             c10::toString(dtype) + ", not " + c10::toString(t.scalar_type()));
  write().copy_(t.reshape(sizes));
}

void Array::fill(double value, bool counts) {
  const bool zero = counts && value == 0;
  Array& r = base();
  if (family && &r != &root()) {
    write().fill_(value);
    mark(zero);
    return;
  }
  r.tensor.reset();
  r.fill_value = value;
  zeroing = zero;
  cleared = false;
  touched = true;
  ++modified;
  if (!family) return;
  r.rebind();
  mark(zero);
}

void Array::clear() {
  Array& r = base();
  if (family && &r != &root()) return;
  bool parts = false;
  if (family)
    for (const Array* c : r.family->children) parts |= c->family->part;
  if (!parts) {
    r.tensor.reset();
    r.fill_value = 0;
    r.rebind();
  }
  r.zeroing = false;
  r.cleared = true;
  if (!family) return;
  for (Array* c : r.family->children)
    if (!c->family->part) {
      c->zeroing = false;
      c->cleared = true;
    }
}

void Array::set_dtype(at::ScalarType t) {
  if (t == dtype && typed) return;
  Array& r = root();
  if (r.typed && &base() != &r)
    throw std::runtime_error(std::string("an array made by narrow cannot be cast from ") + c10::toString(dtype) +
                             " to " + c10::toString(t));
  r.dtype = t;
  r.typed = true;
  if (r.tensor.defined() && r.tensor.scalar_type() != t) r.tensor = r.tensor.to(t);
  r.rebind();
}

void Array::reshape(at::IntArrayRef s) {
  const bool same = c10::multiply_integers(s) == numel();
  if (!same && family) throw std::runtime_error("an array that shares its memory with others cannot change its size");
  if (tensor.defined() && same) tensor = tensor.reshape(s);
  sizes.assign(s.begin(), s.end());
  if (same) return;
  tensor.reset();
  fill_value = 0;
  zeroing = touched = typed = cleared = false;
  dtype = at::kFloat;
}

Ref<Array> Array::share(at::IntArrayRef s, int64_t offset, bool part) {
  Array& b = base();
  if (!b.family) b.family = std::make_unique<Family>();
  Ref<Array> made(new Array(s));
  const int64_t end = offset + made->numel();
  if (part)
    for (const Array* c : b.family->children)
      if (c->family->part && c->family->offset < end && offset < c->family->offset + c->numel())
        throw std::runtime_error("a part of the array that overlaps with another part of it cannot be made");
  made->family = std::make_unique<Family>(Family{Ref<Array>(&b), offset, part, {}});
  b.family->add(made.get());
  b.rebind();
  return made;
}

}  // namespace cg
