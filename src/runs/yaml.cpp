#include "runs/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <regex>
#include <sstream>

#include "base/error.h"
#include "base/file.h"

namespace assay::runs {
namespace {

class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  Json read(const YAML::Node& node, const std::string& path, int depth) {
    document.lines[path] = node.Mark().line + 1;
    if (depth > 32) fail_at(node, "is nested deeper than 32 levels");
    switch (node.Type()) {
      case YAML::NodeType::Null:
      case YAML::NodeType::Undefined:
        return nullptr;
      case YAML::NodeType::Scalar:
        return scalar(node);
      case YAML::NodeType::Sequence: {
        Json list = Json::array();
        for (size_t i = 0; i < node.size(); ++i)
          list.push_back(read(node[i], fmt::format("{}[{}]", path, i), depth + 1));
        return list;
      }
      case YAML::NodeType::Map: {
        Json map = Json::object();
        for (const auto& entry : node) {
          if (!entry.first.IsScalar()) fail_at(entry.first, "a key must be text");
          const std::string key = entry.first.Scalar();
          if (map.contains(key)) fail_at(entry.first, fmt::format("key '{}' is given twice", key));
          const std::string inner = path.empty() ? key : path + "." + key;
          map[key] = read(entry.second, inner, depth + 1);
          document.lines[inner] = entry.first.Mark().line + 1;
        }
        return map;
      }
    }
    return nullptr;
  }

  YamlDocument document;

 private:
  [[noreturn]] void fail_at(const YAML::Node& node, const std::string& message) const {
    throw Error(ErrorCode::kBadFile, message).at("line", std::to_string(node.Mark().line + 1)).at("file", file_);
  }

  // Plain scalars by the core schema; quoted ones are text.
  static Json scalar(const YAML::Node& node) {
    const std::string& text = node.Scalar();
    if (node.Tag() == "!") return text;
    if (text == "true" || text == "True" || text == "TRUE") return true;
    if (text == "false" || text == "False" || text == "FALSE") return false;
    if (text == "~" || text == "null" || text == "Null" || text == "NULL" || text == "None") return nullptr;
    static const std::regex kInteger("[-+]?[0-9]{1,18}");
    static const std::regex kFloat("[-+]?(\\.[0-9]+|[0-9]+(\\.[0-9]*)?)([eE][-+]?[0-9]{1,4})?");
    if (text.size() < 64 && std::regex_match(text, kInteger)) return std::strtoll(text.c_str(), nullptr, 10);
    if (text.size() < 64 && std::regex_match(text, kFloat)) return std::strtod(text.c_str(), nullptr);
    return text;
  }

  const std::string& file_;
};

// Looks at a document before it is built: yaml-cpp expands aliases in place, so that a short file could describe an
// endless one, and its LoadAll never ends where a document begins with a stray comma.
class DocumentCheck final : public YAML::EventHandler {
 public:
  explicit DocumentCheck(const std::string& file) : file_(file) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) refuse(mark, "holds more than one document, or a stray ',' at its beginning");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { refuse_anchor(mark, anchor); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override { refuse(mark, kNoAnchors); }
  void OnScalar(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                const std::string& /*value*/) override {
    refuse_anchor(mark, anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    refuse_anchor(mark, anchor);
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    refuse_anchor(mark, anchor);
  }
  void OnMapEnd() override {}

 private:
  static constexpr std::string_view kNoAnchors =
      "anchors and aliases are not used in run files; write the value out, or quote a text that begins with & or *";

  void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) const {
    if (anchor != YAML::NullAnchor) refuse(mark, kNoAnchors);
  }
  [[noreturn]] void refuse(const YAML::Mark& mark, std::string_view why) const {
    throw Error(ErrorCode::kBadFile, std::string(why)).at("line", std::to_string(mark.line + 1)).at("file", file_);
  }

  const std::string& file_;
  int documents_ = 0;
};

}  // namespace

int YamlDocument::line_of(std::string_view path) const {
  std::string p(path);
  for (;;) {
    if (const auto it = lines.find(p); it != lines.end()) return it->second;
    const size_t cut = p.find_last_of(".[");
    if (cut == std::string::npos) return 0;
    p.resize(cut);
  }
}

YamlDocument parse_yaml(std::string_view text, const std::string& file) {
  require(text.size() <= (1 << 20), ErrorCode::kResourceExhausted, "file '{}': a run file of more than 1 MiB", file);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    DocumentCheck check(file);
    while (parser.HandleNextDocument(check)) {
    }
    Reader reader(file);
    const YAML::Node document = YAML::Load(std::string(text));
    reader.document.value = document.IsDefined() ? reader.read(document, "", 0) : Json(nullptr);
    return std::move(reader.document);
  } catch (const YAML::Exception& e) {
    throw Error(ErrorCode::kBadFile, e.msg).at("line", std::to_string(e.mark.line + 1)).at("file", file);
  }
}

YamlDocument read_yaml(const std::filesystem::path& path) {
  return parse_yaml(read_text(path, 1 << 20), path.string());
}

}  // namespace assay::runs
