#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "report/record.h"

namespace assay::report {

/// report.html: one self-contained page (no network, enforced by its content security policy). `plotly_js` is the text
/// of Plotly's script; when empty the page has its tables but no plots.
std::string to_html(const Record& record, std::string_view plotly_js);

/// Writes results.json, report.md and report.html (with plots) into `folder`, each atomically. Returns the paths
/// written.
std::vector<std::filesystem::path> write_reports(const Record& record, const std::filesystem::path& folder);

}  // namespace assay::report
