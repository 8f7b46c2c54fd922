#include "base/nearest.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace assay {
namespace {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view word, std::span<const std::string> names) {
  std::string best;
  size_t least = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string& name : names) {
    const size_t d = edit_distance(word.substr(0, 256), std::string_view(name).substr(0, 256));
    if (d < least) {
      least = d;
      best = name;
    }
  }
  return best;
}

std::string nearest_hint(std::string_view word, std::span<const std::string> names) {
  const std::string near = nearest_name(word, names);
  if (!near.empty()) return fmt::format("; did you mean '{}'?", near);
  constexpr size_t kMost = 40;  // a model can have thousands of names
  const size_t shown = std::min(names.size(), kMost);
  return fmt::format("; known: {}{}",
                     fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                     shown < names.size() ? fmt::format(" and {} more", names.size() - shown) : "");
}

}  // namespace assay
