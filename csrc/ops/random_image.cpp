// Random changes of images: erased rectangles, and geometric changes with brightness, contrast and noise.
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <cmath>

#include "ops/gather.h"
#include "ops/random.h"

namespace cg {
namespace {

struct Patch {
  float chance;
  int64_t top, left, bottom, right;  // bottom and right are inclusive
};

struct RandomErase {
  double prob = 0.5, area_low = 0.02, area_high = 0.4, aspect_low = 0.3, aspect_high = 3.3333;
  double low = 0, high = 255;
  int64_t n = 1, base_axis = 1;
  bool share = true, channel_last = false, ste_fine_grained = true;
  Tensor rng;
  static constexpr auto params() {
    using R = RandomErase;
    return std::make_tuple(param("prob", &R::prob), param("area_low", &R::area_low), param("area_high", &R::area_high),
                           param("aspect_low", &R::aspect_low), param("aspect_high", &R::aspect_high),
                           param("low", &R::low), param("high", &R::high), param("n", &R::n), param("share", &R::share),
                           param("base_axis", &R::base_axis), param("channel_last", &R::channel_last),
                           param("ste_fine_grained", &R::ste_fine_grained), required("rng", &R::rng));
  }
  static constexpr Mask saves = 0;
  Tensor kept;  // 1 where x was not changed
  static constexpr auto stored() { return std::make_tuple(param("kept", &RandomErase::kept)); }

  Patch draw(Mt& g, int64_t h, int64_t w) const {
    const float size = between(g, area_low, area_high) * (h * w), ratio = between(g, aspect_low, aspect_high);
    const int64_t ph = std::min<int64_t>(std::sqrt(size * ratio), h),
                  pw = std::min<int64_t>(std::sqrt(size / ratio), w);
    std::uniform_int_distribution<int> row(0, h - ph), column(0, w - pw);
    Patch p;
    p.chance = between(g, 0, 1);
    p.top = row(g);
    p.left = column(g);
    p.bottom = p.top + ph;
    p.right = p.left + pw;
    return p;
  }
  Tensor forward(const Tensor& x) {
    const int64_t base = wrap_base_axis(base_axis, x.dim());
    TORCH_CHECK_VALUE(prob >= 0 && prob <= 1, "random_erase: prob must be in [0, 1], not ", prob);
    TORCH_CHECK_VALUE(n > 0, "random_erase: n must be positive, not ", n);
    TORCH_CHECK_VALUE(base >= 0 && x.dim() - base == 3,
                      "random_erase: x must have 3 axes (channels and an image) from ", "base_axis ", base_axis,
                      " on, not the shape ", x.sizes());
    if (x.is_meta()) return kept = at::empty(x.sizes(), x.options());
    const at::IntArrayRef s = x.sizes().slice(base);
    const int64_t batch = c10::multiply_integers(x.sizes().slice(0, base)), channels = s[channel_last ? 2 : 0],
                  h = s[channel_last ? 0 : 1], w = s[channel_last ? 1 : 2], per_sample = share ? 1 : channels;
    Mt& g = generator("random_erase", rng);
    std::vector<Patch> patches;
    for (int64_t i = 0; i < n * batch * per_sample; ++i) patches.push_back(draw(g, h, w));
    Tensor keep = at::ones({batch, channels, h, w}, at::kFloat), fill = at::zeros({batch, channels, h, w}, at::kFloat);
    float *k = keep.data_ptr<float>(), *f = fill.data_ptr<float>();
    for (int64_t i = 0; i < n; ++i)
      for (int64_t b = 0; b < batch; ++b)
        for (int64_t c = 0; c < channels; ++c) {
          const Patch& p = patches[(i * batch + b) * per_sample + (share ? 0 : c)];
          if (p.chance > static_cast<float>(prob)) continue;
          for (int64_t y = p.top; y <= std::min(p.bottom, h - 1); ++y)
            for (int64_t z = p.left; z <= std::min(p.right, w - 1); ++z) {
              const int64_t at = ((b * channels + c) * h + y) * w + z;
              k[at] = 0;
              f[at] = between(g, low, high);
            }
        }
    const auto placed = [&](const Tensor& t) {
      const Tensor u = channel_last ? t.permute({0, 2, 3, 1}) : t;
      return at::reshape(u, x.sizes()).to(x.options());
    };
    kept = placed(keep);
    return at::where(kept != 0, x, placed(fill));
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&]() -> T { return ste_fine_grained ? T(c.gy() * c.saved(kept)) : c.gy(); });
  }
};
CG_OP("random_erase", RandomErase,
      "n rectangles of each image replaced by random numbers, each with probability prob; drawn from a generator's "
      "state.")

