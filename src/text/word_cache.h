#pragma once

#include <array>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "text/model.h"

namespace assay::text {

/// Remembers how words were cut. Bounded, and safe to use from many threads: words are spread over shards with a lock
/// each.
class WordCache {
 public:
  /// Appends the tokens of a remembered word; false where there is none.
  bool find(std::string_view word, std::vector<WordToken>& out) const {
    const Shard& shard = shard_of(word);
    const std::lock_guard lock(shard.mutex);
    const auto it = shard.words.find(word);
    if (it == shard.words.end()) return false;
    out.insert(out.end(), it->second.begin(), it->second.end());
    return true;
  }
  /// Remembers a word unless it is long or its shard is full.
  void store(std::string_view word, const WordToken* tokens, size_t count) const {
    if (word.size() > kLongestWord) return;
    const Shard& shard = shard_of(word);
    const std::lock_guard lock(shard.mutex);
    if (shard.words.size() < kWordsPerShard) shard.words.try_emplace(std::string(word), tokens, tokens + count);
  }

 private:
  static constexpr size_t kShards = 16;
  static constexpr size_t kWordsPerShard = 2048;
  static constexpr size_t kLongestWord = 128;

  struct Shard {
    mutable std::mutex mutex;
    mutable StringMap<std::vector<WordToken>> words;
  };
  const Shard& shard_of(std::string_view word) const { return shards_[(StringHash{}(word) >> 56) % kShards]; }

  std::array<Shard, kShards> shards_;
};

}  // namespace assay::text
