// How near the kernels come to what this machine can do: best of many short runs, beside a peak measured in the same
// breath.
//
//   bench_kernels [f32|int8|int8_wide|attention|norm|unary]... [--threads 1,2] [--shape M,K,N] [--isa NAME] [--ms 60]
//
// One line a case: kind, shape, threads, microseconds, GOPS (two a multiply-add), share of the peak in percent.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/rng.h"
#include "kernels/kernels.h"

namespace {

using namespace assay;           // NOLINT: a program of one file
using namespace assay::kernels;  // NOLINT

double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Shortest time of one call, over about `ms` milliseconds.
double best_us(double ms, const std::function<void()>& call) {
  call();
  double best = 1e30;
  const double end = now_us() + ms * 1000;
  do {
    const double start = now_us();
    call();
    best = std::min(best, now_us() - start);
  } while (now_us() < end);
  return best;
}

struct Memory {
  explicit Memory(size_t bytes) : size(bytes + 64), data(::operator new (size, std::align_val_t{64})) {
    std::memset(data, 0, size);
  }
  ~Memory() { ::operator delete (data, std::align_val_t{64}); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  template <typename T>
  T* as() const {
    return static_cast<T*>(data);
  }
  size_t size;
  void* data;
};

// --- peaks: independent chains of one instruction in registers

constexpr int kProbeLoops = 20000;

void probe_fma_avx2() {
  int loops = kProbeLoops;
  __asm__ volatile(
      "1:\n"
      "vfmadd231ps %%ymm14, %%ymm15, %%ymm0\n"
      "vfmadd231ps %%ymm14, %%ymm15, %%ymm1\n"
      "vfmadd231ps %%ymm14, %%ymm15, %%ymm2\n"
      "vfmadd231ps %%ymm14, %%ymm15, %%ymm3\n"
      "vfmadd231ps %%ymm14, %%ymm15, %%ymm4\n"
      "vfmadd231ps %%ymm14, %%ymm15, %%ymm5\n"
      "vfmadd231ps %%ymm14, %%ymm15, %%ymm6\n"
      "vfmadd231ps %%ymm14, %%ymm15, %%ymm7\n"
      "vfmadd231ps %%ymm14, %%ymm15, %%ymm8\n"
      "vfmadd231ps %%ymm14, %%ymm15, %%ymm9\n"
      "vfmadd231ps %%ymm14, %%ymm15, %%ymm10\n"
      "vfmadd231ps %%ymm14, %%ymm15, %%ymm11\n"
      "dec %0\n"
      "jnz 1b\n"
      : "+r"(loops)
      :
      : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm14",
        "xmm15", "cc");
}

void probe_madd_avx2() {
  int loops = kProbeLoops;
  __asm__ volatile(
      "1:\n"
      "vpmaddwd %%ymm14, %%ymm15, %%ymm0\n"
      "vpmaddwd %%ymm14, %%ymm15, %%ymm1\n"
      "vpmaddwd %%ymm14, %%ymm15, %%ymm2\n"
      "vpmaddwd %%ymm14, %%ymm15, %%ymm3\n"
      "vpmaddwd %%ymm14, %%ymm15, %%ymm4\n"
      "vpmaddwd %%ymm14, %%ymm15, %%ymm5\n"
      "vpmaddwd %%ymm14, %%ymm15, %%ymm6\n"
      "vpmaddwd %%ymm14, %%ymm15, %%ymm7\n"
      "vpmaddwd %%ymm14, %%ymm15, %%ymm8\n"
      "vpmaddwd %%ymm14, %%ymm15, %%ymm9\n"
      "vpmaddwd %%ymm14, %%ymm15, %%ymm10\n"
      "vpmaddwd %%ymm14, %%ymm15, %%ymm11\n"
      "dec %0\n"
      "jnz 1b\n"
      : "+r"(loops)
      :
      : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm14",
        "xmm15", "cc");
}

void probe_fma_avx512() {
  int loops = kProbeLoops;
  __asm__ volatile(
      "1:\n"
      "vfmadd231ps %%zmm14, %%zmm15, %%zmm0\n"
      "vfmadd231ps %%zmm14, %%zmm15, %%zmm1\n"
      "vfmadd231ps %%zmm14, %%zmm15, %%zmm2\n"
      "vfmadd231ps %%zmm14, %%zmm15, %%zmm3\n"
      "vfmadd231ps %%zmm14, %%zmm15, %%zmm4\n"
      "vfmadd231ps %%zmm14, %%zmm15, %%zmm5\n"
      "vfmadd231ps %%zmm14, %%zmm15, %%zmm6\n"
      "vfmadd231ps %%zmm14, %%zmm15, %%zmm7\n"
      "vfmadd231ps %%zmm14, %%zmm15, %%zmm8\n"
      "vfmadd231ps %%zmm14, %%zmm15, %%zmm9\n"
      "vfmadd231ps %%zmm14, %%zmm15, %%zmm10\n"
      "vfmadd231ps %%zmm14, %%zmm15, %%zmm11\n"
      "vfmadd231ps %%zmm14, %%zmm15, %%zmm12\n"
      "vfmadd231ps %%zmm14, %%zmm15, %%zmm13\n"
      "dec %0\n"
      "jnz 1b\n"
      : "+r"(loops)
      :
      : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
        "xmm13", "xmm14", "xmm15", "cc");
}

void probe_dot_avx512() {
  int loops = kProbeLoops;
  __asm__ volatile(
      "1:\n"
      "vpdpbusd %%zmm14, %%zmm15, %%zmm0\n"
      "vpdpbusd %%zmm14, %%zmm15, %%zmm1\n"
      "vpdpbusd %%zmm14, %%zmm15, %%zmm2\n"
      "vpdpbusd %%zmm14, %%zmm15, %%zmm3\n"
      "vpdpbusd %%zmm14, %%zmm15, %%zmm4\n"
      "vpdpbusd %%zmm14, %%zmm15, %%zmm5\n"
      "vpdpbusd %%zmm14, %%zmm15, %%zmm6\n"
      "vpdpbusd %%zmm14, %%zmm15, %%zmm7\n"
      "vpdpbusd %%zmm14, %%zmm15, %%zmm8\n"
      "vpdpbusd %%zmm14, %%zmm15, %%zmm9\n"
      "vpdpbusd %%zmm14, %%zmm15, %%zmm10\n"
      "vpdpbusd %%zmm14, %%zmm15, %%zmm11\n"
      "vpdpbusd %%zmm14, %%zmm15, %%zmm12\n"
      "vpdpbusd %%zmm14, %%zmm15, %%zmm13\n"
      "dec %0\n"
      "jnz 1b\n"
      : "+r"(loops)
      :
      : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
        "xmm13", "xmm14", "xmm15", "cc");
}

struct Probe {
  void (*run)();
  double ops;  ///< one call's
};

Probe probe_of(bool int8, Isa isa) {
  if (isa >= Isa::kAvx512Vnni)
    return int8 ? Probe{probe_dot_avx512, 14.0 * kProbeLoops * 128} : Probe{probe_fma_avx512, 14.0 * kProbeLoops * 32};
  return int8 ? Probe{probe_madd_avx2, 12.0 * kProbeLoops * 32} : Probe{probe_fma_avx2, 12.0 * kProbeLoops * 16};
}

/// GOPS of all threads together.
double peak(bool int8, Isa isa, int threads) {
  const Probe p = probe_of(int8, isa);
  const double us = best_us(8, [&] {
    parallel_for(threads, threads, 1, [&](int64_t b, int64_t e) {
      for (int64_t i = b; i < e; ++i) p.run();
    });
  });
  return p.ops * threads / us / 1e3;
}

// --- cases

struct Options {
  std::vector<std::string> kinds;
  std::vector<int> threads = {1, 2};
  std::vector<int64_t> shape;
  Isa isa = best_isa();
  double ms = 60;
};

void print(const std::string& kind, const std::string& shape, int threads, double us, double ops, double limit) {
  fmt::print("{:<10} {:<22} threads {} {:>10.1f} us {:>8.1f} GOPS {:>5.1f} %\n", kind, shape, threads, us,
             ops / us / 1e3, 100 * ops / us / 1e3 / limit);
}

void gemm_case(const Options& o, bool int8, int64_t m, int64_t k, int64_t n, int threads, bool wide) {
  Rng rng(1);
  Memory out(static_cast<size_t>(m * n) * 4);
  Epilogue e;
  e.dst = out.data;
  e.dst_stride = n;
  const double ops = 2.0 * static_cast<double>(m) * static_cast<double>(k) * static_cast<double>(n);
  double us = 0;
  if (int8) {
    Memory a(static_cast<size_t>(m * k)), b(static_cast<size_t>(k * n)), packed(packed_int8_bytes(o.isa, k, n));
    for (int64_t i = 0; i < m * k; ++i) a.as<uint8_t>()[i] = static_cast<uint8_t>(rng.next());
    // "int8": weights as one scale for the tensor leaves them, bell-shaped with a far tail; "int8_wide": as one for
    // each column.
    for (int64_t i = 0; i < k * n; ++i) {
      double bell = -6;
      for (int j = 0; j < 12; ++j) bell += rng.uniform();
      b.as<int8_t>()[i] = static_cast<int8_t>(std::clamp(bell * (wide ? 40 : 26), -127.0, 127.0));
    }
    const PackedInt8 w = pack_int8(o.isa, k, n, b.data, n, false, false, packed.data, threads);
    Memory scratch(gemm_int8_scratch_bytes(o.isa, m, n, k, threads));
    std::vector<int32_t> zps(static_cast<size_t>(m), 117);
    std::vector<float> scales(static_cast<size_t>(m), 0.01f), col(static_cast<size_t>(n), 0.02f);
    GemmInt8 g;
    g.m = m;
    g.a = a.data;
    g.a_stride = k;
    g.a_zero_points = zps.data();
    g.a_scales = scales.data();
    g.b_scales = col.data();
    g.epilogue = e;
    us = best_us(o.ms, [&] { gemm_int8(w, g, scratch.data, threads); });
  } else {
    Memory a(static_cast<size_t>(m * k) * 4), b(static_cast<size_t>(k * n) * 4), packed(packed_f32_bytes(o.isa, k, n));
    for (int64_t i = 0; i < m * k; ++i) a.as<float>()[i] = rng.uniform(-1, 1);
    for (int64_t i = 0; i < k * n; ++i) b.as<float>()[i] = rng.uniform(-1, 1);
    const PackedF32 w = pack_f32(o.isa, k, n, b.as<float>(), n, false, packed.as<float>(), threads);
    Memory scratch(gemm_f32_packed_scratch_bytes(o.isa, m, n, k, threads));
    us = best_us(o.ms, [&] { gemm_f32_packed(w, m, a.as<float>(), k, e, scratch.data, threads); });
  }
  print(int8 ? wide ? "int8_wide" : "int8" : "f32", fmt::format("{}x{}x{}", m, k, n), threads, us, ops,
        peak(int8, o.isa, threads));
}

void gemm_cases(const Options& o, bool int8, bool wide = false) {
  const int64_t shapes[][2] = {{384, 384}, {384, 1152}, {384, 1536}, {1536, 384},
                               {768, 768}, {768, 2304}, {768, 3072}, {3072, 768}};
  for (int threads : o.threads) {
    if (!o.shape.empty()) {
      gemm_case(o, int8, o.shape[0], o.shape[1], o.shape[2], threads, wide);
      continue;
    }
    for (const auto& s : shapes)
      for (int64_t m : {1, 8, 32, 64, 128, 512, 1024}) gemm_case(o, int8, m, s[0], s[1], threads, wide);
  }
}

void attention_cases(const Options& o) {
  for (int threads : o.threads)
    for (int64_t dim : {32, 64})
      for (int64_t length : {32, 64, 128, 384}) {
        // Two heads: short calls, which a busy machine lets through whole.
        const int64_t heads = 2, hidden = heads * dim, batch = std::max<int64_t>(1, 64 / length),
                      tokens = batch * length;
        Memory qkv(static_cast<size_t>(tokens * hidden * 3) * 4), out(static_cast<size_t>(tokens * hidden) * 4);
        Rng rng(2);
        for (int64_t i = 0; i < tokens * hidden * 3; ++i) qkv.as<float>()[i] = rng.uniform(-1, 1);
        std::vector<int64_t> splits;
        for (int64_t i = 0; i <= batch; ++i) splits.push_back(i * length);
        Attention a;
        a.batch = batch;
        a.query_splits = splits.data();
        a.heads = a.kv_heads = static_cast<int>(heads);
        a.head_dim = a.value_dim = dim;
        a.q = qkv.as<float>();
        a.k = a.q + hidden;
        a.v = a.k + hidden;
        a.q_stride = a.k_stride = a.v_stride = 3 * hidden;
        a.scale = 0.125f;
        a.dst = out.as<float>();
        a.dst_stride = hidden;
        Memory scratch(attention_scratch_bytes(o.isa, length, dim, dim, threads));
        const double us = best_us(o.ms, [&] { attention_f32(o.isa, a, length, scratch.data, threads); });
        const double ops = 4.0 * static_cast<double>(batch * heads * length * length * dim);
        print("attention", fmt::format("b{} s{} h{} d{}", batch, length, heads, dim), threads, us, ops,
              peak(false, o.isa, threads));
      }
}

void norm_cases(const Options& o) {
  for (int threads : o.threads)
    for (int64_t n : {384, 768})
      for (bool quantized : {false, true}) {
        const int64_t rows = 384;
        Memory x(static_cast<size_t>(rows * n) * 4), r(static_cast<size_t>(rows * n) * 4),
            y(static_cast<size_t>(rows * n) * 4), q(static_cast<size_t>(rows * n));
        Rng rng(3);
        for (int64_t i = 0; i < rows * n; ++i) x.as<float>()[i] = r.as<float>()[i] = rng.uniform(-1, 1);
        std::vector<float> gamma(static_cast<size_t>(n), 1.1f), scales(static_cast<size_t>(rows));
        std::vector<int32_t> zps(static_cast<size_t>(rows));
        Norm a;
        a.rows = rows;
        a.n = a.src_stride = a.residual_stride = a.dst_stride = a.q_stride = n;
        a.src = x.as<float>();
        a.residual = r.as<float>();
        a.gamma = a.beta = gamma.data();
        a.dst = y.as<float>();
        if (quantized) {
          a.q = q.as<uint8_t>();
          a.q_scales = scales.data();
          a.q_zero_points = zps.data();
        }
        const double us = best_us(o.ms, [&] { norm_f32(o.isa, a, threads); });
        fmt::print("{:<10} {:<22} threads {} {:>10.1f} us {:>8.2f} ns an element\n", quantized ? "norm_q8" : "norm",
                   fmt::format("{}x{}", rows, n), threads, us, us * 1e3 / static_cast<double>(rows * n));
      }
}

void unary_cases(const Options& o) {
  const std::pair<const char*, Unary> ops[] = {
      {"relu", Unary::kRelu}, {"gelu_erf", Unary::kGeluErf}, {"gelu_tanh", Unary::kGeluTanh}, {"erf", Unary::kErf},
      {"tanh", Unary::kTanh}, {"sigmoid", Unary::kSigmoid},  {"silu", Unary::kSilu},          {"exp", Unary::kExp}};
  const int64_t n = 8192;
  Memory x(n * 4), y(n * 4);
  Rng rng(4);
  for (int64_t i = 0; i < n; ++i) x.as<float>()[i] = rng.uniform(-4, 4);
  for (const auto& [name, op] : ops) {
    const double us = best_us(o.ms / 4, [&, f = op] { unary_f32(o.isa, f, n, x.as<float>(), y.as<float>(), 1); });
    fmt::print("{:<10} {:<22} threads 1 {:>10.1f} us {:>8.3f} ns an element\n", name, n, us, us * 1e3 / n);
  }
}

std::vector<int64_t> numbers(const std::string& text) {
  std::vector<int64_t> list;
  for (size_t at = 0; at < text.size();) {
    list.push_back(std::strtoll(text.c_str() + at, nullptr, 10));
    const size_t comma = text.find(',', at);
    if (comma == std::string::npos) break;
    at = comma + 1;
  }
  return list;
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--threads") {
      o.threads.clear();
      for (int64_t t : numbers(value)) o.threads.push_back(static_cast<int>(t));
    } else if (word == "--shape") {
      o.shape = numbers(value);
    } else if (word == "--ms") {
      o.ms = std::atof(value.c_str());
    } else if (word == "--isa") {
      const auto isa = isa_from_string(value);
      if (!isa || !isa_supported(*isa)) {
        fmt::print(stderr, "no level '{}' on this machine\n", value);
        return 2;
      }
      o.isa = *isa;
    } else {
      o.kinds.push_back(word);
      continue;
    }
    ++i;
  }
  if (o.kinds.empty()) o.kinds = {"f32", "int8", "attention", "norm", "unary"};
  for (const std::string& kind : o.kinds) {
    if (kind == "f32") gemm_cases(o, false);
    if (kind == "int8") gemm_cases(o, true);
    if (kind == "int8_wide") gemm_cases(o, true, true);
    if (kind == "attention") attention_cases(o);
    if (kind == "norm") norm_cases(o);
    if (kind == "unary") unary_cases(o);
  }
}
