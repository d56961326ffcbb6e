// Fourier transforms of arrays with separate real and imaginary parts.
#include <ATen/ops/complex.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/fft_fftn.h>
#include <ATen/ops/fft_ifftn.h>
#include <ATen/ops/fft_irfft.h>
#include <ATen/ops/fft_rfft.h>
#include <ATen/ops/hamming_window.h>
#include <ATen/ops/hann_window.h>
#include <ATen/ops/imag.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/real.h>
#include <ATen/ops/reflection_pad1d.h>
#include <ATen/ops/reflection_pad1d_backward.h>
#include <ATen/ops/unfold_backward.h>
#include <ATen/ops/view_as_complex.h>
#include <ATen/ops/view_as_real.h>
#include <ATen/ops/zeros.h>

#include "ops/functions.h"

namespace cg {
namespace {

// torch cannot transform half precision: such numbers are transformed as float, and the result is rounded.
bool is_narrow(const Tensor& x) { return x.scalar_type() == at::kHalf || x.scalar_type() == at::kBFloat16; }

struct FourierTransform {
  int64_t ndim = 1;
  bool inverse = false;
  std::string norm = "backward";
  static constexpr auto params() {
    using Op = FourierTransform;
    return std::make_tuple(required("ndim", &Op::ndim), param("inverse", &Op::inverse), param("norm", &Op::norm));
  }
  static constexpr Mask saves = 0;
  Tensor forward(const Tensor& x) {
    TORCH_CHECK_VALUE(x.dim() > ndim && x.size(-1) == 2, "fourier_transform: x must have more than ", ndim,
                      " axes, and the last one must have length 2; got shape ", x.sizes());
    if (x.is_meta()) return at::empty(x.sizes(), x.options());
    if (is_narrow(x)) return forward(x.to(at::kFloat)).to(x.scalar_type());
    c10::SmallVector<int64_t, 3> axes;
    for (int64_t a = x.dim() - 1 - ndim; a < x.dim() - 1; ++a) axes.push_back(a);
    const Tensor z = at::view_as_complex(x.contiguous());
    const Tensor y =
        inverse ? at::fft_ifftn(z, {}, at::IntArrayRef(axes), norm) : at::fft_fftn(z, {}, at::IntArrayRef(axes), norm);
    return at::view_as_real(y).contiguous();
  }
  // The transposed transform has the opposite direction, and scales in the same direction.
  template <class T>
  void backward(Ctx<T>& c) {
    const std::string other = norm == "ortho" ? "ortho" : norm == "backward" ? "forward" : "backward";
    c.grad(0, [&] { return run(FourierTransform{ndim, !inverse, other}, c.gy()); });
  }
};
CG_OP("fourier_transform", FourierTransform,
      "Fourier transform over the `ndim` axes before the last, which holds real and imaginary parts. norm: 'backward' "
      "(inverse transforms are divided by the number of elements), 'forward', 'ortho' (by its square root).")

// Short-time Fourier transform, its inverse, and the transposes of both.
struct Frames {
  int64_t window_size = 16, stride = 8, fft_size = 16;
  std::string window_type = "hanning", pad_mode = "reflect";
  bool center = true, transposed = false;

  Tensor window(const at::TensorOptions& o) const {
    TORCH_CHECK_VALUE(fft_size >= window_size, "stft: fft_size ", fft_size, " is less than window_size ", window_size);
    Tensor w;
    if (window_type == "hanning")
      w = at::hann_window(window_size, o);
    else if (window_type == "hamming")
      w = at::hamming_window(window_size, true, 0.54, 0.46, o);
    else if (window_type == "rectangular")
      w = at::ones({window_size}, o);
    else
      TORCH_CHECK_VALUE(false, "stft: unknown window_type '", window_type, "'");
    const int64_t more = fft_size - window_size;
    return at::constant_pad_nd(w, {more / 2, more - more / 2}, 0);
  }
  int64_t half() const { return center ? fft_size / 2 : 0; }
  int64_t bins() const { return fft_size / 2 + 1; }
  int64_t frames(int64_t samples) const {
    TORCH_CHECK_VALUE(stride > 0, "stft: stride must be positive, not ", stride);
    return (samples + 2 * half() - fft_size) / stride + 1;
  }
  int64_t extent(int64_t frames) const { return (frames - 1) * stride + fft_size; }

