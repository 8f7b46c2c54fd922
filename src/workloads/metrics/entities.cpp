#include "workloads/metrics/entities.h"

#include <algorithm>

#include "base/error.h"

namespace assay::workloads {
namespace {

struct Tag {
  char mark = 'O';   ///< B, I, E, S, or O and '.' for none
  std::string type;  ///< after the first '-'; "_" for a bare mark
};

Tag parse(const std::string& label) {
  if (label.empty()) return {'O', "_"};
  const std::string rest = label.substr(1);
  const size_t dash = rest.find('-');
  std::string type = dash == std::string::npos ? rest : rest.substr(dash + 1);
  if (type.empty()) type = std::string(1, '_');
  return {label[0], std::move(type)};
}

bool inside(const Tag& t) { return t.mark != 'O' && t.mark != '.'; }

bool ends(const Tag& before, const Tag& now) {
  if (before.mark == 'E' || before.mark == 'S') return true;
  if ((before.mark == 'B' || before.mark == 'I') && (now.mark == 'B' || now.mark == 'S' || now.mark == 'O'))
    return true;
  return inside(before) && before.type != now.type;
}

bool begins(const Tag& before, const Tag& now) {
  if (now.mark == 'B' || now.mark == 'S') return true;
  if ((before.mark == 'E' || before.mark == 'S' || before.mark == 'O') && (now.mark == 'E' || now.mark == 'I'))
    return true;
  return inside(now) && before.type != now.type;
}

}  // namespace

std::set<Entity> entities(const std::vector<std::string>& labels) {
  std::set<Entity> out;
  Tag before;
  size_t first = 0;
  for (size_t i = 0; i <= labels.size(); ++i) {
    const Tag now = parse(i < labels.size() ? labels[i] : std::string("O"));
    if (i > 0 && ends(before, now) && inside(before)) out.insert({before.type, first, i - 1});
    if (begins(before, now)) first = i;
    before = now;
  }
  return out;
}

EntityScores score_entities(const std::vector<std::vector<std::string>>& prediction,
                            const std::vector<std::vector<std::string>>& reference) {
  require(prediction.size() == reference.size(), ErrorCode::kInvalidArgument, "{} predictions for {} references",
          prediction.size(), reference.size());
  EntityScores s;
  int64_t same = 0;
  for (size_t i = 0; i < prediction.size(); ++i) {
    require(prediction[i].size() == reference[i].size(), ErrorCode::kInvalidArgument,
            "sentence {}: {} labels for {} words", i, prediction[i].size(), reference[i].size());
    const auto p = entities(prediction[i]), r = entities(reference[i]);
    s.predicted += static_cast<int64_t>(p.size());
    s.real += static_cast<int64_t>(r.size());
    for (const Entity& e : p) s.right += r.contains(e) ? 1 : 0;
    s.words += static_cast<int64_t>(reference[i].size());
    for (size_t w = 0; w < reference[i].size(); ++w) same += prediction[i][w] == reference[i][w] ? 1 : 0;
  }
  const auto ratio = [](double a, double b) { return b > 0 ? a / b : 0.0; };
  s.precision = ratio(static_cast<double>(s.right), static_cast<double>(s.predicted));
  s.recall = ratio(static_cast<double>(s.right), static_cast<double>(s.real));
  s.f1 = ratio(2 * s.precision * s.recall, s.precision + s.recall);
  s.accuracy = ratio(static_cast<double>(same), static_cast<double>(s.words));
  return s;
}

}  // namespace assay::workloads