// An output pixel is a weighted mean of four pixels of x, times the contrast, plus a number.
struct ImageAugmentation {
  Ints shape, pad{0, 0};
  double min_scale = 1, max_scale = 1, angle = 0, aspect_ratio = 1, distortion = 0;
  bool flip_lr = false, flip_ud = false;
  double brightness = 0, contrast = 1, contrast_center = 0, noise = 0;
  bool brightness_each = false, contrast_each = false;
  Tensor rng;
  static constexpr auto params() {
    using I = ImageAugmentation;
    return std::make_tuple(
        required("shape", &I::shape), param("pad", &I::pad), param("min_scale", &I::min_scale),
        param("max_scale", &I::max_scale), param("angle", &I::angle), param("aspect_ratio", &I::aspect_ratio),
        param("distortion", &I::distortion), param("flip_lr", &I::flip_lr), param("flip_ud", &I::flip_ud),
        param("brightness", &I::brightness), param("brightness_each", &I::brightness_each),
        param("contrast", &I::contrast), param("contrast_center", &I::contrast_center),
        param("contrast_each", &I::contrast_each), param("noise", &I::noise), required("rng", &I::rng));
  }
  static constexpr Mask saves = 0;
  Tensor index, weight;  // (4, elements of y): the elements of x, and their weights
  static constexpr auto stored() {
    return std::make_tuple(param("index", &ImageAugmentation::index), param("weight", &ImageAugmentation::weight));
  }
  Ints result;

