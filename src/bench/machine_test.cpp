#include "bench/machine.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Machine, ReadsLscpusFields) {
  const auto f =
      parse_lscpu("Architecture:   x86_64\n  CPU(s):  2\nL2 cache:   1 MiB (2 instances)\nno colon here\nEmpty:\n");
  EXPECT_EQ(f.at("Architecture"), "x86_64");
  EXPECT_EQ(f.at("CPU(s)"), "2");
  EXPECT_EQ(f.at("L2 cache"), "1 MiB (2 instances)");
  EXPECT_FALSE(f.contains("Empty"));
}

TEST(Machine, NamesVectorExtensionsOnly) {
  EXPECT_EQ(vector_extensions("fpu sse4_2 avx2 fma avx512_vnni rdrand"),
            (std::vector<std::string>{"sse4_2", "fma", "avx2", "avx512_vnni"}));
}

TEST(Machine, OnlyACloudsProductNameIsAnInstanceType) {
  EXPECT_EQ(instance_type_of("Amazon EC2", "g4dn.2xlarge"), "g4dn.2xlarge");
  EXPECT_EQ(instance_type_of("Google", "Google Compute Engine"), "");
  EXPECT_EQ(instance_type_of("QEMU", "Standard PC (i440FX + PIIX, 1996)"), "");
  EXPECT_EQ(instance_type_of("", ""), "");
}

TEST(Machine, ControlGroupLimitsRoundUp) {
  EXPECT_EQ(cpu_limit("200000 100000"), 2);
  EXPECT_EQ(cpu_limit("150000 100000"), 2);
  EXPECT_EQ(cpu_limit("max 100000"), 0);
  EXPECT_EQ(cpu_limit(""), 0);
}

TEST(Machine, ThisOneTellsItsProcessorsAndMemory) {
  const Machine m = read_machine();
  EXPECT_GE(m.processors, 1);
  EXPECT_GE(m.usable_processors, 1);
  EXPECT_GT(m.memory_bytes, int64_t{1} << 28);
  EXPECT_FALSE(m.kernel.empty());
  EXPECT_GT(peak_memory_bytes(), 1 << 20);
}

}  // namespace
}  // namespace assay
