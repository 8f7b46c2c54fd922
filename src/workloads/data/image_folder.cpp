#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "workloads/data/read.h"

namespace assay::workloads {
namespace {

namespace fs = std::filesystem;

bool is_picture(const fs::path& path) {
  std::string end = path.extension().string();
  std::transform(end.begin(), end.end(), end.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return end == ".jpeg" || end == ".jpg" || end == ".png" || end == ".bmp" || end == ".webp";
}

/// Files named by a label file stay inside the folder.
std::string inside(const fs::path& folder, const std::string& name, int64_t line) {
  const fs::path relative = fs::path(name).lexically_normal();
  require(!name.empty() && relative.is_relative() && *relative.begin() != "..", ErrorCode::kBadFile,
          "line {}: '{}' is not a file inside the folder", line, name);
  return (folder / relative).string();
}

Dataset read_label_file(const fs::path& folder, const fs::path& file, const ReadOptions& options) {
  const std::string text = read_text(file, options.max_bytes);
  ReadOptions inner = options;
  inner.format = file.extension() == ".tsv" ? DataFormat::kTsv : DataFormat::kCsv;
  Dataset data = parse_dataset(text, file.string(), inner);
  data.format = "images";
  data.hash = hash_text(text);
  size_t column = data.columns.size();
  for (const char* name : {"file", "image", "file_name", "filename", "path"})
    if (column == data.columns.size() && data.has(name)) column = data.column(name);
  require(column < data.columns.size(), ErrorCode::kBadFile,
          "'{}' has no column 'file' (or image, file_name, filename, path)", file.string());
  data.columns[column] = "image";
  for (size_t r = 0; r < data.rows.size(); ++r)
    data.rows[r][column] = inside(folder, std::get<std::string>(data.rows[r][column]), data.lines[r]);
  return data;
}

Dataset from_label_file(const fs::path& folder, const fs::path& file, const ReadOptions& options) {
  try {
    return read_label_file(folder, file, options);
  } catch (Error& e) {
    throw e.at("label file", file.filename().string());
  }
}

Dataset from_subfolders(const fs::path& folder, const ReadOptions& options) {
  Dataset data;
  data.source = folder.string();
  data.format = "images";
  data.columns = {"image", "label"};
  std::vector<fs::path> classes;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_directory()) classes.push_back(entry.path());
  std::sort(classes.begin(), classes.end());
  std::string names;
  for (const fs::path& c : classes) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(c))
      if (entry.is_regular_file() && is_picture(entry.path())) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const fs::path& f : files) {
      if (options.max_rows > 0 && data.size() >= options.max_rows) break;
      data.rows.push_back({f.string(), c.filename().string()});
      names += f.string() + "\n";
    }
  }
  require(!data.rows.empty(), ErrorCode::kNotFound,
          "the folder has neither labels.csv nor subfolders of pictures, one a class");
  data.hash = hash_text(names);
  return data;
}

}  // namespace

Dataset read_image_folder(const fs::path& folder, const ReadOptions& options) {
  try {
    require(fs::is_directory(folder), ErrorCode::kNotFound, "no such folder");
    for (const char* name : {"labels.csv", "labels.tsv", "metadata.csv"})
      if (fs::exists(folder / name)) return from_label_file(folder, folder / name, options);
    return from_subfolders(folder, options);
  } catch (const fs::filesystem_error& e) {
    fail(ErrorCode::kBadFile, "{}", e.what());
  } catch (Error& e) {
    throw e.at("folder", folder.string());
  }
}

}  // namespace assay::workloads
