#pragma once

#include "models/encoder.h"

namespace assay {

/// The sizes that BERT and RoBERTa name alike. Unsupported for decoders and relative positions.
EncoderConfig bert_config(const Checkpoint& checkpoint);
/// `with_head` ("bert.") where the checkpoint's encoder names start so, else "".
std::string bert_prefix(const Checkpoint& checkpoint, std::string_view with_head);
/// Parameter names of encoder layer i.
LayerNames bert_layer_names(int64_t i);

}  // namespace assay
