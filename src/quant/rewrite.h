#pragma once

#include "quant/calibration.h"
#include "quant/codes.h"

namespace assay::quant {

/// Writes the integer operators of dynamic quantization into the prepared model, as decided.
void rewrite_dynamic(Prepared& prepared, const Decisions& decisions, int threads);

/// Writes QuantizeLinear and DequantizeLinear pairs and weights as codes into the prepared model, as decided, with the
/// observed ranges. NotFound naming a tensor without a range. May turn a decision about a bias into a reason.
void rewrite_static(Prepared& prepared, Decisions& decisions, const Calibration& calibration, int threads);

/// A Gather from a quantized table: codes are gathered, then dequantized (per row by gathered scales).
void rewrite_gather(Prepared& prepared, CodeStore& store, const Decision& decision);

}  // namespace assay::quant
