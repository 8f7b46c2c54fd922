#include "text/model.h"

namespace assay::text {

std::unique_ptr<const Model> read_model(const JsonAt& json) {
  if (!json.find("type")) {  // files from before the types were written
    if (json.find("merges")) return read_bpe(json);
    if (json.find("max_input_chars_per_word")) return read_wordpiece(json);
  }
  const std::string& type = json.type();
  if (type == "WordPiece") return read_wordpiece(json);
  if (type == "BPE") return read_bpe(json);
  json.unsupported("model");
}

}  // namespace assay::text
