#include "report/html.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "report/seed_card_test.h"

namespace assay::report {
namespace {

TEST(Html, Writes) {
  write_reports(full_record(), std::filesystem::path(testing::TempDir()) / "assay_report",
                ASSAY_SOURCE_DIR "/build/venv/lib/python3.11/site-packages/plotly/package_data/plotly.min.js");
}

}  // namespace
}  // namespace assay::report
