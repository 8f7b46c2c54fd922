#include "runs/yaml.h"

#include <yaml-cpp/yaml.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <regex>

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

// yaml-cpp expands aliases in place: a short file could describe an endless one.
void refuse_anchors(std::string_view text, const std::string& file) {
  int line = 1;
  bool fresh = true;  // at the start of a token
  bool comment = false;
  char quote = 0;
  for (const char c : text) {
    if (c == '\n') {
      ++line;
      fresh = true;
      comment = false;
      continue;
    }
    if (comment) continue;
    if (quote != 0) {
      if (c == quote) quote = 0;
      continue;
    }
    if (fresh && (c == '"' || c == '\'')) {
      quote = c;
    } else if (fresh && c == '#') {
      comment = true;
    } else if (fresh && (c == '&' || c == '*')) {
      throw Error(
          ErrorCode::kBadFile,
          "anchors and aliases are not used in run files; write the value out, or quote a text that begins with & or *")
          .at("line", std::to_string(line))
          .at("file", file);
    }
    fresh = c == ' ' || c == '[' || c == ',' || c == '{' || c == '\t';
  }
}

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
  refuse_anchors(text, file);
  try {
    Reader reader(file);
    const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text));
    if (documents.size() > 1) throw Error(ErrorCode::kBadFile, "holds more than one document").at("file", file);
    reader.document.value = documents.empty() ? Json(nullptr) : reader.read(documents[0], "", 0);
    return std::move(reader.document);
  } catch (const YAML::Exception& e) {
    throw Error(ErrorCode::kBadFile, e.msg).at("line", std::to_string(e.mark.line + 1)).at("file", file);
  }
}

YamlDocument read_yaml(const std::filesystem::path& path) {
  return parse_yaml(read_text(path, 1 << 20), path.string());
}

}  // namespace assay::runs
