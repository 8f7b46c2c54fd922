#include "kernels/isa.h"

#include <array>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <cstdint>

namespace assay::kernels {
namespace {

constexpr std::array<std::string_view, kIsaCount> kNames = {"scalar", "avx2", "avx2_vnni", "avx512_vnni",
                                                            "avx512_bf16"};

#if defined(__x86_64__)
struct Cpuid {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Cpuid cpuid(uint32_t leaf, uint32_t subleaf) {
  Cpuid r;
  if (__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx) == 0) return {};
  return r;
}

bool bit(uint32_t word, int n) { return ((word >> n) & 1u) != 0; }

/// The register state that the operating system saves (XCR0): bits 1 and 2 for AVX, 5 to 7 for AVX-512.
uint64_t saved_state() {
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t{high} << 32) | low;
}

std::array<bool, kIsaCount> detect() {
  std::array<bool, kIsaCount> ok{};
  ok[0] = true;
  const Cpuid one = cpuid(1, 0);
  if (!bit(one.ecx, 27) || !bit(one.ecx, 28)) return ok;  // OSXSAVE, AVX
  const uint64_t state = saved_state();
  if ((state & 0x6) != 0x6) return ok;
  const Cpuid seven = cpuid(7, 0);
  const Cpuid seven_one = seven.eax >= 1 ? cpuid(7, 1) : Cpuid{};
  const bool fma = bit(one.ecx, 12), f16c = bit(one.ecx, 29), avx2 = bit(seven.ebx, 5);
  if (!avx2 || !fma || !f16c) return ok;
  ok[static_cast<size_t>(Isa::kAvx2)] = true;
  ok[static_cast<size_t>(Isa::kAvx2Vnni)] = bit(seven_one.eax, 4);
  const bool f = bit(seven.ebx, 16), dq = bit(seven.ebx, 17), bw = bit(seven.ebx, 30), vl = bit(seven.ebx, 31);
  if ((state & 0xe6) != 0xe6 || !f || !dq || !bw || !vl || !bit(seven.ecx, 11)) return ok;
  ok[static_cast<size_t>(Isa::kAvx512Vnni)] = true;
  ok[static_cast<size_t>(Isa::kAvx512Bf16)] = bit(seven_one.eax, 5);
  return ok;
}
#else
std::array<bool, kIsaCount> detect() { return {true}; }
#endif

}  // namespace

std::string_view to_string(Isa isa) { return kNames[static_cast<size_t>(isa)]; }

std::optional<Isa> isa_from_string(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<Isa>(i);
  return std::nullopt;
}

bool isa_supported(Isa isa) {
  static const std::array<bool, kIsaCount> kSupported = detect();
  return kSupported[static_cast<size_t>(isa)];
}

std::vector<Isa> supported_isas() {
  std::vector<Isa> list;
  for (int i = 0; i < kIsaCount; ++i)
    if (isa_supported(static_cast<Isa>(i))) list.push_back(static_cast<Isa>(i));
  return list;
}

Isa best_isa() { return supported_isas().back(); }

}  // namespace assay::kernels
