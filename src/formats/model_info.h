#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace assay {

/// What a model's folder says beside the weights: the facts that tasks need. Zero or empty where nothing says.
struct ModelInfo {
  std::string model_type;              ///< config.json: "bert", "distilbert", "roberta", ...
  std::string task;                    ///< "question-answering", "text-classification", "token-classification", ...
  std::string problem_type;            ///< "regression", "single_label_classification", ...
  std::vector<std::string> labels;     ///< by id
  int64_t vocab_size = 0;              ///< rows of the token table
  int64_t max_positions = 0;           ///< tokens a sequence may have
  int64_t type_vocab_size = 0;         ///< token types; 0 when the model takes none
  std::optional<int64_t> pad_id;       ///< config.json pad_token_id
  std::optional<bool> do_lower_case;   ///< tokenizer_config.json
  std::filesystem::path folder;        ///< where the model lies
  std::filesystem::path tokenizer;     ///< tokenizer.json, when it is there
  std::filesystem::path preprocessor;  ///< preprocessor_config.json, when it is there
};

/// Reads config.json, tokenizer_config.json and notes tokenizer.json and preprocessor_config.json of a folder; whatever
/// is absent leaves its fields empty. BadFile naming file and field for one that is there and malformed.
ModelInfo read_model_info(const std::filesystem::path& folder);

/// The facts that travel inside a converted file, as one metadata entry (JSON under "assay.model_info").
void put_model_info(const ModelInfo& info, std::map<std::string, std::string>& metadata);
/// Fills fields still empty from that entry, when it is there and well-formed.
void fill_model_info(const std::map<std::string, std::string>& metadata, ModelInfo& info);

}  // namespace assay
