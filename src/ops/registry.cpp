#include <algorithm>
#include <map>
#include <string>

#include "ops/op.h"

namespace assay {
namespace {

struct Entry {
  int since;
  OpFactory factory;
};

// Filled before main by the registrations beside each operator, read-only afterwards.
std::map<std::string, std::vector<Entry>, std::less<>>& table() {
  static std::map<std::string, std::vector<Entry>, std::less<>> t;
  return t;
}

std::string key_of(std::string_view domain, std::string_view op_type) {
  if (domain == "ai.onnx") domain = "";
  return domain.empty() ? std::string(op_type) : std::string(domain) + "." + std::string(op_type);
}

}  // namespace

OpRegistration::OpRegistration(std::string_view domain, std::string_view op_type, int since, OpFactory factory) {
  auto& entries = table()[key_of(domain, op_type)];
  entries.push_back({since, factory});
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.since > b.since; });
}

OpFactory find_op(std::string_view domain, std::string_view op_type, int version) {
  const auto it = table().find(key_of(domain, op_type));
  if (it == table().end()) return nullptr;
  for (const Entry& e : it->second)
    if (e.since <= version) return e.factory;
  return nullptr;
}

std::vector<std::string> registered_ops() {
  std::vector<std::string> names;
  for (const auto& [name, entries] : table()) names.push_back(name);
  return names;
}

}  // namespace assay
