#include "bench/statistics.h"

#include <cmath>
#include <limits>

namespace assay {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kBeyond = 5;

}  // namespace

double mean(std::span<const double> values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return values.empty() ? kNan : sum / static_cast<double>(values.size());
}

double standard_deviation(std::span<const double> values) {
  const double m = mean(values);
  double sum = 0;
  for (const double v : values) sum += (v - m) * (v - m);
  return values.empty() ? kNan : std::sqrt(sum / static_cast<double>(values.size()));
}

double quantile(std::span<const double> sorted, double q) {
  if (sorted.empty()) return kNan;
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<size_t>(at);
  if (low + 1 >= sorted.size()) return sorted.back();
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[low + 1] - sorted[low]);
}

int64_t passes_needed(double q) { return q <= 0.5 ? 1 : static_cast<int64_t>(std::ceil(kBeyond / (1 - q) - 1e-6)); }

std::optional<double> supported_quantile(std::span<const double> sorted, double q) {
  if (static_cast<int64_t>(sorted.size()) < passes_needed(q)) return std::nullopt;
  return quantile(sorted, q);
}

}  // namespace assay
