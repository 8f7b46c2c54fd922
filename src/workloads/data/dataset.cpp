#include "workloads/data/dataset.h"

#include <algorithm>

#include "base/error.h"
#include "base/nearest.h"

namespace assay::workloads {
namespace {

std::string list(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& n : names) out += (out.empty() ? "'" : ", '") + n + "'";
  return out;
}

size_t first_present(const Dataset& data, std::string_view role, const std::vector<std::string>& usual) {
  for (const std::string& name : usual)
    if (data.has(name)) return data.column(name);
  fail(ErrorCode::kNotFound, "'{}' has no column for {} (looked for {}); its columns are {}: name one in {}",
       data.source, role, list(usual), list(data.columns), role == "the reference" ? "ref_keys" : "data_keys");
}

}  // namespace

bool Dataset::has(std::string_view name) const {
  return std::find(columns.begin(), columns.end(), name) != columns.end();
}

size_t Dataset::column(std::string_view name) const {
  const auto it = std::find(columns.begin(), columns.end(), name);
  require(it != columns.end(), ErrorCode::kInvalidArgument, "'{}' has no column '{}'{}", source, name,
          nearest_hint(name, columns));
  return static_cast<size_t>(it - columns.begin());
}

const std::string& Dataset::text(int64_t row, size_t column_index) const {
  const auto* s = std::get_if<std::string>(&at(row, column_index));
  require(s != nullptr, ErrorCode::kBadFile, "'{}', {}: column '{}' should hold text", source, where(row),
          columns[column_index]);
  return *s;
}

std::string Dataset::where(int64_t row) const {
  const auto i = static_cast<size_t>(row);
  if (i < lines.size()) return fmt::format("row {} (line {})", row, lines[i]);
  return fmt::format("row {}", row);
}

size_t data_column(const Dataset& data, const DataKeys& keys, std::string_view role,
                   const std::vector<std::string>& usual) {
  const auto it = keys.data.find(role);
  if (it != keys.data.end() && !it->second.empty()) return data.column(it->second);
  return first_present(data, fmt::format("'{}'", role), usual);
}

size_t ref_column(const Dataset& data, const DataKeys& keys, const std::vector<std::string>& usual) {
  require(keys.ref.size() <= 1, ErrorCode::kInvalidArgument, "ref_keys names {} columns, a task has one reference",
          keys.ref.size());
  if (!keys.ref.empty()) return data.column(keys.ref.front());
  return first_present(data, "the reference", usual);
}

void check_roles(const DataKeys& keys, const std::vector<std::string>& roles) {
  for (const auto& [role, name] : keys.data)
    require(std::find(roles.begin(), roles.end(), role) != roles.end() || name.empty(), ErrorCode::kInvalidArgument,
            "data_keys holds '{}', which this task does not read{}", role, nearest_hint(role, roles));
}

}  // namespace assay::workloads
