#pragma once

#include <string_view>

namespace assay::report {

/// The page's own style sheet and script (src/report/html/report.css and .js), compiled in as text.
std::string_view html_css();
std::string_view html_js();
/// Plotly's script (plotly.min.js of the PyPI wheel).
std::string_view html_plotly();

}  // namespace assay::report
