// Copies between devices.
#include "ops/functions.h"

namespace cg {
namespace {

struct ToDevice {
  std::string device = "cpu";
  static constexpr auto params() { return std::make_tuple(required("device", &ToDevice::device)); }
  static constexpr unsigned saves = 0;
  Tensor forward(const Tensor& x) { return x.to(at::Device(device)); }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return run(ToDevice{c.node().inputs[0]->device.str()}, c.gy()); });
  }
};
CG_OP("to_device", ToDevice, "x on another device, \"cpu\" or \"cuda:1\"; x itself where it is there.")

}  // namespace
}  // namespace cg
