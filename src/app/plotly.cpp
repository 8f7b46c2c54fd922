#include "app/plotly.h"

#include "base/error.h"

namespace assay::app {
namespace fs = std::filesystem;

fs::path find_plotly(const std::string& given, const Environment& env) {
  if (!given.empty()) {
    require(fs::is_regular_file(given), ErrorCode::kNotFound, "no plotly.min.js at '{}'", given);
    return given;
  }
  std::error_code ec;
  for (fs::path start : {fs::current_path(ec), fs::path(env.executable_folder)})
    for (fs::path at = start; !at.empty(); at = at.parent_path()) {
      const fs::path lib = at / "build/venv/lib";
      if (fs::is_directory(lib, ec))
        for (const auto& python : fs::directory_iterator(lib, ec)) {
          const fs::path script = python.path() / "site-packages/plotly/package_data/plotly.min.js";
          if (fs::is_regular_file(script, ec)) return script;
        }
      if (at == at.root_path()) break;
    }
  env.progress.note("plotly.min.js is not installed (tools/setup.sh does): the HTML report has no plots");
  return {};
}

}  // namespace assay::app
