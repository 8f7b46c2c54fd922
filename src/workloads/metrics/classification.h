#pragma once

#include <cstdint>
#include <span>

namespace assay::workloads {

/// All take as many predictions as references (InvalidArgument otherwise) and give 0 for no rows and wherever a ratio
/// has no denominator.

/// Share of equal pairs.
double accuracy(std::span<const int64_t> prediction, std::span<const int64_t> reference);
/// F1 of one class: 2 tp / (2 tp + fp + fn).
double f1_of_class(std::span<const int64_t> prediction, std::span<const int64_t> reference, int64_t positive);
/// Mean of f1_of_class over the classes that occur in either list (scikit-learn's average="macro").
double f1_macro(std::span<const int64_t> prediction, std::span<const int64_t> reference);
/// f1_of_class weighted by how often each class is true (average="weighted").
double f1_weighted(std::span<const int64_t> prediction, std::span<const int64_t> reference);
/// Matthews correlation, any number of classes (Gorodkin's R_K).
double matthews_correlation(std::span<const int64_t> prediction, std::span<const int64_t> reference);

/// Pearson correlation; 0 when either side is constant.
double pearson(std::span<const double> prediction, std::span<const double> reference);
/// Pearson correlation of ranks; ties share their mean rank.
double spearman(std::span<const double> prediction, std::span<const double> reference);

}  // namespace assay::workloads
