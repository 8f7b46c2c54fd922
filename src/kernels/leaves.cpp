#include "kernels/isa/leaves.h"

#include <array>
#include <cstddef>

#include "kernels/isa/kernel_list.h"

namespace assay::kernels {
namespace {

std::array<Leaves, kIsaCount> make_tables() {
  const Leaves scalar = {kGemmS16S8S32Scalar, kGemmF32Scalar, kFloatScalar, Isa::kScalar};
#if defined(__x86_64__)
  return {scalar,
          {{kGemmS16S8S32Avx2, kGemmU8S8S32Avx2}, kGemmF32Avx2, kFloatAvx2, Isa::kAvx2},
          {kGemmU8S8S32Avx2Vnni, kGemmF32Avx2, kFloatAvx2, Isa::kAvx2Vnni},
          {kGemmU8S8S32Avx512Vnni, kGemmF32Avx512, kFloatAvx512, Isa::kAvx512Vnni},
          {kGemmU8S8S32Avx512Vnni, kGemmF32Avx512, kFloatAvx512, Isa::kAvx512Bf16}};
#else
  std::array<Leaves, kIsaCount> tables;
  tables.fill(scalar);
  return tables;
#endif
}

}  // namespace

const Leaves& leaves(Isa isa) {
  static const std::array<Leaves, kIsaCount> kTables = make_tables();
  return kTables[static_cast<size_t>(isa)];
}

}  // namespace assay::kernels
