#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "base/error.h"

namespace assay {

constexpr int kMaxRank = 8;

/// Concrete sizes, inline (no allocation), rank 0 to kMaxRank.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : Shape(std::span<const int64_t>(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const int64_t> dims) {
    require(dims.size() <= kMaxRank, ErrorCode::kUnsupported, "rank {} is beyond the {} supported", dims.size(),
            kMaxRank);
    for (int64_t d : dims) dims_[static_cast<size_t>(rank_++)] = d;
  }

  int rank() const { return rank_; }
  int64_t operator[](int i) const { return dims_[static_cast<size_t>(i)]; }
  int64_t& operator[](int i) { return dims_[static_cast<size_t>(i)]; }
  const int64_t* begin() const { return dims_.data(); }
  const int64_t* end() const { return dims_.data() + rank_; }
  std::span<const int64_t> dims() const { return {dims_.data(), static_cast<size_t>(rank_)}; }
  void push_back(int64_t d) {
    require(rank_ < kMaxRank, ErrorCode::kUnsupported, "rank is beyond the {} supported", kMaxRank);
    dims_[static_cast<size_t>(rank_++)] = d;
  }

  /// Product of all dims (1 for a scalar); checked for overflow and negative dims.
  int64_t elements() const;
  /// Product of dims [from, to).
  int64_t elements(int from, int to) const;
  bool operator==(const Shape& other) const;
  /// "[2,3]"
  std::string str() const;

 private:
  std::array<int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

}  // namespace assay

/// Prints a shape as str() does; passing the shape itself to fail() and require() costs nothing until it is printed.
template <>
struct fmt::formatter<assay::Shape> : fmt::formatter<std::string_view> {
  template <typename Context>
  auto format(const assay::Shape& shape, Context& ctx) const {
    return fmt::formatter<std::string_view>::format(shape.str(), ctx);
  }
};

namespace assay {

/// NumPy broadcasting of two shapes; InvalidArgument naming both when they do not fit.
Shape broadcast(const Shape& a, const Shape& b);
/// An axis in [-rank, rank) made non-negative; InvalidArgument otherwise.
int normalize_axis(int64_t axis, int rank);

}  // namespace assay
