#include <algorithm>
#include <array>
#include <optional>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "text/model.h"
#include "text/utf8.h"
#include "text/word_cache.h"

namespace assay::text {
namespace {

constexpr uint32_t kNoRank = UINT32_MAX;
/// Up to this many symbols the next merge is found by looking at all pairs; beyond, with a heap.
constexpr size_t kShortWord = 24;

struct Merge {
  uint32_t rank = kNoRank, id = 0;
};

/// Pairs of ids to merges, open addressing.
class MergeTable {
 public:
  explicit MergeTable(size_t count) {
    size_t size = 16;
    while (size < count * 2) size *= 2, --shift_;
    keys_.resize(size, kFree);
    merges_.resize(size);
  }
  void set(uint32_t left, uint32_t right, Merge merge) {
    const uint64_t key = key_of(left, right);
    size_t i = slot(key);
    while (keys_[i] != kFree && keys_[i] != key) i = (i + 1) & (keys_.size() - 1);
    keys_[i] = key;
    merges_[i] = merge;
  }
  Merge get(uint32_t left, uint32_t right) const {
    const uint64_t key = key_of(left, right);
    for (size_t i = slot(key);; i = (i + 1) & (keys_.size() - 1)) {
      if (keys_[i] == key) return merges_[i];
      if (keys_[i] == kFree) return {};
    }
  }

 private:
  static constexpr uint64_t kFree = UINT64_MAX;  // would be the pair of two ids 2^32 - 1, which read_bpe refuses
  static uint64_t key_of(uint32_t left, uint32_t right) { return uint64_t{left} << 32 | right; }
  size_t slot(uint64_t key) const { return (key * 0x9E3779B97F4A7C15ULL) >> shift_; }

  int shift_ = 60;
  std::vector<uint64_t> keys_;
  std::vector<Merge> merges_;
};

struct Symbol {
  uint32_t id, length;
};

void merge_short(std::vector<Symbol>& word, const MergeTable& merges) {
  while (word.size() > 1) {
    Merge best;
    size_t where = 0;
    for (size_t i = 0; i + 1 < word.size(); ++i) {
      const Merge m = merges.get(word[i].id, word[i + 1].id);
      if (m.rank < best.rank) best = m, where = i;
    }
    if (best.rank == kNoRank) return;
    word[where] = {best.id, word[where].length + word[where + 1].length};
    word.erase(word.begin() + static_cast<std::ptrdiff_t>(where) + 1);
  }
}

void merge_long(std::vector<Symbol>& word, const MergeTable& merges) {
  struct Node {
    Symbol symbol;
    size_t previous, next;
    bool gone = false;
  };
  struct Candidate {
    uint32_t rank, id;
    size_t at;
    bool operator<(const Candidate& o) const { return rank != o.rank ? rank > o.rank : at > o.at; }
  };
  constexpr size_t kEnd = SIZE_MAX;
  std::vector<Node> nodes;
  nodes.reserve(word.size());
  for (size_t i = 0; i < word.size(); ++i)
    nodes.push_back({word[i], i == 0 ? kEnd : i - 1, i + 1 < word.size() ? i + 1 : kEnd});
  std::priority_queue<Candidate> queue;
  const auto offer = [&](size_t left) {
    if (left == kEnd || nodes[left].next == kEnd) return;
    const Merge m = merges.get(nodes[left].symbol.id, nodes[nodes[left].next].symbol.id);
    if (m.rank != kNoRank) queue.push({m.rank, m.id, left});
  };
  for (size_t i = 0; i + 1 < nodes.size(); ++i) offer(i);
  while (!queue.empty()) {
    const Candidate top = queue.top();
    queue.pop();
    Node& left = nodes[top.at];
    if (left.gone || left.next == kEnd) continue;
    Node& right = nodes[left.next];
    const Merge m = merges.get(left.symbol.id, right.symbol.id);
    if (m.rank == kNoRank || m.id != top.id) continue;  // the pair was merged otherwise meanwhile
    left.symbol = {top.id, left.symbol.length + right.symbol.length};
    left.next = right.next;
    right.gone = true;
    if (left.next != kEnd) nodes[left.next].previous = top.at;
    offer(left.previous);
    offer(top.at);
  }
  word.clear();
  for (const Node& node : nodes)
    if (!node.gone) word.push_back(node.symbol);
}

/// Byte pair encoding: characters (of a byte-level or plain vocabulary), merged lowest rank first, leftmost first.
class Bpe final : public Model {
 public:
  explicit Bpe(const JsonAt& json)
      : vocabulary_(Vocabulary::read(json.at("vocab"))),
        merges_(json.at("merges").array_size()),
        ignore_merges_(json.boolean_or("ignore_merges", false)),
        byte_fallback_(json.boolean_or("byte_fallback", false)),
        fuse_unknown_(json.boolean_or("fuse_unk", false)) {
    if (const auto dropout = json.find("dropout")) {
      if (!dropout->value().is_number()) dropout->bad("expected a number, found {}", dropout->value().type_name());
      require(dropout->value().get<double>() == 0, ErrorCode::kUnsupported,
              "{}: dropout makes encoding random; set it to null", dropout->path());
    }
    if (const auto member = json.find("unk_token")) {
      unknown_token_ = member->string();
      unknown_ = vocabulary_.id_of(*unknown_token_);
    }
    if (const auto member = json.find("continuing_subword_prefix")) prefix_ = member->string();
    if (const auto member = json.find("end_of_word_suffix")) suffix_ = member->string();
    if (byte_fallback_)
      for (unsigned b = 0; b < 256; ++b) fallback_[b] = vocabulary_.id_of(fmt::format("<0x{:02X}>", b));
    read_merges(json.at("merges"));
  }

