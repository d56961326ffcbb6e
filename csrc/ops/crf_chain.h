// The recursion of linear-chain conditional random fields over the labels, by a loop on the host in double precision.
//
// The sum of exponentials over the previous labels is computed as a product with exp(cost), scaled so that the largest
// factor of each column is 1. If this product leaves the range of double, the sum is computed with logarithms.
#pragma once
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace cg {

class CrfChain {
 public:
  explicit CrfChain(const at::Tensor& given)
      : pairs_(given.to(at::kDouble).contiguous()),
        k_(given.size(0)),
        cost_(pairs_.const_data_ptr<double>()),
        top_(k_, -infinity),
        factors_(k_ * k_),
        products_(k_ * k_),
        pair_sums_(k_ * k_),
        from_(k_),
        to_(k_) {
    for (int64_t i = 0; i < k_ * k_; ++i) top_[i % k_] = std::max(top_[i % k_], cost_[i]);
    for (double& top : top_) top = finite(top);
    for (int64_t i = 0; i < k_ * k_; ++i) factors_[i] = std::exp(cost_[i] - top_[i % k_]);
  }

  // log(sum(exp(x))) over the labels. As in at::logsumexp, the largest term is not factored out if it is infinite.
  double total(const double* x) const {
    return log_sum([&](int64_t i) { return x[i]; });
  }
  // alpha = x + log(sum(exp(before + cost))), summed over the previous labels.
  void move(const double* before, const double* x, double* alpha) {
    const double largest = exponentials(before);
    std::fill(to_.begin(), to_.end(), 0.0);
    for (int64_t i = 0; i < k_; ++i)
      for (int64_t j = 0; j < k_; ++j) to_[j] += from_[i] * factors_[i * k_ + j];
    for (int64_t j = 0; j < k_; ++j)
      alpha[j] = x[j] + (in_range(to_[j]) ? largest + top_[j] + std::log(to_[j])
                                          : log_sum([&](int64_t i) { return before[i] + cost_[i * k_ + j]; }));
  }
  // From the gradient g of alpha computes the gradient of `before` (g_before must be 0) and, summed over all calls,
  // that of cost.
  void move_back(const double* before, const double* x, const double* alpha, const double* g, double* g_before) {
    const double largest = exponentials(before);
    for (int64_t j = 0; j < k_; ++j) {
      to_[j] = 0;
      if (g[j] == 0) continue;  // also for a label that no sequence has, whose alpha is -infinity
      const double log_s = alpha[j] - x[j], s = std::exp(log_s - largest - top_[j]);
      if (in_range(s)) {
        to_[j] = g[j] / s;
        continue;
      }
      for (int64_t i = 0; i < k_; ++i) {
        const double p = std::exp(before[i] + cost_[i * k_ + j] - log_s) * g[j];
        g_before[i] += p;
        pair_sums_[i * k_ + j] += p;
      }
    }
    for (int64_t i = 0; i < k_; ++i) {
      double sum = 0;
      for (int64_t j = 0; j < k_; ++j) {
        sum += factors_[i * k_ + j] * to_[j];
        products_[i * k_ + j] += from_[i] * to_[j];
      }
      g_before[i] += from_[i] * sum;
    }
  }
  void cost_gradient(double* to) const {
    for (int64_t i = 0; i < k_ * k_; ++i) to[i] = pair_sums_[i] + (products_[i] == 0 ? 0 : products_[i] * factors_[i]);
  }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  static double finite(double x) { return std::isfinite(x) ? x : 0; }
  // Whether terms that underflowed are negligible in the sum s.
  static bool in_range(double s) { return s > 1e-250 && s < infinity; }
  template <class F>
  double log_sum(const F& term) const {
    double largest = -infinity, s = 0;
    for (int64_t i = 0; i < k_; ++i) largest = std::max(largest, term(i));
    largest = finite(largest);
    for (int64_t i = 0; i < k_; ++i) s += std::exp(term(i) - largest);
    return largest + std::log(s);
  }
  double exponentials(const double* before) {
    const double largest = k_ ? finite(*std::max_element(before, before + k_)) : 0;
    for (int64_t i = 0; i < k_; ++i) from_[i] = std::exp(before[i] - largest);
    return largest;
  }

  at::Tensor pairs_;
  int64_t k_;
  const double* cost_;                        // (from, to)
  std::vector<double> top_, factors_;         // the largest cost of each column; exp(cost - top)
  std::vector<double> products_, pair_sums_;  // the gradient of cost: products_ * factors_ + pair_sums_
  std::vector<double> from_, to_;             // of one transition
};

}  // namespace cg