  // (batch, samples) <-> (batch, frames, fft_size)
  Tensor cut(const Tensor& x) const { return x.unfold(1, fft_size, stride); }
  Tensor overlap(const Tensor& f, int64_t samples) const {
    return at::unfold_backward(f.contiguous(), {f.size(0), samples}, 1, fft_size, stride);
  }
  // The sum of the squared, overlapping windows.
  Tensor weight(int64_t frames, int64_t samples, const at::TensorOptions& o) const {
    return overlap(window(o).square().expand({1, frames, fft_size}), samples);
  }
  // How many times irfft uses each frequency.
  Tensor counts(const at::TensorOptions& o) const {
    Tensor n = at::ones({bins(), 1}, o) * 2;
    n.select(0, 0).fill_(1);
    if (fft_size % 2 == 0) n.select(0, bins() - 1).fill_(1);
    return n;
  }
  static Tensor zeros_around(const Tensor& x, int64_t n) { return n ? at::constant_pad_nd(x, {n, n}, 0) : x; }
  Tensor without_border(const Tensor& x) const { return x.narrow(1, half(), x.size(1) - 2 * half()).contiguous(); }
};

#define CG_FRAMES(OP)                                                                                              \
  required("window_size", &OP::window_size), required("stride", &OP::stride), required("fft_size", &OP::fft_size), \
      param("window_type", &OP::window_type), param("center", &OP::center), param("pad_mode", &OP::pad_mode),      \
      param("transposed", &OP::transposed)

struct InverseShortTime : Frames {
  std::optional<int64_t> samples;  // of the result
  static constexpr auto params() {
    return std::make_tuple(CG_FRAMES(InverseShortTime), param("samples", &InverseShortTime::samples));
  }
  static constexpr Mask saves = 0;
  Tensor forward(const Tensor& re, const Tensor& im) {
    TORCH_CHECK_VALUE(re.dim() == 3 && re.sizes() == im.sizes() && re.size(1) == bins(), "istft: parts of shapes ",
                      re.sizes(), " and ", im.sizes(), " for ", bins(), " frequencies");
    const int64_t n = re.size(2), length = samples.value_or(extent(n) - 2 * half()), whole = length + 2 * half();
    if (re.is_meta()) return at::empty({re.size(0), length}, re.options());
    if (is_narrow(re)) return forward(re.to(at::kFloat), im.to(at::kFloat)).to(re.scalar_type());
    Tensor z = at::complex(re.contiguous(), im.contiguous()).transpose(1, 2);
    if (transposed) z = z * (static_cast<double>(fft_size) / counts(re.options())).reshape(-1);
    const Tensor f = at::fft_irfft(z, fft_size) * window(re.options());
    Tensor x = overlap(f, whole);
    if (!transposed) return without_border(x) / without_border(weight(n, whole, re.options()));
    if (!center) return x;
    if (pad_mode == "constant") return without_border(x);
    return at::reflection_pad1d_backward(x, at::empty({re.size(0), length}, re.options()), {half(), half()});
  }
  template <class T>
  void backward(Ctx<T>& c);
};

struct ShortTime : Frames {
  static constexpr auto params() { return std::make_tuple(CG_FRAMES(ShortTime)); }
  static constexpr Mask saves = 0;
  std::tuple<Tensor, Tensor> forward(const Tensor& x) {
    TORCH_CHECK_VALUE(x.dim() == 2 && x.size(1) + 2 * half() >= fft_size, "stft: x of shape ", x.sizes(),
                      " for frames of ", fft_size, " samples");
    const int64_t n = frames(x.size(1));
    if (x.is_meta()) {
      const Tensor y = at::empty({x.size(0), bins(), n}, x.options());
      return {y, at::empty(y.sizes(), y.options())};
    }
    if (is_narrow(x)) {
      const auto [re, im] = forward(x.to(at::kFloat));
      return {re.to(x.scalar_type()), im.to(x.scalar_type())};
    }
    Tensor padded;
    if (transposed)
      padded = zeros_around(x / without_border(weight(n, x.size(1) + 2 * half(), x.options())), half());
    else if (!center || pad_mode == "constant")
      padded = zeros_around(x, half());
    else
      padded = at::reflection_pad1d(x, {half(), half()});
    const Tensor z = at::fft_rfft(cut(padded) * window(x.options())).transpose(1, 2);
    auto part = [&](const Tensor& t) {
      return transposed ? t * (counts(x.options()) / static_cast<double>(fft_size)) : t.contiguous();
    };
    return {part(at::real(z)), part(at::imag(z))};
  }
  template <class T>
  void backward(Ctx<T>& c) {
    InverseShortTime back{*this, c.in_sizes(0)[1]};
    back.transposed = !transposed;
    auto part = [&](size_t j) { return value(c.gy(j)).defined() ? c.gy(j) : zeros_as(c.gy(1 - j)); };
    c.grad(0, [&] { return run(back, part(0), part(1)); });
  }
};
template <class T>
void InverseShortTime::backward(Ctx<T>& c) {
  ShortTime back{*this};
  back.transposed = !transposed;
  auto g = run_all(back, c.gy());
  c.grad(0, [&] { return g[0]; });
  c.grad(1, [&] { return g[1]; });
}
CG_OP("stft", ShortTime,
      "Real and imaginary parts (batch, fft_size / 2 + 1, frames) of the windowed frames of x (batch, samples); "
      "transposed: the gradient of istft.")
CG_OP("istft", InverseShortTime,
      "The signal (batch, samples) of real and imaginary parts: overlapping frames over the sum of squared windows; "
      "transposed: the gradient of stft.")

}  // namespace
}  // namespace cg
