#pragma once

#include <filesystem>
#include <string>

#include "app/command.h"

namespace assay::app {

/// plotly.min.js: `given` when not empty, else from the Python environment that set-up makes, looked for from the
/// working directory and from the binary upwards. An empty path (and a note that the report has no plots) when it is
/// nowhere.
std::filesystem::path find_plotly(const std::string& given, const Environment& env);

}  // namespace assay::app
