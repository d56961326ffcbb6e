// Copies between devices, and dependencies between arrays.
#include <ATen/ops/alias.h>

#include "ops/functions.h"

namespace cg {
namespace {

struct ToDevice {
  std::string device = "cpu";
  static constexpr auto params() { return std::make_tuple(required("device", &ToDevice::device)); }
  static constexpr Mask saves = 0;
  Tensor forward(const Tensor& x) {
    const at::Device d(device);
    return x.device() == d ? at::alias(x) : x.to(d);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return run(ToDevice{c.node().inputs[0]->device.str()}, c.gy()); });
  }
};
CG_OP("to_device", ToDevice, "x on another device, such as \"cpu\" or \"cuda:1\"; x itself if it is already there.")

struct Tie {
  static constexpr Mask saves = 0;
  static constexpr bool any_dtype = true;
  Tensor forward(const Tensor& x, const Tensor& /*to*/) { return at::alias(x); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return c.gy(); });
  }
};
CG_OP("tie", Tie, "x, recorded as a result of `to` as well, which gets no gradient.")

}  // namespace
}  // namespace cg
