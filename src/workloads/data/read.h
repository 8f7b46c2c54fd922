#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/data/dataset.h"

namespace assay::workloads {

enum class DataFormat { kAuto, kSquad, kCsv, kTsv, kJson, kJsonLines, kConll, kImages };

/// "auto", "squad", "csv", "tsv", "json", "jsonl", "conll", "images".
std::string_view to_string(DataFormat format);
/// The reverse; InvalidArgument naming the nearest.
DataFormat data_format(std::string_view name);

struct ReadOptions {
  DataFormat format = DataFormat::kAuto;
  /// Names for a CSV or TSV file without a header record.
  std::vector<std::string> columns = {};
  /// CSV, TSV: whether the first record holds the names. Absent: decided by looks, and said in a note.
  std::optional<bool> header = {};
  /// CSV, TSV: the separator, a comma or tab otherwise.
  std::optional<char> delimiter = {};
  /// RFC 4180 quotes. Absent: on for CSV, off for TSV, where a quote is a character like any other.
  std::optional<bool> quoting = {};
  /// CoNLL: the columns read; negative counts from the end.
  int word_column = 0, label_column = -1;
  /// Rows beyond are not read; 0: all.
  int64_t max_rows = 0;
  /// Files beyond are refused.
  size_t max_bytes = size_t{1} << 30;
};

/// Reads a data file, or a folder of pictures. The format is told by the name's ending, JSON's two shapes (SQuAD or
/// rows) by content. Throws NotFound, BadFile naming file, line, row or field, ResourceExhausted beyond a cap,
/// InvalidArgument for options that fit no file.
Dataset read_dataset(const std::filesystem::path& path, const ReadOptions& options = {});

/// The same from text already in memory; `source` stands in messages. kAuto and kImages are refused.
Dataset parse_dataset(std::string_view text, const std::string& source, const ReadOptions& options);

/// Articles of SQuAD v1.1 JSON, flattened: id, title, context, question, answers. A question without answers has none.
Dataset parse_squad(std::string_view text, const std::string& source, const ReadOptions& options);
/// CSV or TSV.
Dataset parse_delimited(std::string_view text, const std::string& source, const ReadOptions& options);
/// One JSON object a line; columns are the union of their keys, in order of first appearance.
Dataset parse_json_lines(std::string_view text, const std::string& source, const ReadOptions& options);
/// A JSON array of objects, or an object whose "data" is one.
Dataset parse_json_rows(std::string_view text, const std::string& source, const ReadOptions& options);
/// Word and label per line, separated by a tab or by spaces, blank line between sentences: columns "tokens" and
/// "ner_tags" (lists of text). Of several labels ("B-group,B-person") the first counts; a note says how often.
Dataset parse_conll(std::string_view text, const std::string& source, const ReadOptions& options);
/// The folder's labels.csv (or .tsv), whose file column becomes "image", the path; or, without one, a subfolder a class
/// ("image", "label").
Dataset read_image_folder(const std::filesystem::path& folder, const ReadOptions& options);

}  // namespace assay::workloads
