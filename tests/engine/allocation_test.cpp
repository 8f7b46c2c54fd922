// A plan allocates nothing while it runs: every operator new of this program is counted.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "encoder.h"
#include "quant/quantizer.h"

namespace {

std::atomic<int64_t> allocations{0};

void* counted(std::size_t size, std::size_t alignment) {
  ++allocations;
  void* p = std::aligned_alloc(alignment, (std::max<std::size_t>(size, 1) + alignment - 1) / alignment * alignment);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

}  // namespace

void* operator new(std::size_t size) { return counted(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t a) { return counted(size, static_cast<std::size_t>(a)); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return counted(size, alignof(std::max_align_t));
}
void* operator new(std::size_t size, std::align_val_t a, const std::nothrow_t&) noexcept {
  return counted(size, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

namespace assay {
namespace {

void expect_no_allocation_once_sizes_are_known(const Session& session) {
  Runner runner(session);
  const auto small = encoder_batch({5, 9});
  const auto large = encoder_batch({40, 64, 3});
  const std::vector<TensorView> small_views(small.begin(), small.end());
  const std::vector<TensorView> large_views(large.begin(), large.end());
  for (int i = 0; i < 2; ++i) {  // the first run learns the sizes, the second lays out the arena
    runner.run(large_views);
    runner.run(small_views);
  }
  const int64_t before = allocations;
  runner.run(large_views);
  runner.run(small_views);
  EXPECT_EQ(allocations - before, 0);
}

TEST(Allocation, TheCounterCounts) {
  const int64_t before = allocations;
  auto p = std::make_unique<std::string>(100, 'x');
  EXPECT_GE(allocations - before, 2);
}

TEST(Allocation, AFusedFloatPlanAllocatesNothing) {
  expect_no_allocation_once_sizes_are_known(Session(squad_model(), {.threads = 2, .isa = kernels::best_isa()}));
}

TEST(Allocation, AFusedInt8PlanAllocatesNothing) {
  expect_no_allocation_once_sizes_are_known(
      Session(quant::quantize_dynamic(squad_model(), {}, nullptr, 2), {.threads = 2, .isa = kernels::best_isa()}));
}

TEST(Allocation, AnUnfusedPlanAllocatesNothing) {
  expect_no_allocation_once_sizes_are_known(
      Session(squad_model(), {.threads = 2, .isa = kernels::best_isa(), .fuse = false}));
}

}  // namespace
}  // namespace assay
