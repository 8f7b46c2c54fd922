#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "workloads/data/dataset.h"

namespace assay::workloads {

/// Parses JSON of bounded depth (64). BadFile with the parser's position and reason; `first_line` shifts its line
/// count.
nlohmann::json parse_json(std::string_view text, int64_t first_line = 1);

/// Whether a JSON text is SQuAD's: an object whose "data" holds articles with "paragraphs". Decided from the beginning
/// of the text, without parsing all of it.
bool looks_like_squad(std::string_view text);

/// A JSON value as a cell: {"text": [...], "answer_start": [...]} becomes Answers; other objects and lists of mixed
/// kinds become their JSON text.
Cell cell_of_json(const nlohmann::json& value);

/// "string", "object", ...: for messages.
std::string kind_of(const nlohmann::json& value);

}  // namespace assay::workloads
