#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace assay {

/// Mean of values; NaN for none.
double mean(std::span<const double> values);
/// Standard deviation of the population (divides by n, as NumPy's default); NaN for none.
double standard_deviation(std::span<const double> values);
/// Quantile q in [0, 1] of sorted values by linear interpolation between neighbours, NumPy's default. NaN for none.
double quantile(std::span<const double> sorted, double q);

/// Passes that a percentile needs before it says something. The median describes any sample, however small. A
/// percentile of the tail needs at least five passes beyond it, n (1 - q) >= 5, since with fewer it is one or two
/// outliers' own figure: p90 50, p95 100, p99 500, p99.9 5000. (The rule of thumb for a normal interval on a
/// proportion, n p (1 - p) >= 5, taken at the tail.)
int64_t passes_needed(double q);
/// The quantile, or nothing when there are too few values for it.
std::optional<double> supported_quantile(std::span<const double> sorted, double q);

}  // namespace assay
