#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "report/record.h"

namespace assay::report {

/// report.html: one self-contained page (no network, enforced by its content security policy). `plotly_js` is the text
/// of plotly.min.js, as the PyPI wheel `plotly` ships it in package_data/; when empty the page has its tables but no
/// plots.
std::string to_html(const Record& record, std::string_view plotly_js);

/// Writes results.json, report.md and report.html into `folder`, each atomically. `plotly_js_file` may be empty (no
/// plots). Returns the paths written. Throws NotFound when the script is not there.
std::vector<std::filesystem::path> write_reports(const Record& record, const std::filesystem::path& folder,
                                                 const std::filesystem::path& plotly_js_file);

}  // namespace assay::report
