#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace assay::workloads {

/// An entity: its type and the words [first, last].
struct Entity {
  std::string type;
  size_t first = 0, last = 0;
  auto operator<=>(const Entity&) const = default;
};

/// Entities of one sentence's labels by the rules of CoNLL-2000's conlleval (seqeval's default mode). An entity begins
/// at B and S; at E and I after O, E or S; and wherever the type changes. It ends before B, S and O, after E and S, and
/// wherever the type changes. So BIO (IOB2), IOB1 and BIOES are all read.
std::set<Entity> entities(const std::vector<std::string>& labels);

/// Micro averages over all entities and accuracy over words; 0 where a ratio has no denominator.
struct EntityScores {
  double precision = 0, recall = 0, f1 = 0, accuracy = 0;
  int64_t right = 0, predicted = 0, real = 0, words = 0;
};

/// InvalidArgument when lists of labels differ in length.
EntityScores score_entities(const std::vector<std::vector<std::string>>& prediction,
                            const std::vector<std::vector<std::string>>& reference);

}  // namespace assay::workloads
