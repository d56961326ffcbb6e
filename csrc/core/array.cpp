// Arrays of deferred variables, and families of arrays that share memory.
#include <algorithm>
#include <stdexcept>

#include "core/deferred.h"
#include "core/filled.h"
#include "core/tally.h"

namespace cg {

// The arrays that share this array's memory form a tree below it. The root owns the tensor; the others hold views of
// it, which are made again whenever the root gets another tensor.
struct Array::Family {
  Ref<Array> parent;   // null: the root
  int64_t offset = 0;  // of the first element, from the parent's first element
  bool part = false;   // made by narrow: such an array cannot replace the memory without the other parts
  std::vector<Array*> children;
  void add(Array* a) { children.push_back(a); }
};

Array::Array(at::IntArrayRef s) : sizes(s.begin(), s.end()) {}
Array::~Array() {
  if (family && family->parent) family->parent->remove(this);
}
void Array::remove(Array* child) {
  auto& c = family->children;
  c.erase(std::find(c.begin(), c.end(), child));
  if (c.empty() && !family->parent) family.reset();
}
// Ends the sharing between an array and its other shapes.
void Array::leave() {
  if (family->parent) {
    family->parent->remove(this);
    family.reset();
    return;
  }
  while (family) family->children.back()->leave();
}
bool Array::has_parts() {
  const auto& c = base().family->children;
  return std::any_of(c.begin(), c.end(), [](const Array* a) { return a->family->part; });
}

bool Array::is_part() const { return family && family->part; }
// The array that this one is another shape of; or this array itself.
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
// If an array is zero, so are all arrays below it; if a value is written into an array, no array above it is zero.
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
    r.tensor = filled(r.sizes, element(r.fill_value, r.dtype), at::TensorOptions().dtype(r.dtype).device(r.device));
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

const at::Tensor& Array::own() {
  write();
  if (!family && (!tensor.is_contiguous() || (computed && tensor.storage().use_count() > 1)))
    tensor = tensor.clone(at::MemoryFormat::Contiguous);
  computed = false;
  return tensor;
}

void Array::put(at::Tensor t) {
  if (family && put_shared(cg::read(t), false)) return;
  tensor = std::move(t);
  dtype = tensor.scalar_type();
  device = tensor.device();
  if (at::IntArrayRef(sizes) != tensor.sizes()) sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
  zeroing = cleared = false;
  touched = typed = computed = true;
  ++modified;
}

void Array::assign(at::Tensor t) {
  if (!family || !put_shared(t, true)) put(std::move(t));
  computed = false;
}

// Gives the tensor to all arrays that share this array's memory. Returns false if this array has left its family: the
// caller must then store the tensor. If a user gives an array another dtype or size, the other shapes of the array
// follow it; a function's result of another dtype or size ends the sharing.
bool Array::put_shared(const at::Tensor& t, bool user) {
  Array &r = root(), &b = base();
  if (t.numel() != numel()) {
    if (&b != &r || has_parts())
      throw std::runtime_error("an array that shares its memory cannot take " + std::to_string(t.numel()) +
                               " elements instead of " + std::to_string(numel()));
    leave();
    return false;
  }
  if (&b == &r) {
    const bool same_dtype = tensor.defined() && t.dtype() == tensor.dtype();
    if (same_dtype && t.is_contiguous() && t.is_alias_of(tensor) && t.storage_offset() == tensor.storage_offset()) {
      write();  // a function returned a view of its input, so that all arrays have the values already
      return true;
    }
    if (!user && this != &r && r.typed && t.scalar_type() != r.dtype) {
      leave();
      return false;
    }
    r.tensor = t.reshape(r.sizes);
    r.dtype = t.scalar_type();
    r.device = t.device();
    r.typed = true;
    r.rebind();
    write();
    return true;
  }
  if (!r.typed) set_dtype(t.scalar_type());
  if (t.scalar_type() != dtype)
    throw std::runtime_error(std::string("an array made by narrow cannot be cast: its memory holds ") +
                             c10::toString(dtype) + ", not " + c10::toString(t.scalar_type()));
  bump_version(write());
  tensor.copy_(t.reshape(sizes));
  return true;
}

void Array::fill(double value, bool counts) {
  const bool zero = counts && value == 0;
  Array& r = base();
  if (family && &r != &root()) {
    Array& whole = root();
    const bool typed_before = whole.typed;
    const at::Tensor& t = write();
    bump_version(t);
    t.fill_(element(value, t.scalar_type()));
    mark(zero);
    if (!typed_before) {  // a number has no dtype: the array can still be cast to any
      whole.typed = false;
      whole.rebind();
    }
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

// Memory with several shapes is freed when the last of them is cleared; a part cannot free the memory of the whole.
void Array::clear() {
  Array& r = base();
  if (family && &r != &root()) return;
  zeroing = false;
  cleared = true;
  bool used = !r.cleared;
  if (family)
    for (const Array* c : r.family->children) used |= c->family->part || !c->cleared;
  if (used) return;
  r.tensor.reset();
  r.fill_value = 0;
  r.rebind();
}

void Array::move(at::Device d) {
  Array& r = root();
  if (r.device == d) return;
  cg::read(r.tensor);
  r.device = d;
  if (r.tensor.defined()) {
    if (tally.moved) tally.moved(r.tensor, d);
    r.tensor = r.tensor.to(d);
  }
  r.rebind();
}

void Array::set_dtype(at::ScalarType t) {
  if (t == dtype && typed) return;
  Array& r = root();
  if (r.typed && &base() != &r)
    throw std::runtime_error(std::string("an array made by narrow cannot be cast from ") + c10::toString(dtype) +
                             " to " + c10::toString(t));
  cg::read(r.tensor);
  r.dtype = t;
  r.typed = true;
  if (r.tensor.defined() && r.tensor.scalar_type() != t) r.tensor = r.tensor.to(t);
  r.rebind();
}

void Array::reshape(at::IntArrayRef s) {
  const bool same = c10::multiply_integers(s) == numel();
  if (!same && family) {
    if (&base() != &root() || has_parts())
      throw std::runtime_error("an array that shares its memory with others cannot change its size from " +
                               std::to_string(numel()) + " to " + std::to_string(c10::multiply_integers(s)) +
                               " elements");
    leave();
  }
  if (tensor.defined() && same) tensor = read().reshape(s);
  sizes.assign(s.begin(), s.end());
  if (same) return;
  tensor.reset();
  fill_value = 0;
  zeroing = touched = typed = cleared = computed = false;
  dtype = at::kFloat;
}

void Array::follow(at::IntArrayRef s) {
  if (tensor.defined()) tensor = c10::multiply_integers(s) == tensor.numel() ? read().reshape(s) : at::Tensor();
  sizes.assign(s.begin(), s.end());
}

Ref<Array> Array::share(at::IntArrayRef s, int64_t offset, bool part) {
  Array& b = base();
  cg::read(b.tensor);
  if (!b.family) b.family = std::make_unique<Family>();
  Ref<Array> made(new Array(s));
  const int64_t end = offset + made->numel();
  if (part && end > offset)
    for (const Array* c : b.family->children)
      if (c->family->part && c->numel() && c->family->offset < end && offset < c->family->offset + c->numel())
        throw std::runtime_error("narrow: elements " + std::to_string(offset) + " to " + std::to_string(end - 1) +
                                 " overlap with another part of the array, of elements " +
                                 std::to_string(c->family->offset) + " to " +
                                 std::to_string(c->family->offset + c->numel() - 1));
  made->family = std::make_unique<Family>(Family{Ref<Array>(&b), offset, part, {}});
  b.family->add(made.get());
  b.rebind();
  return made;
}

}  // namespace cg
