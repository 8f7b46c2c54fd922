#pragma once

#include <memory>

#include "text/json_reader.h"
#include "text/pattern.h"

namespace assay::text {

/// {"String": s} or {"Regex": r}, as Replace and Split hold it. Throws BadFile with the JSON path.
std::unique_ptr<const Pattern> read_pattern(const JsonAt& json);

}  // namespace assay::text
