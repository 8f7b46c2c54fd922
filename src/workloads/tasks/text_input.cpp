#include "workloads/tasks/text_input.h"

#include <algorithm>

#include "base/error.h"

namespace assay::workloads {

PairTemplate pair_template(const text::Tokenizer& tokenizer) {
  const text::Encoding e = tokenizer.encode("a", "b");
  PairTemplate t;
  int stage = 0;  // 0 before the first text, 1 after it, 2 after the second
  for (size_t i = 0; i < e.size(); ++i) {
    const auto id = static_cast<int64_t>(e.ids[i]), type = static_cast<int64_t>(e.type_ids[i]);
    if (e.sequence_ids[i] == 0) {
      t.first_type = type;
      stage = 1;
    } else if (e.sequence_ids[i] == 1) {
      require(stage >= 1, ErrorCode::kUnsupported, "the tokenizer puts the second text first");
      t.second_type = type;
      stage = 2;
    } else {
      auto& ids = stage == 0 ? t.prefix : stage == 1 ? t.middle : t.suffix;
      auto& types = stage == 0 ? t.prefix_types : stage == 1 ? t.middle_types : t.suffix_types;
      ids.push_back(id);
      types.push_back(type);
    }
  }
  require(stage == 2, ErrorCode::kUnsupported, "the tokenizer gives no token for the letters a and b");
  return t;
}

std::shared_ptr<const text::Tokenizer> task_tokenizer(const TaskSetup& setup) {
  if (setup.tokenizer) return setup.tokenizer;
  require(!setup.info.tokenizer.empty(), ErrorCode::kNotFound,
          "no tokenizer.json lies in '{}' or travels in the model; text tasks need the one it was trained with "
          "(--tokenizer FILE)",
          setup.info.folder.string());
  const SideFile& file = setup.info.tokenizer;
  return std::make_shared<const text::Tokenizer>(file.text.empty() ? text::Tokenizer::load(file.path)
                                                                   : text::Tokenizer::parse(file.text));
}

int64_t task_max_length(const TaskSetup& setup, int64_t usual) {
  const int64_t positions = setup.info.max_positions;
  if (setup.max_length) {
    require(*setup.max_length >= 1, ErrorCode::kInvalidArgument, "a maximum length of {} tokens holds nothing",
            *setup.max_length);
    require(positions <= 0 || *setup.max_length <= positions, ErrorCode::kInvalidArgument,
            "rows of up to {} tokens were asked for, the model has {} positions", *setup.max_length, positions);
    return *setup.max_length;
  }
  if (positions <= 0) return usual;
  return usual > 0 ? std::min(usual, positions) : positions;
}

void check_ids(const Feature& feature, int64_t vocab_size) {
  if (vocab_size <= 0) return;
  for (int64_t id : feature.ids)
    require(id < vocab_size, ErrorCode::kInvalidArgument,
            "the tokenizer gives token {}, the model's table has {} rows: this is another model's tokenizer", id,
            vocab_size);
}

Feature text_feature(const text::Encoding& encoding, int64_t vocab_size) {
  Feature f;
  f.ids.assign(encoding.ids.begin(), encoding.ids.end());
  f.type_ids.assign(encoding.type_ids.begin(), encoding.type_ids.end());
  require(!f.ids.empty(), ErrorCode::kInvalidArgument, "the text gives no tokens");
  check_ids(f, vocab_size);
  return f;
}

std::string describe(const std::vector<Port>& outputs) {
  std::string out;
  for (const Port& p : outputs) {
    out += out.empty() ? "'" : ", '";
    out += p.name + "'";
    if (!p.type.dims) continue;
    std::string dims;
    for (const Dim& d : *p.type.dims)
      dims += (dims.empty() ? "" : ",") + (d.known() ? std::to_string(d.size) : d.symbol.empty() ? "?" : d.symbol);
    out += " [" + dims + "]";
  }
  return out.empty() ? "none" : out;
}

size_t find_output(const std::vector<Port>& outputs, std::string_view name, size_t rank) {
  std::vector<size_t> fitting;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].name.substr(0, outputs[i].name.find(':')) == name) return i;
    if (outputs[i].type.dims && outputs[i].type.dims->size() == rank) fitting.push_back(i);
  }
  if (outputs.size() == 1) return 0;
  require(fitting.size() == 1, ErrorCode::kInvalidArgument,
          "the task reads an output '{}' of rank {}; the model's outputs are {}", name, rank, describe(outputs));
  return fitting[0];
}

int64_t task_pad_id(const TaskSetup& setup, const text::Tokenizer& tokenizer) {
  if (setup.info.pad_id && *setup.info.pad_id >= 0) return *setup.info.pad_id;
  return tokenizer.padding() ? static_cast<int64_t>(tokenizer.padding()->id) : 0;
}

}  // namespace assay::workloads
