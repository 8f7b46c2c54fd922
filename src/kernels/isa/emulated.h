#pragma once

// For tests only: the intrinsics of instruction sets that this CPU may lack, from SIMDe in plain C, and the few that
// its version 0.7.4 does not have, written out by what Intel's guide says they do.

#ifdef __GNUC__
#pragma GCC diagnostic ignored "-Wpsabi"  // wide vectors go between inline functions only
#endif
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wpedantic"
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx2.h>
#include <simde/x86/avx512.h>
#include <simde/x86/fma.h>
#pragma GCC diagnostic pop

#include <cmath>
#include <cstdint>
#include <cstring>

namespace assay::kernels::emulated {

template <typename T, int kCount>
struct Parts {
  T v[kCount];
};

template <typename To, typename From>
To as(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

/// vpdpbusd on one 32-bit lane: four u8 x s8 products added to the sum, wrapping, nothing saturates.
inline uint32_t dot4(uint32_t sum, const uint8_t* a, const int8_t* b) {
  for (int i = 0; i < 4; ++i) sum += static_cast<uint32_t>(int32_t{a[i]} * int32_t{b[i]});
  return sum;
}

template <typename V>
V dpbusd(const V& sum, const V& a, const V& b) {
  constexpr int kBytes = sizeof(V);
  auto s = as<Parts<uint32_t, kBytes / 4>>(sum);
  const auto x = as<Parts<uint8_t, kBytes>>(a);
  const auto y = as<Parts<int8_t, kBytes>>(b);
  for (int i = 0; i < kBytes / 4; ++i) s.v[i] = dot4(s.v[i], x.v + 4 * i, y.v + 4 * i);
  return as<V>(s);
}

template <typename T>
simde__m512i widen(const simde__m128i& from) {
  const auto x = as<Parts<T, 16>>(from);
  Parts<int32_t, 16> y;
  for (int i = 0; i < 16; ++i) y.v[i] = x.v[i];
  return as<simde__m512i>(y);
}

inline simde__m512i cvtps_epi32(const simde__m512& from) {
  const auto x = as<Parts<float, 16>>(from);
  Parts<int32_t, 16> y;
  for (int i = 0; i < 16; ++i) {
    const float r = std::nearbyint(x.v[i]);
    y.v[i] = r >= -2147483648.0f && r < 2147483648.0f ? static_cast<int32_t>(r) : INT32_MIN;
  }
  return as<simde__m512i>(y);
}

/// Fused, as the instruction is: SIMDe rounds twice where the CPU has no FMA.
inline simde__m512 fmadd_ps(const simde__m512& a, const simde__m512& b, const simde__m512& c) {
  const auto x = as<Parts<float, 16>>(a), y = as<Parts<float, 16>>(b);
  auto z = as<Parts<float, 16>>(c);
  for (int i = 0; i < 16; ++i) z.v[i] = std::fma(x.v[i], y.v[i], z.v[i]);
  return as<simde__m512>(z);
}

inline simde__m512 round_nearest(const simde__m512& from) {
  auto x = as<Parts<float, 16>>(from);
  for (float& v : x.v) v = std::nearbyint(v);
  return as<simde__m512>(x);
}

inline simde__m512 cvtepi32_ps(const simde__m512i& from) {
  const auto x = as<Parts<int32_t, 16>>(from);
  Parts<float, 16> y;
  for (int i = 0; i < 16; ++i) y.v[i] = static_cast<float>(x.v[i]);
  return as<simde__m512>(y);
}

inline simde__m128i cvtepi32_epi8(const simde__m512i& from) {
  const auto x = as<Parts<uint32_t, 16>>(from);
  Parts<uint8_t, 16> y;
  for (int i = 0; i < 16; ++i) y.v[i] = static_cast<uint8_t>(x.v[i]);
  return as<simde__m128i>(y);
}

inline simde__m512i srai_epi32(const simde__m512i& from, unsigned count) {
  auto x = as<Parts<int32_t, 16>>(from);
  for (int32_t& v : x.v) v >>= count > 31 ? 31 : count;
  return as<simde__m512i>(x);
}

inline simde__m256 upper(const simde__m512& from) {
  const auto x = as<Parts<float, 16>>(from);
  Parts<float, 8> y;
  for (int i = 0; i < 8; ++i) y.v[i] = x.v[8 + i];
  return as<simde__m256>(y);
}

template <typename V, typename T>
V load_masked(unsigned mask, const T* p) {
  Parts<T, 16> x{};
  for (int i = 0; i < 16; ++i)
    if ((mask >> i & 1u) != 0) x.v[i] = p[i];
  return as<V>(x);
}

template <typename V, typename T>
void store_masked(T* p, unsigned mask, const V& from) {
  const auto x = as<Parts<T, 16>>(from);
  for (int i = 0; i < 16; ++i)
    if ((mask >> i & 1u) != 0) p[i] = x.v[i];
}

}  // namespace assay::kernels::emulated

#ifndef _MM_FROUND_NO_EXC
#define _MM_FROUND_NO_EXC 8
#endif
#ifndef _MM_FROUND_TO_NEAREST_INT
#define _MM_FROUND_TO_NEAREST_INT 0
#endif
using __mmask16 = simde__mmask16;

#undef _mm512_fmadd_ps
#define _mm512_fmadd_ps(a, b, c) assay::kernels::emulated::fmadd_ps(a, b, c)
#undef _mm512_roundscale_ps
#define _mm512_roundscale_ps(x, mode) assay::kernels::emulated::round_nearest(x)
#define _mm256_dpbusd_avx_epi32(sum, a, b) assay::kernels::emulated::dpbusd(sum, a, b)
#undef _mm512_dpbusd_epi32
#define _mm512_dpbusd_epi32(sum, a, b) assay::kernels::emulated::dpbusd(sum, a, b)
#define _mm512_cvtepu8_epi32(x) assay::kernels::emulated::widen<uint8_t>(x)
#define _mm512_cvtepi8_epi32(x) assay::kernels::emulated::widen<int8_t>(x)
#define _mm512_cvtps_epi32(x) assay::kernels::emulated::cvtps_epi32(x)
#define _mm512_cvtepi32_ps(x) assay::kernels::emulated::cvtepi32_ps(x)
#define _mm512_cvtepi32_epi8(x) assay::kernels::emulated::cvtepi32_epi8(x)
#define _mm512_srai_epi32(x, count) assay::kernels::emulated::srai_epi32(x, count)
#define _mm512_extractf32x8_ps(x, half) assay::kernels::emulated::upper(x)
#define _mm512_maskz_loadu_ps(mask, p) assay::kernels::emulated::load_masked<simde__m512>(mask, p)
#define _mm512_maskz_loadu_epi32(mask, p) assay::kernels::emulated::load_masked<simde__m512i>(mask, p)
#define _mm512_mask_storeu_ps(p, mask, x) assay::kernels::emulated::store_masked(p, mask, x)