  void tokenize(std::string_view word, std::vector<WordToken>& out) const override {
    if (ignore_merges_) {
      if (const auto id = vocabulary_.id_of(word)) {
        out.push_back({*id, {0, static_cast<uint32_t>(word.size())}});
        return;
      }
    }
    if (cache_->find(word, out)) return;
    std::vector<Symbol> symbols = start(word);
    if (symbols.size() <= kShortWord) {
      merge_short(symbols, merges_);
    } else {
      merge_long(symbols, merges_);
    }
    const size_t before = out.size();
    uint32_t at = 0;
    for (const Symbol& symbol : symbols) {
      out.push_back({symbol.id, {at, at + symbol.length}});
      at += symbol.length;
    }
    cache_->store(word, out.data() + before, out.size() - before);
  }

  const Vocabulary& vocabulary() const override { return vocabulary_; }

 private:
  uint32_t id_in_merge(const JsonAt& merge, std::string_view token) const {
    const auto id = vocabulary_.id_of(token);
    if (!id) merge.bad("token '{}' of a merge is not in the vocabulary", token);
    if (*id == UINT32_MAX) merge.bad("token '{}' has the id 2^32 - 1, which is reserved", token);
    return *id;
  }

  void read_merges(const JsonAt& json) {
    uint32_t rank = 0;
    std::string merged;
    for (const auto& element : json.value()) {
      std::string_view left, right;
      // The path is made only where something is wrong: there are hundreds of thousands of merges.
      const auto here = [&] {
        return JsonAt(element, fmt::format("{}[{}]", json.path(), &element - &json.value()[0]));
      };
      if (element.is_string()) {
        const std::string_view line = element.get_ref<const std::string&>();
        if (line.starts_with("#version")) continue;
        const size_t space = line.find(' ');
        if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos)
          here().bad("'{}' is not two tokens with a space between", line);
        left = line.substr(0, space);
        right = line.substr(space + 1);
      } else if (element.is_array() && element.size() == 2 && element[0].is_string() && element[1].is_string()) {
        left = element[0].get_ref<const std::string&>();
        right = element[1].get_ref<const std::string&>();
      } else {
        here().bad("expected a string or a pair of strings");
      }
      if (right.size() < prefix_.size()) here().bad("token '{}' is shorter than continuing_subword_prefix", right);
      merged.assign(left).append(right.substr(prefix_.size()));
      const JsonAt at(element, json.path());
      const uint32_t a = id_in_merge(at, left), b = id_in_merge(at, right);
      merges_.set(a, b, {rank++, id_in_merge(at, merged)});
    }
  }

  /// The word as symbols before any merge.
  std::vector<Symbol> start(std::string_view word) const {
    std::vector<Symbol> out;
    out.reserve(word.size());
    std::optional<Symbol> unknown;  // held back, to be fused with the next one
    std::string spelled;
    for (size_t at = 0; at < word.size();) {
      const uint32_t length = utf8_length(static_cast<unsigned char>(word[at]));
      std::string_view s = word.substr(at, length);
      const bool first = at == 0, last = at + length == word.size();
      at += length;
      if ((!first && !prefix_.empty()) || (last && !suffix_.empty())) {
        spelled = first ? std::string(s) : prefix_ + std::string(s);
        if (last) spelled += suffix_;
        s = spelled;
      }
      if (const auto id = vocabulary_.id_of(s)) {
        if (unknown) out.push_back(*std::exchange(unknown, std::nullopt));
        out.push_back({*id, length});
        continue;
      }
      if (byte_fallback_ && std::all_of(s.begin(), s.end(),
                                        [&](char c) { return fallback_[static_cast<unsigned char>(c)].has_value(); })) {
        for (const char c : s) out.push_back({*fallback_[static_cast<unsigned char>(c)], 1});
        continue;
      }
      if (!unknown_token_) continue;  // nothing can stand for it: it is left out
      if (!unknown_)
        fail(ErrorCode::kBadFile, "$.model: unk_token '{}' is not in the vocabulary, and '{}' needs it",
             *unknown_token_, s);
      if (unknown && fuse_unknown_) {
        unknown->length += length;
      } else {
        if (unknown) out.push_back(*unknown);
        unknown = Symbol{*unknown_, length};
      }
    }
    if (unknown) out.push_back(*unknown);
    return out;
  }

  Vocabulary vocabulary_;
  MergeTable merges_;
  bool ignore_merges_, byte_fallback_, fuse_unknown_;
  std::optional<std::string> unknown_token_;
  std::optional<uint32_t> unknown_;
  std::string prefix_, suffix_;
  std::array<std::optional<uint32_t>, 256> fallback_;
  std::unique_ptr<WordCache> cache_ = std::make_unique<WordCache>();
};

}  // namespace

std::unique_ptr<const Model> read_bpe(const JsonAt& json) { return std::make_unique<Bpe>(json); }

}  // namespace assay::text
