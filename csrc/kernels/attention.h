// softmax(scale q kᵀ + mask) v by blocks of rows of q, on the CPU. The scores of a block stay in the cache and are
// never in main memory; the gradients compute them again.
#pragma once
#include <cstdint>
#include <vector>

namespace cg::kernels {

// One pair of matrices q (n, d), k (m, d), v (m, e) for each head; the rows of q, k and v are contiguous.
template <class T>
struct Attention {
  struct Head {
    const T *q, *k, *v, *mask;  // mask: null if there is none
  };
  std::vector<Head> heads;
  int64_t n, m, d, e;
  int64_t q_row, k_row, v_row;  // numbers from one row to the next
  int64_t mask_row = 0, mask_column = 0;
  T scale = 1;
  bool causal = false;  // row i sees the first i + 1 rows of k and v alone
};

// Whether there is a library for matrix products that the functions below can call.
bool attention_fits();

// All results are in C order, one head after the other.
template <class T>
void attention(const Attention<T>& s, T* y);
// gy: the gradient of y, in C order.
template <class T>
void attention_grad(const Attention<T>& s, const T* gy, T* gq, T* gk, T* gv);

extern template void attention(const Attention<float>&, float*);
extern template void attention(const Attention<double>&, double*);
extern template void attention_grad(const Attention<float>&, const float*, float*, float*, float*);
extern template void attention_grad(const Attention<double>&, const double*, double*, double*, double*);

}  // namespace cg::kernels
