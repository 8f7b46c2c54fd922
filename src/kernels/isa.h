#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace assay::kernels {

/// Instruction set levels that kernels are written for. Each level up uses all of the former's packing rules or its
/// own; weights packed for one level are used with that level.
enum class Isa {
  kScalar,      ///< plain C++, runs anywhere: the truth the others are tested against
  kAvx2,        ///< AVX2 and FMA
  kAvx2Vnni,    ///< AVX2 with the VEX-coded dot product (AVX-VNNI)
  kAvx512Vnni,  ///< AVX-512 F, BW, DQ, VL and VNNI
  kAvx512Bf16   ///< the former with AVX512_BF16
};

constexpr int kIsaCount = 5;

/// "scalar", "avx2", "avx2_vnni", "avx512_vnni", "avx512_bf16".
std::string_view to_string(Isa isa);
/// The level of a name as printed by to_string, or nothing.
std::optional<Isa> isa_from_string(std::string_view name);
/// Whether this CPU and operating system can run a level (CPUID, and XCR0 for the register state).
bool isa_supported(Isa isa);
/// Every level this machine can run, lowest first; kScalar is always there.
std::vector<Isa> supported_isas();
/// The highest supported level: what is used unless the caller forces another.
Isa best_isa();

}  // namespace assay::kernels
