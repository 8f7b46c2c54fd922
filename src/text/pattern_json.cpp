#include "text/pattern_json.h"

namespace assay::text {

std::unique_ptr<const Pattern> read_pattern(const JsonAt& json) {
  if (const auto literal = json.find("String")) return literal_pattern(literal->string());
  const JsonAt regex = json.at("Regex");
  try {
    return regex_pattern(regex.string());
  } catch (const Error& e) {
    throw Error(e.code(), fmt::format("{}: {}", regex.path(), e.message()));
  }
}

}  // namespace assay::text
