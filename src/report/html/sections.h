#pragma once

#include <string>

#include "report/record.h"

namespace assay::report {

// The parts of report.html in the order of the page. Each gives a whole <section> (or the header), or "" when the
// record has nothing to show in it.

std::string html_header(const Record& record);
/// Tiles of the highlights, then what failed and what must be known.
std::string html_summary(const Record& record);
/// Controls and places of the two plots; report.js draws them.
std::string html_plots(const Record& record);
std::string html_metrics(const Record& record);
std::string html_speed_up(const Record& record);
std::string html_time(const Record& record);
std::string html_nodes(const Record& record);
std::string html_machine(const Record& record);

}  // namespace assay::report
