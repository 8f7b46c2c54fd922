#include "formats/model_info.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"

namespace assay {
namespace {

using Json = nlohmann::json;

constexpr size_t kConfigLimit = size_t{1} << 24;
constexpr const char* kEntry = "assay.model_info";
constexpr const char* kTokenizerEntry = "assay.tokenizer";
constexpr const char* kPreprocessorEntry = "assay.preprocessor";
constexpr size_t kSideFileLimit = size_t{1} << 26;

Json read_json(const std::filesystem::path& path) {
  try {
    Json json = Json::parse(read_text(path, kConfigLimit));
    require(json.is_object(), ErrorCode::kBadFile, "is not a JSON object");
    return json;
  } catch (const Json::exception& e) {
    throw Error(ErrorCode::kBadFile, fmt::format("is not valid JSON: {}", e.what())).at("file", path.string());
  } catch (Error& e) {
    throw e.at("file", path.string());
  }
}

/// The integer under the first of `keys` that is there and not null.
std::optional<int64_t> integer(const Json& json, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    const auto it = json.find(key);
    if (it == json.end() || it->is_null()) continue;
    require(it->is_number_integer(), ErrorCode::kBadFile, "'{}' is not an integer", key);
    return it->get<int64_t>();
  }
  return std::nullopt;
}

std::string text(const Json& json, const char* key) {
  const auto it = json.find(key);
  if (it == json.end() || it->is_null()) return {};
  require(it->is_string(), ErrorCode::kBadFile, "'{}' is not a string", key);
  return it->get<std::string>();
}

std::vector<std::string> labels_of(const Json& json) {
  const auto it = json.find("id2label");
  if (it == json.end() || it->is_null()) return {};
  require(it->is_object(), ErrorCode::kBadFile, "'id2label' is not an object");
  std::vector<std::string> labels(it->size());
  std::vector<bool> seen(it->size());
  for (const auto& [key, value] : it->items()) {
    size_t id = labels.size();
    if (!key.empty() && key.size() <= 9 && key.find_first_not_of("0123456789") == std::string::npos)
      id = std::stoul(key);
    require(id < labels.size() && !seen[id] && value.is_string(), ErrorCode::kBadFile,
            "id2label: '{}' is not one of the ids 0 to {}, or has no text", key, labels.size() - 1);
    seen[id] = true;
    labels[id] = value.get<std::string>();
  }
  return labels;
}

std::string task_of(const Json& json) {
  const auto it = json.find("architectures");
  if (it == json.end() || !it->is_array() || it->empty() || !it->front().is_string()) return {};
  const auto name = it->front().get<std::string>();
  const std::pair<std::string_view, std::string_view> suffixes[] = {
      {"ForQuestionAnswering", "question-answering"},
      {"ForSequenceClassification", "text-classification"},
      {"ForTokenClassification", "token-classification"},
      {"ForImageClassification", "image-classification"},
      {"ForMaskedLM", "fill-mask"},
      {"ForCausalLM", "text-generation"},
      {"Model", "feature-extraction"}};
  for (const auto& [suffix, task] : suffixes)
    if (name.size() > suffix.size() && name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0)
      return std::string(task);
  return {};
}

void read_config(const Json& json, ModelInfo& info) {
  info.model_type = text(json, "model_type");
  info.task = task_of(json);
  info.problem_type = text(json, "problem_type");
  info.labels = labels_of(json);
  info.vocab_size = integer(json, {"vocab_size"}).value_or(0);
  info.max_positions = integer(json, {"max_position_embeddings", "n_positions"}).value_or(0);
  info.type_vocab_size = integer(json, {"type_vocab_size"}).value_or(0);
  info.pad_id = integer(json, {"pad_token_id"});
  // RoBERTa counts positions from the one after the padding id.
  if (info.model_type == "roberta" && info.max_positions > 0) info.max_positions -= info.pad_id.value_or(1) + 1;
}

}  // namespace

ModelInfo read_model_info(const std::filesystem::path& folder) {
  ModelInfo info;
  info.folder = folder;
  const auto config = folder / "config.json";
  const auto with = [](const std::filesystem::path& path, const auto& fn) {
    if (!std::filesystem::exists(path)) return;
    const Json json = read_json(path);
    try {
      fn(json);
    } catch (Error& e) {
      throw e.at("file", path.string());
    }
  };
  with(config, [&](const Json& json) { read_config(json, info); });
  with(folder / "tokenizer_config.json", [&](const Json& json) {
    const auto it = json.find("do_lower_case");
    if (it != json.end() && it->is_boolean()) info.do_lower_case = it->get<bool>();
  });
  if (std::filesystem::exists(folder / "tokenizer.json")) info.tokenizer = SideFile(folder / "tokenizer.json");
  if (std::filesystem::exists(folder / "preprocessor_config.json"))
    info.preprocessor = SideFile(folder / "preprocessor_config.json");
  return info;
}

void put_model_info(const ModelInfo& info, std::map<std::string, std::string>& metadata) {
  Json json = {{"model_type", info.model_type},          {"task", info.task},
               {"problem_type", info.problem_type},      {"labels", info.labels},
               {"vocab_size", info.vocab_size},          {"max_positions", info.max_positions},
               {"type_vocab_size", info.type_vocab_size}};
  if (info.pad_id) json["pad_id"] = *info.pad_id;
  metadata[kEntry] = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  for (const auto& [key, file] :
       {std::pair{kTokenizerEntry, &info.tokenizer}, {kPreprocessorEntry, &info.preprocessor}})
    if (!file->empty()) metadata[key] = file->text.empty() ? read_text(file->path, kSideFileLimit) : file->text;
}

void take_model_info(const std::map<std::string, std::string>& metadata, ModelInfo& info) {
  for (const auto& [key, file] :
       {std::pair{kTokenizerEntry, &info.tokenizer}, {kPreprocessorEntry, &info.preprocessor}})
    if (const auto it = metadata.find(key); it != metadata.end()) file->text = it->second;
  const auto it = metadata.find(kEntry);
  if (it == metadata.end()) return;
  const Json json = Json::parse(it->second, nullptr, false);
  if (!json.is_object()) return;
  try {
    const auto take_text = [&](const char* key, std::string& field) {
      if (std::string found = text(json, key); !found.empty()) field = std::move(found);
    };
    const auto take_number = [&](const char* key, int64_t& field) {
      if (const int64_t found = integer(json, {key}).value_or(0); found != 0) field = found;
    };
    take_text("model_type", info.model_type);
    take_text("task", info.task);
    take_text("problem_type", info.problem_type);
    if (json.contains("labels") && !json["labels"].empty())
      info.labels = json["labels"].get<std::vector<std::string>>();
    take_number("vocab_size", info.vocab_size);
    take_number("max_positions", info.max_positions);
    take_number("type_vocab_size", info.type_vocab_size);
    if (const auto pad = integer(json, {"pad_id"})) info.pad_id = pad;
  } catch (const Json::exception&) {  // somebody else's entry: what was read so far stays
  } catch (const Error&) {
  }
}

}  // namespace assay
