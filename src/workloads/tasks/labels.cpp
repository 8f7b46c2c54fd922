#include "workloads/tasks/labels.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>

#include "base/error.h"
#include "base/nearest.h"

namespace assay::workloads {
namespace {

std::string lower(std::string s) {
  for (char& c : s)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return s;
}

std::string trimmed(const std::string& s) {
  const size_t a = s.find_first_not_of(" \t\r\n"), b = s.find_last_not_of(" \t\r\n");
  return a == std::string::npos ? std::string() : s.substr(a, b - a + 1);
}

template <typename T>
bool parse_number(const std::string& s, T& out) {
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), out);
  return error == std::errc() && end == s.data() + s.size() && !s.empty();
}

}  // namespace

std::vector<int64_t> read_classes(const Dataset& data, size_t column, int64_t rows,
                                  const std::vector<std::string>& labels) {
  std::map<std::string, int64_t> by_name;
  for (size_t i = 0; i < labels.size(); ++i) by_name.try_emplace(lower(labels[i]), static_cast<int64_t>(i));
  std::vector<int64_t> out;
  for (int64_t r = 0; r < rows; ++r) {
    const Cell& cell = data.at(r, column);
    int64_t id = -1;
    std::string text;
    if (const auto* n = std::get_if<int64_t>(&cell)) {
      id = *n;
      text = std::to_string(id);
    } else {
      text = trimmed(data.text(r, column));
      const auto it = by_name.find(lower(text));
      if (it != by_name.end())
        id = it->second;
      else
        require(parse_number(text, id), ErrorCode::kBadFile,
                "'{}', {}: '{}' in column '{}' is neither a label of the model nor a class number{}", data.source,
                data.where(r), text, data.columns[column], nearest_hint(text, labels));
    }
    require(id >= 0 && (labels.empty() || id < static_cast<int64_t>(labels.size())), ErrorCode::kBadFile,
            "'{}', {}: class {} in column '{}', the model has {} labels", data.source, data.where(r), text,
            data.columns[column], labels.size());
    out.push_back(id);
  }
  return out;
}

std::vector<double> read_values(const Dataset& data, size_t column, int64_t rows) {
  std::vector<double> out;
  for (int64_t r = 0; r < rows; ++r) {
    const Cell& cell = data.at(r, column);
    double v = 0;
    if (const auto* n = std::get_if<int64_t>(&cell))
      v = static_cast<double>(*n);
    else if (const auto* d = std::get_if<double>(&cell))
      v = *d;
    else
      require(parse_number(trimmed(data.text(r, column)), v), ErrorCode::kBadFile,
              "'{}', {}: column '{}' should hold a number", data.source, data.where(r), data.columns[column]);
    require(std::isfinite(v), ErrorCode::kBadFile, "'{}', {}: column '{}' is not finite", data.source, data.where(r),
            data.columns[column]);
    out.push_back(v);
  }
  return out;
}

std::string label_name(const std::vector<std::string>& labels, int64_t id) {
  const auto i = static_cast<size_t>(id);
  return id >= 0 && i < labels.size() ? labels[i] : std::to_string(id);
}

std::vector<int64_t> top_classes(std::span<const float> scores, size_t n) {
  std::vector<int64_t> order(scores.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  n = std::min(n, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<int64_t>(n), order.end(), [&](int64_t a, int64_t b) {
    const float x = scores[static_cast<size_t>(a)], y = scores[static_cast<size_t>(b)];
    return x > y || (x == y && a < b);
  });
  order.resize(n);
  return order;
}

}  // namespace assay::workloads
