#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace assay::runs {

using Json = nlohmann::ordered_json;

/// A YAML document as JSON, with the line each value stands on, by path ("dataset.eval_split", "batch_sizes[1]").
struct YamlDocument {
  Json value;
  std::map<std::string, int> lines;

  /// The line of a path, or of the nearest enclosing one that is known; 0 when none is.
  int line_of(std::string_view path) const;
};

/// Reads one document of plain YAML: maps with text keys, lists, scalars typed by the YAML 1.2 core schema. BadFile
/// names file and line for a syntax error, a key given twice, an anchor, or nesting beyond 32.
YamlDocument parse_yaml(std::string_view text, const std::string& file);
YamlDocument read_yaml(const std::filesystem::path& path);

}  // namespace assay::runs
