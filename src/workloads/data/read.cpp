#include "workloads/data/read.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/nearest.h"
#include "workloads/data/json_text.h"

namespace assay::workloads {
namespace {

namespace fs = std::filesystem;

constexpr DataFormat kFormats[] = {DataFormat::kAuto, DataFormat::kSquad,     DataFormat::kCsv,   DataFormat::kTsv,
                                   DataFormat::kJson, DataFormat::kJsonLines, DataFormat::kConll, DataFormat::kImages};

DataFormat format_of_name(const fs::path& path) {
  std::string end = path.extension().string();
  std::transform(end.begin(), end.end(), end.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (end == ".csv") return DataFormat::kCsv;
  if (end == ".tsv" || end == ".tab") return DataFormat::kTsv;
  if (end == ".json") return DataFormat::kJson;
  if (end == ".jsonl" || end == ".ndjson") return DataFormat::kJsonLines;
  if (end == ".conll" || end == ".conllu" || end == ".bio" || end == ".iob" || end == ".iob2")
    return DataFormat::kConll;
  fail(ErrorCode::kInvalidArgument,
       "the ending '{}' says nothing about the format; name one of squad, csv, tsv, json, jsonl, conll, images", end);
}

}  // namespace

std::string_view to_string(DataFormat format) {
  switch (format) {
    case DataFormat::kAuto:
      return "auto";
    case DataFormat::kSquad:
      return "squad";
    case DataFormat::kCsv:
      return "csv";
    case DataFormat::kTsv:
      return "tsv";
    case DataFormat::kJson:
      return "json";
    case DataFormat::kJsonLines:
      return "jsonl";
    case DataFormat::kConll:
      return "conll";
    case DataFormat::kImages:
      return "images";
  }
  return "unknown";
}

DataFormat data_format(std::string_view name) {
  std::vector<std::string> names;
  for (DataFormat f : kFormats) {
    if (name == to_string(f)) return f;
    names.emplace_back(to_string(f));
  }
  fail(ErrorCode::kInvalidArgument, "'{}' is no data format{}", name, nearest_hint(name, names));
}

Dataset parse_dataset(std::string_view text, const std::string& source, const ReadOptions& options) {
  require(text.size() <= options.max_bytes, ErrorCode::kResourceExhausted, "{} bytes are beyond the limit of {}",
          text.size(), options.max_bytes);
  require(options.max_rows >= 0, ErrorCode::kInvalidArgument, "max_rows is {}", options.max_rows);
  require(text.substr(0, 2) != "\xff\xfe" && text.substr(0, 2) != "\xfe\xff", ErrorCode::kBadFile,
          "the file is UTF-16; convert it to UTF-8");
  if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);
  switch (options.format) {
    case DataFormat::kSquad:
      return parse_squad(text, source, options);
    case DataFormat::kCsv:
    case DataFormat::kTsv:
      return parse_delimited(text, source, options);
    case DataFormat::kJson:
      return looks_like_squad(text) ? parse_squad(text, source, options) : parse_json_rows(text, source, options);
    case DataFormat::kJsonLines:
      return parse_json_lines(text, source, options);
    case DataFormat::kConll:
      return parse_conll(text, source, options);
    case DataFormat::kAuto:
    case DataFormat::kImages:
      break;
  }
  fail(ErrorCode::kInvalidArgument, "text cannot be read as format '{}'", to_string(options.format));
}

Dataset read_dataset(const fs::path& path, const ReadOptions& options) {
  try {
    std::error_code ignored;
    const bool folder = fs::is_directory(path, ignored);
    if (options.format == DataFormat::kImages || (folder && options.format == DataFormat::kAuto))
      return read_image_folder(path, options);
    require(!folder, ErrorCode::kInvalidArgument, "a folder cannot be read as format '{}'", to_string(options.format));
    ReadOptions chosen = options;
    if (chosen.format == DataFormat::kAuto) chosen.format = format_of_name(path);
    const std::string text = read_text(path, options.max_bytes);
    Dataset out = parse_dataset(text, path.string(), chosen);
    out.hash = hash_text(text);
    return out;
  } catch (Error& e) {
    if (std::string_view(e.what()).find(path.string()) == std::string_view::npos) e.at("file", path.string());
    throw;
  }
}

}  // namespace assay::workloads
