#include "workloads/metrics/classification.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

#include "base/error.h"

namespace assay::workloads {
namespace {

struct Counts {
  double right = 0, predicted = 0, real = 0;
};

template <typename T>
void check_sizes(std::span<const T> a, std::span<const T> b) {
  require(a.size() == b.size(), ErrorCode::kInvalidArgument, "{} predictions for {} references", a.size(), b.size());
}

std::map<int64_t, Counts> count(std::span<const int64_t> p, std::span<const int64_t> r) {
  check_sizes(p, r);
  std::map<int64_t, Counts> out;
  for (size_t i = 0; i < p.size(); ++i) {
    out[p[i]].predicted += 1;
    out[r[i]].real += 1;
    if (p[i] == r[i]) out[p[i]].right += 1;
  }
  return out;
}

double f1(const Counts& c) { return c.predicted + c.real > 0 ? 2 * c.right / (c.predicted + c.real) : 0; }

std::vector<double> ranks(std::span<const double> v) {
  std::vector<size_t> order(v.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return v[a] < v[b]; });
  std::vector<double> out(v.size());
  for (size_t i = 0; i < order.size();) {
    size_t j = i;
    while (j < order.size() && v[order[j]] == v[order[i]]) ++j;
    for (size_t k = i; k < j; ++k) out[order[k]] = static_cast<double>(i + j + 1) / 2;
    i = j;
  }
  return out;
}

}  // namespace

double accuracy(std::span<const int64_t> p, std::span<const int64_t> r) {
  check_sizes(p, r);
  if (p.empty()) return 0;
  int64_t right = 0;
  for (size_t i = 0; i < p.size(); ++i) right += p[i] == r[i] ? 1 : 0;
  return static_cast<double>(right) / static_cast<double>(p.size());
}

double f1_of_class(std::span<const int64_t> p, std::span<const int64_t> r, int64_t positive) {
  const auto counts = count(p, r);
  const auto it = counts.find(positive);
  return it == counts.end() ? 0 : f1(it->second);
}

double f1_macro(std::span<const int64_t> p, std::span<const int64_t> r) {
  const auto counts = count(p, r);
  double sum = 0;
  for (const auto& [label, c] : counts) sum += f1(c);
  return counts.empty() ? 0 : sum / static_cast<double>(counts.size());
}

double f1_weighted(std::span<const int64_t> p, std::span<const int64_t> r) {
  double sum = 0;
  for (const auto& [label, c] : count(p, r)) sum += f1(c) * c.real;
  return p.empty() ? 0 : sum / static_cast<double>(p.size());
}

double matthews_correlation(std::span<const int64_t> p, std::span<const int64_t> r) {
  const auto n = static_cast<double>(p.size());
  double right = 0, cross = 0, predicted2 = 0, real2 = 0;
  for (const auto& [label, c] : count(p, r)) {
    right += c.right;
    cross += c.predicted * c.real;
    predicted2 += c.predicted * c.predicted;
    real2 += c.real * c.real;
  }
  const double denominator = std::sqrt(n * n - predicted2) * std::sqrt(n * n - real2);
  return denominator > 0 ? (right * n - cross) / denominator : 0;
}

double pearson(std::span<const double> p, std::span<const double> r) {
  check_sizes(p, r);
  if (p.empty()) return 0;
  const auto n = static_cast<double>(p.size());
  const double mp = std::accumulate(p.begin(), p.end(), 0.0) / n, mr = std::accumulate(r.begin(), r.end(), 0.0) / n;
  double pp = 0, rr = 0, pr = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    pp += (p[i] - mp) * (p[i] - mp);
    rr += (r[i] - mr) * (r[i] - mr);
    pr += (p[i] - mp) * (r[i] - mr);
  }
  return pp > 0 && rr > 0 ? std::clamp(pr / (std::sqrt(pp) * std::sqrt(rr)), -1.0, 1.0) : 0;
}

double spearman(std::span<const double> p, std::span<const double> r) {
  check_sizes(p, r);
  return pearson(ranks(p), ranks(r));
}

}  // namespace assay::workloads
