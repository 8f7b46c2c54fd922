#include "models/config.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace assay {
namespace {

const nlohmann::json* find(const nlohmann::json& config, const char* field) {
  const auto it = config.find(field);
  return it == config.end() || it->is_null() ? nullptr : &*it;
}

std::string shown(const nlohmann::json& v) {
  return v.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).substr(0, 60);
}

}  // namespace

int64_t config_int_or(const nlohmann::json& config, const char* field, int64_t lowest, int64_t highest,
                      int64_t otherwise) {
  return find(config, field) == nullptr ? otherwise : config_int(config, field, lowest, highest);
}

int64_t config_int(const nlohmann::json& config, const char* field, int64_t lowest, int64_t highest) {
  const auto* v = find(config, field);
  require(v != nullptr, ErrorCode::kBadFile, "config field '{}' is missing", field);
  const bool fits = v->is_number_integer() &&
                    !(v->is_number_unsigned() && v->get<uint64_t>() > static_cast<uint64_t>(highest)) &&
                    v->get<int64_t>() >= lowest && v->get<int64_t>() <= highest;
  require(fits, ErrorCode::kBadFile, "config field '{}' is {}, not an integer from {} to {}", field, shown(*v), lowest,
          highest);
  return v->get<int64_t>();
}

double config_float_or(const nlohmann::json& config, const char* field, double otherwise) {
  const auto* v = find(config, field);
  if (v == nullptr) return otherwise;
  require(v->is_number() && std::isfinite(v->get<double>()), ErrorCode::kBadFile,
          "config field '{}' is {}, not a number", field, shown(*v));
  return v->get<double>();
}

std::string config_text_or(const nlohmann::json& config, const char* field, std::string_view otherwise) {
  const auto* v = find(config, field);
  if (v == nullptr) return std::string(otherwise);
  require(v->is_string(), ErrorCode::kBadFile, "config field '{}' is {}, not a string", field, shown(*v));
  return v->get<std::string>();
}

bool config_flag_or(const nlohmann::json& config, const char* field, bool otherwise) {
  const auto* v = find(config, field);
  if (v == nullptr) return otherwise;
  require(v->is_boolean(), ErrorCode::kBadFile, "config field '{}' is {}, not true or false", field, shown(*v));
  return v->get<bool>();
}

}  // namespace assay