  // The random parameters of one image, in the order in which they are drawn.
  struct Plan {
    float scale_x, scale_y, theta, x, y, distortion, noise;
    bool lr, ud;
    std::vector<float> brightness, contrast;
  };
  static float fraction(Mt& g) { return (g() % 1001) * 0.001f; }
  Plan draw(Mt& g, int64_t channels, int64_t h_in, int64_t w_in, int64_t h, int64_t w) const {
    const auto spread = [&](double v) {
      return std::exp(fraction(g) * std::log(static_cast<float>(v)) * 2.0f) / static_cast<float>(v);
    };
    const auto shift = [&](double v) { return fraction(g) * static_cast<float>(v) * 2.0f - static_cast<float>(v); };
    Plan p;
    const float low = min_scale, aspect = aspect_ratio;
    const float scale = low * std::exp(fraction(g) * std::log(static_cast<float>(max_scale) / low));
    const float stretch = std::exp(-std::log(aspect) * 0.5 + fraction(g) * std::log(aspect));
    p.scale_x = scale * stretch;
    p.scale_y = scale * static_cast<float>(1.0 / stretch);
    p.theta = shift(angle);
    p.x = fraction(g) * ((w_in + 2 * pad[1]) * p.scale_x - w) + (w - 1) * 0.5f;
    p.y = fraction(g) * ((h_in + 2 * pad[0]) * p.scale_y - h) + (h - 1) * 0.5f;
    // Drawn even if flipping is off, like everything here, so that the order of random numbers is fixed.
    p.lr = flip_lr & (g() % 2);
    p.ud = flip_ud & (g() % 2);
    const float all_brightness = shift(brightness), all_contrast = spread(contrast);
    for (int64_t c = 0; c < channels; ++c) {
      p.brightness.push_back((brightness_each ? shift(brightness) : all_brightness) -
                             static_cast<float>(contrast_center));
      p.contrast.push_back(contrast_each ? spread(contrast) : all_contrast);
    }
    p.distortion =
        std::exp(fraction(g) * 2.0f * static_cast<float>(distortion) - static_cast<float>(distortion)) - 1.0f;
    p.noise = fraction(g) * static_cast<float>(noise);
    return p;
  }
  Tensor forward(const Tensor& x) {
    TORCH_CHECK_VALUE(shape.size() >= 2 && static_cast<int64_t>(shape.size()) <= x.dim(),
                      "image_augmentation: shape must have from 2 to ", x.dim(),
                      " axes (height and width the last), not ", shape.size());
    TORCH_CHECK_VALUE(pad.size() == 2, "image_augmentation: pad must be (height, width), not ", at::IntArrayRef(pad));
    TORCH_CHECK_VALUE(x.numel() > 0, "image_augmentation: x of shape ", x.sizes(), " has no elements");
    result = ints(x.sizes());
    std::copy(shape.begin(), shape.end(), result.end() - shape.size());
    const int64_t w_in = x.size(-1), h_in = x.size(-2), channels = x.dim() > 2 ? x.size(-3) : 1;
    const int64_t w = result[x.dim() - 1], h = result[x.dim() - 2], images = x.numel() / (w_in * h_in * channels);
    const int64_t total = images * channels * h * w;
    TORCH_CHECK_VALUE(h >= 0 && w >= 0 && c10::multiply_integers(result) == total,
                      "image_augmentation: shape may only change height and ", "width of x, of shape ", x.sizes(),
                      ", not make ", at::IntArrayRef(result));
    if (x.is_meta()) {
      index = at::empty({4, total}, x.options().dtype(at::kLong));
      weight = at::empty({4, total}, x.options());
      return at::empty(result, x.options());
    }
    Mt& g = generator("image_augmentation", rng);
    Tensor places = at::empty({4, total}, at::kLong), gains = at::empty({4, total}, at::kFloat),
           offset = at::empty({total}, at::kFloat);
    int64_t* to = places.data_ptr<int64_t>();
    float *gain = gains.data_ptr<float>(), *add = offset.data_ptr<float>();
    std::normal_distribution<> normal(0.0, 1.0);
    for (int64_t image = 0; image < images; ++image) {
      const Plan p = draw(g, channels, h_in, w_in, h, w);
      const float ix = 1.0f / p.scale_x, iy = 1.0f / p.scale_y, cs = std::cos(p.theta), sn = std::sin(p.theta);
      const float x_ax = (p.lr ? -cs : cs) * ix, y_ax = (p.lr ? sn : -sn) * iy;
      const float x_ay = (p.ud ? -sn : sn) * ix, y_ay = (p.ud ? -cs : cs) * iy;
      rows(p, x_ax, y_ax, x_ay, y_ay, h_in, w_in, h, w, [&](int64_t yo, int64_t xo, float xi, float yi) {
        const int64_t left = xi, top = yi, right = std::min(left + 1, w_in - 1), bottom = std::min(top + 1, h_in - 1);
        const float u = xi - left, v = yi - top;
        const int64_t from[4] = {top * w_in + left, top * w_in + right, bottom * w_in + left, bottom * w_in + right};
        const float share[4] = {(1 - u) * (1 - v), u * (1 - v), (1 - u) * v, u * v};
        for (int64_t c = 0; c < channels; ++c) {
          const int64_t plane = image * channels + c, at = (plane * h + yo) * w + xo;
          for (int i = 0; i < 4; ++i) {
            to[i * total + at] = plane * h_in * w_in + from[i];
            gain[i * total + at] = share[i] * p.contrast[c];
          }
          add[at] = p.brightness[c] * p.contrast[c] + static_cast<float>(contrast_center);
          if (p.noise > 0) add[at] += normal(g) * p.noise;
        }
      });
    }
    index = places.to(x.device());
    weight = gains.to(x.options());
    const Tensor four = select_along(at::reshape(x, {-1}), at::reshape(index, {-1}), 0);
    return at::reshape((at::reshape(four, {4, total}) * weight).sum(0) + offset.to(x.options()), result);
  }
  // Calls f(row, column, x, y) for each output pixel with its source position, which is inside the input.
  template <class F>
  void rows(const Plan& p, float x_ax, float y_ax, float x_ay, float y_ay, int64_t h_in, int64_t w_in, int64_t h,
            int64_t w, F&& f) const {
    const float cx = (w - 1) * 0.5f, cy = (h - 1) * 0.5f, half_w = w * 0.5f, half_h = h * 0.5f;
    float x0 = p.x / p.scale_x - (x_ax * cx + y_ax * cy) - pad[1];
    float y0 = p.y / p.scale_y - (x_ay * cx + y_ay * cy) - pad[0];
    for (int64_t row = 0; row < h; ++row) {
      float x = x0, y = y0;
      for (int64_t column = 0; column < w; ++column, x += x_ax, y += x_ay) {
        float xi = x, yi = y;
        if (p.distortion != 0) {
          const float dx = (column - half_w) / half_w, dy = (row - half_h) / half_h;
          const float bend = (1 + p.distortion * (dx * dx + dy * dy)) / (1 + p.distortion);
          const float u = dx * bend * half_w + half_w, v = dy * bend * half_h + half_h;
          xi = x0 + u * x_ax + v * y_ax;
          yi = y0 + u * x_ay + v * y_ay;
        }
        f(row, column, std::clamp(xi, 0.0f, static_cast<float>(w_in - 1)),
          std::clamp(yi, 0.0f, static_cast<float>(h_in - 1)));
      }
      if (p.distortion == 0) {
        x0 += y_ax;
        y0 += y_ay;
      }
    }
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] {
      const at::IntArrayRef sizes = c.in_sizes(0);
      const T four = reshape(c.gy(), {1, c10::multiply_integers(c.out_sizes(0))}) * c.saved(weight);
      const T places = reshape(c.saved(index), {-1});
      return reshape(add_along(reshape(four, {-1}), places, 0, c10::multiply_integers(sizes)), sizes);
    });
  }
};
CG_OP("image_augmentation", ImageAugmentation,
      "Images changed at random: scaled, rotated, stretched, bent, mirrored, made brighter or darker, and with random "
      "numbers added; drawn from a generator's state.")

}  // namespace
}  // namespace cg
