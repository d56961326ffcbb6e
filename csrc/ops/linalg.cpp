// Batches of matrices, and Einstein summation.
#include <ATen/ops/einsum.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/linalg_cholesky_ex.h>
#include <ATen/ops/linalg_det.h>
#include <ATen/ops/linalg_inv_ex.h>
#include <ATen/ops/linalg_slogdet.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tril.h>

#include <array>
#include <cctype>

#include "core/deferred.h"
#include "ops/gather.h"
#include "ops/linalg.h"

namespace cg {
namespace {

template <class T>
T inverse(const T& x);
// Results without values, of which only the shape is wanted: a matrix for each matrix, or a number for each.
Tensor infer_matrices(const char* op, const Tensor& x) {
  check_square(op, x);
  return hollow(x);
}
Tensor infer_numbers(const char* op, const Tensor& x) {
  check_square(op, x);
  return hollow(x.sizes().slice(0, x.dim() - 2), c10::toRealValueType(x.scalar_type()), x.device());
}
// One number per matrix, reshaped to multiply matrices.
template <class T>
T per_matrix(const T& g) {
  Ints shape = ints(g.sizes());
  shape.append(2, 1);
  return reshape(g, shape);
}

struct Inverse {
  static constexpr Mask saves = out_bit(0);
  Tensor infer(const Tensor& x) const { return infer_matrices("inverse", x); }
  Tensor forward(const Tensor& x) {
    check_square("inverse", x);
    return std::get<0>(at::linalg_inv_ex(x, false));
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] {
      const T t = turned(c.out(0));
      return -matmul(matmul(t, c.gy()), t);
    });
  }
};
CG_OP("inverse", Inverse, "The inverses of square matrices; not finite for singular matrices.")

template <class T>
T inverse(const T& x) {
  return run(Inverse{}, x);
}

struct Det {
  static constexpr Mask saves = in_bit(0) | out_bit(0);
  Tensor infer(const Tensor& x) const { return infer_numbers("det", x); }
  Tensor forward(const Tensor& x) {
    check_square("det", x);
    return at::linalg_det(x);
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return per_matrix(c.gy() * c.out(0)) * turned(inverse(c.in(0))); });
  }
};
CG_OP("det", Det, "The determinants of square matrices.")

struct LogAbsDet {
  static constexpr Mask saves = in_bit(0);
  Tensor infer(const Tensor& x) const { return infer_numbers("log_abs_det", x); }
  Tensor forward(const Tensor& x) {
    check_square("log_abs_det", x);
    return std::get<1>(at::linalg_slogdet(x));
  }
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] { return per_matrix(c.gy()) * turned(inverse(c.in(0))); });
  }
};
CG_OP("log_abs_det", LogAbsDet, "log|det x| of square matrices.")

struct Cholesky {
  bool upper = false;
  static constexpr auto params() { return std::make_tuple(param("upper", &Cholesky::upper)); }
  static constexpr Mask saves = out_bit(0);
  Tensor infer(const Tensor& x) const { return infer_matrices("cholesky", x); }
  Tensor forward(const Tensor& x) {
    check_square("cholesky", x);
    const Tensor lower = std::get<0>(at::linalg_cholesky_ex(x, false, false));
    return upper ? turned(lower).contiguous() : lower;
  }
  // With L the lower factor and P the lower half of L^T gL (its diagonal halved): gx is the symmetric part of
  // L^-T P L^-1.
  template <class T>
  void backward(Ctx<T>& c) {
    c.grad(0, [&] {
      const T l = upper ? turned(c.out(0)) : c.out(0), g = upper ? turned(c.gy()) : c.gy();
      const int64_t n = value(l).size(-1);
      const Tensor ones = at::ones({n, n}, l.options());
      const Tensor half = at::tril(ones) - at::eye(n, l.options()) * 0.5;
      const T p = matmul(turned(l), g) * half, inv = inverse(l);
      const T s = matmul(matmul(turned(inv), p), inv);
      return (s + turned(s)) * 0.5;
    });
  }
};
CG_OP("cholesky", Cholesky, "The triangular factors of positive definite matrices.")

