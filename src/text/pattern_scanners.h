#pragma once

#include <memory>
#include <string_view>

#include "text/pattern.h"

namespace assay::text {

/// A hand-written scanner for one of the expressions that published byte-level BPE models share, or null.
std::unique_ptr<const Pattern> scanner_pattern(std::string_view expression);

}  // namespace assay::text
