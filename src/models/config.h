#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace assay {

/// The integer of a config field within [lowest, highest]; BadFile naming the field when it is absent, out of range or
/// not an integer.
int64_t config_int(const nlohmann::json& config, const char* field, int64_t lowest, int64_t highest);
/// The same with a default for an absent or null field.
int64_t config_int_or(const nlohmann::json& config, const char* field, int64_t lowest, int64_t highest,
                      int64_t otherwise);
double config_float_or(const nlohmann::json& config, const char* field, double otherwise);
std::string config_text_or(const nlohmann::json& config, const char* field, std::string_view otherwise);
bool config_flag_or(const nlohmann::json& config, const char* field, bool otherwise);

}  // namespace assay
