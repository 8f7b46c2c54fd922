// Holds the tokenizers against the `tokenizers` package, on thousands of lines that tests/text/make_goldens.py makes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace assay::text {
namespace {

namespace fs = std::filesystem;
constexpr uint32_t kRefused = 0xFFFFFFFF;

class Reader {
 public:
  explicit Reader(const fs::path& path) : bytes_(read_text(path)) {}
  bool done() const { return at_ == bytes_.size(); }
  uint32_t u32() {
    uint32_t value = 0;
    if (at_ + 4 > bytes_.size()) throw std::runtime_error("golden file ends early");
    std::memcpy(&value, bytes_.data() + at_, 4);
    at_ += 4;
    return value;
  }
  std::string text() {
    const uint32_t size = u32();
    std::string out = bytes_.substr(at_, size);
    at_ += size;
    return out;
  }

 private:
  std::string bytes_;
  size_t at_ = 0;
};

/// Makes the goldens once for each version of the script; empty with a reason where that is impossible.
fs::path goldens(std::string& reason) {
  const fs::path root = ASSAY_SOURCE_DIR, python = root / "build/venv/bin/python",
                 script = root / "tests/text/make_goldens.py", model = root / "models/minilm-l6-squad/tokenizer.json";
  if (!fs::exists(python)) {
    reason = "build/venv is absent (make setup)";
    return {};
  }
  if (!fs::exists(model)) {
    reason = "models/minilm-l6-squad is absent";
    return {};
  }
  const fs::path out = root / "build/text-goldens" / hash_text(read_text(script) + read_text(model)).hex();
  if (fs::exists(out / "names.txt")) return out;
  const std::string command = "'" + python.string() + "' '" + script.string() + "' '" + out.string() + "' --model '" +
                              model.string() + "' --lines 5200";
  if (std::system(command.c_str()) != 0) reason = "make_goldens.py failed (is the tokenizers package in build/venv?)";
  return reason.empty() ? out : fs::path();
}

/// The flat form that the golden file holds: per token id, type, mask, begin, end, word + 1.
std::vector<uint32_t> flat(const Encoding& e) {
  std::vector<uint32_t> out{static_cast<uint32_t>(e.size())};
  for (size_t i = 0; i < e.size(); ++i) {
    out.insert(out.end(), {e.ids[i], e.type_ids[i], e.special_tokens_mask[i], e.offsets[i].begin, e.offsets[i].end,
                           static_cast<uint32_t>(e.word_ids[i] + 1)});
  }
  return out;
}

std::vector<uint32_t> read_encoding(Reader& reader) {
  std::vector<uint32_t> out{reader.u32()};
  for (uint32_t i = 0; i < 6 * out[0]; ++i) out.push_back(reader.u32());
  return out;
}

std::string show(const std::vector<uint32_t>& encoding) {
  std::ostringstream out;
  for (size_t i = 1; i < encoding.size() && i < 400; ++i) out << encoding[i] << (i % 6 == 0 ? "\n" : " ");
  return out.str();
}

/// Byte offsets must name the same characters as code point offsets.
void check_byte_offsets(const Encoding& e, const std::vector<std::string_view>& texts) {
  for (size_t i = 0; i < e.size(); ++i) {
    if (e.sequence_ids[i] < 0) continue;
    const std::string_view text = texts.at(static_cast<size_t>(e.sequence_ids[i]));
    const Span bytes = e.byte_offsets[i];
    ASSERT_LE(bytes.begin, bytes.end);
    ASSERT_LE(bytes.end, text.size());
    ASSERT_EQ(to_code_points(text.substr(0, bytes.begin)).size(), e.offsets[i].begin);
    ASSERT_EQ(to_code_points(text.substr(bytes.begin, bytes.end - bytes.begin)).size(),
              e.offsets[i].end - e.offsets[i].begin);
  }
}

// ggml-org/llama.cpp#5496, #2810, #7036, #23252 and their kind: WordPiece cased and uncased, byte-level BPE behind
// every pattern that models use, on thousands of lines of every script.
TEST(TokenizerParity, EqualsTheTokenizersPackage) {
  std::string reason;
  const fs::path folder = goldens(reason);
  if (folder.empty()) GTEST_SKIP() << "left out: " << reason;

  Reader line_reader(folder / "lines.bin");
  std::vector<std::string> lines(line_reader.u32());
  for (std::string& line : lines) line = line_reader.text();
  ASSERT_GE(lines.size(), 5000U);

  std::istringstream names(read_text(folder / "names.txt"));
  size_t tokenizers = 0, records = 0, windows_seen = 0, refusals = 0;
  for (std::string name; names >> name; ++tokenizers) {
    SCOPED_TRACE(name);
    const Tokenizer tokenizer = Tokenizer::load(folder / (name + ".json"));
    Reader reader(folder / (name + ".bin"));
    size_t wrong = 0;
    while (!reader.done() && wrong < 5) {
      ++records;
      const uint32_t kind = reader.u32();
      if (kind == 1) {
        const bool skip = reader.u32() != 0;
        std::vector<uint32_t> ids(reader.u32());
        for (uint32_t& id : ids) id = reader.u32();
        const std::string expected = reader.text(), got = tokenizer.decode(ids, skip);
        if (got != expected) ++wrong;
        EXPECT_EQ(got, expected);
        continue;
      }
      const uint32_t line = reader.u32(), partner = reader.u32();
      EncodeOptions options;
      options.add_special_tokens = reader.u32() != 0;
      const uint32_t strategy = reader.u32(), length = reader.u32(), stride = reader.u32(), side = reader.u32();
      if (length > 0)
        options.truncation = Truncation{length, stride, static_cast<TruncationStrategy>(strategy),
                                        side != 0 ? Side::kLeft : Side::kRight};
      const uint32_t count = reader.u32();
      std::vector<std::vector<uint32_t>> expected;
      for (uint32_t i = 0; count != kRefused && i < count; ++i) expected.push_back(read_encoding(reader));
      std::vector<Encoding> got;
      bool refused = false;
      try {
        got = take_windows(partner == 0 ? tokenizer.encode(lines[line], options)
                                        : tokenizer.encode(lines[line], lines[partner - 1], options));
      } catch (const Error& e) {
        refused = true;
        if (count != kRefused) ADD_FAILURE() << e.what();
      }
      refusals += count == kRefused;
      windows_seen += got.size();
      bool same = refused == (count == kRefused) && got.size() == expected.size();
      std::vector<std::string_view> texts{lines[line]};
      if (partner > 0) texts.push_back(lines[partner - 1]);
      for (size_t i = 0; i < got.size() && same; ++i) {
        same = flat(got[i]) == expected[i];
        if (got[i].size() < 2000) {
          ASSERT_NO_FATAL_FAILURE(check_byte_offsets(got[i], texts));
        }
        if (!same) ADD_FAILURE() << "window " << i << "\n" << show(flat(got[i])) << "expected\n" << show(expected[i]);
      }
      if (same) continue;
      ++wrong;
      ADD_FAILURE() << "line " << line << " partner " << partner << " special " << options.add_special_tokens
                    << " strategy " << strategy << " length " << length << " stride " << stride << " side " << side
                    << " refused " << refused << " windows " << got.size() << " expected "
                    << static_cast<int64_t>(count) << "\n"
                    << lines[line].substr(0, 600) << "\n--\n"
                    << (partner > 0 ? lines[partner - 1].substr(0, 600) : "");
    }
    EXPECT_EQ(wrong, 0U);
  }
  EXPECT_GE(tokenizers, 13U);
  EXPECT_GE(windows_seen, 50000U);
  EXPECT_GT(refusals, 0U);
  RecordProperty("records", std::to_string(records));
}

}  // namespace
}  // namespace assay::text
