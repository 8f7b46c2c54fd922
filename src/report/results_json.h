#pragma once

#include <filesystem>
#include <string_view>

#include "report/record.h"

namespace assay::report {

/// Version of the layout of results.json; raised when a reader of the old one would misread the new one.
inline constexpr int kSchemaVersion = 1;

/// The record as results.json holds it (docs/schema/results.schema.json): the run's own fields, and under "runs" one
/// complete Optimum output body for each cell with our additions.
Json to_json(const Record& record);
/// One timing with Optimum's keys and ours; a percentile without support is null and named in "percentiles_needed".
Json to_json(const Timing& timing);

/// The inverse of to_json. Throws BadFile naming the field when the text is no JSON, of a newer layout, or a field is
/// absent or of the wrong type. Unknown fields are ignored.
Record record_from_json(const Json& json);
Timing timing_from_json(const Json& json);
Record parse_results(std::string_view text);
/// parse_results of a results.json, or of the one in a folder; errors name the file.
Record read_results(const std::filesystem::path& file_or_folder);

}  // namespace assay::report