// The equation must be explicit, with letters only: "ab,bc->ac".
struct Einsum {
  std::string equation;
  static constexpr auto params() { return std::make_tuple(required("equation", &Einsum::equation)); }
  static constexpr Mask saves = kAllInputs;
  Tensor infer(TensorList xs) const {
    const Terms t = terms();
    if (t.in.size() != xs.size()) return {};
    std::array<int64_t, 128> lengths;
    lengths.fill(-1);
    for (size_t i = 0; i < xs.size(); ++i) {
      if (static_cast<int64_t>(t.in[i].size()) != xs[i].dim() || xs[i].scalar_type() != xs[0].scalar_type()) return {};
      for (size_t a = 0; a < t.in[i].size(); ++a) {
        int64_t& n = lengths[t.in[i][a] & 127];
        if (n > 1 && xs[i].size(a) > 1 && n != xs[i].size(a)) return {};
        if (n < 0 || n == 1) n = xs[i].size(a);
      }
    }
    Ints sizes;
    for (size_t a = 0; a < t.out.size(); ++a) {
      sizes.push_back(lengths[t.out[a] & 127]);
      if (!std::isalpha(static_cast<unsigned char>(t.out[a])) || sizes[a] < 0 || t.out.find(t.out[a]) != a) return {};
    }
    return hollow(sizes, xs[0]);
  }
  Tensor forward(TensorList xs) { return at::einsum(equation, xs).clone(at::MemoryFormat::Contiguous); }
  struct Terms {
    std::vector<std::string> in;
    std::string out;
  };
  Terms terms() const {
    Terms t;
    const size_t arrow = equation.find("->");
    TORCH_CHECK_VALUE(arrow != std::string::npos, "einsum: the equation '", equation, "' has no '->'");
    t.out = equation.substr(arrow + 2);
    for (size_t i = 0; i <= arrow;) {
      const size_t end = std::min(equation.find(',', i), arrow);
      t.in.push_back(equation.substr(i, end - i));
      i = end + 1;
    }
    return t;
  }
  // The gradient of an operand is an einsum of gy and the other operands. A letter that occurs twice in the operand is
  // a diagonal, for which an identity matrix is added as an operand. A letter that only this operand has was summed
  // over, and an operand of ones with this letter is added.
  template <class T>
  void backward(Ctx<T>& c) {
    const Terms t = terms();
    for (size_t i = 0; i < t.in.size(); ++i)
      c.grad(i, [&]() -> T {
        std::vector<T> parts{c.gy()};
        std::string left = t.out, known = t.out, result;
        for (size_t j = 0; j < t.in.size(); ++j)
          if (j != i) {
            parts.push_back(c.in(j));
            left += "," + t.in[j];
            known += t.in[j];
          }
        std::string all = known + t.in[i];
        const auto options = value(c.gy()).options();
        for (size_t a = 0; a < t.in[i].size(); ++a) {
          const char letter = t.in[i][a];
          const int64_t n = c.in_sizes(i)[a];
          if (result.find(letter) != std::string::npos) {
            char fresh = 'A';
            while (all.find(fresh) != std::string::npos) fresh = fresh == 'Z' ? 'a' : fresh + 1;
            all += fresh;
            result += fresh;
            left += std::string(",") + letter + fresh;
            parts.push_back(T(at::eye(n, options)));
            continue;
          }
          result += letter;
          if (known.find(letter) == std::string::npos) {
            left += std::string(",") + letter;
            parts.push_back(T(at::ones({n}, options)));
          }
        }
        const T g = run_list(Einsum{left + "->" + result}, c10::ArrayRef<T>(parts));
        Ints shape = ints(c.in_sizes(i));  // a summed letter may have length 1 in the other operands
        for (size_t k = 0; k < shape.size(); ++k) shape[k] = std::max(shape[k], value(g).size(k));
        return value(g).sizes() == at::IntArrayRef(shape) ? g : broadcast_to(g, shape);
      });
  }
};
CG_OP("einsum", Einsum, "Einstein summation with an explicit equation.")

}  // namespace
}  // namespace cg
