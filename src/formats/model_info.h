#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace assay {

/// A file that a model needs beside its weights: where it lies, or its text where that travels inside the model.
struct SideFile {
  SideFile() = default;
  SideFile(std::filesystem::path where) : path(std::move(where)) {}
  std::filesystem::path path;
  std::string text;  ///< when not empty it counts, not the path

  bool empty() const { return path.empty() && text.empty(); }
};

/// What a model's folder says beside the weights: the facts that tasks need. Zero or empty where nothing says.
struct ModelInfo {
  std::string model_type;             ///< config.json: "bert", "distilbert", "roberta", ...
  std::string task;                   ///< "question-answering", "text-classification", "token-classification", ...
  std::string problem_type;           ///< "regression", "single_label_classification", ...
  std::vector<std::string> labels;    ///< by id
  int64_t vocab_size = 0;             ///< rows of the token table
  int64_t max_positions = 0;          ///< tokens a sequence may have
  int64_t type_vocab_size = 0;        ///< token types; 0 when the model takes none
  std::optional<int64_t> pad_id;      ///< config.json pad_token_id
  std::optional<bool> do_lower_case;  ///< tokenizer_config.json
  std::filesystem::path folder;       ///< where the model lies
  SideFile tokenizer;                 ///< tokenizer.json, when there is one
  SideFile preprocessor;              ///< preprocessor_config.json, when there is one
};

/// Reads config.json, tokenizer_config.json and notes tokenizer.json and preprocessor_config.json of a folder; whatever
/// is absent leaves its fields empty. BadFile naming file and field for one that is there and malformed.
ModelInfo read_model_info(const std::filesystem::path& folder);

/// Puts the facts into a model's metadata, with the text of tokenizer and preprocessor, so that a converted or
/// quantized file can be evaluated wherever it goes.
void put_model_info(const ModelInfo& info, std::map<std::string, std::string>& metadata);
/// Takes them from there, where they are and well-formed: what travels inside a file comes before what lies beside it.
void take_model_info(const std::map<std::string, std::string>& metadata, ModelInfo& info);

}  // namespace assay
