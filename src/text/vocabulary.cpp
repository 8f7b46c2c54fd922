#include "text/vocabulary.h"

namespace assay::text {

Vocabulary Vocabulary::read(const JsonAt& json) {
  if (!json.is_object()) json.bad("expected an object of tokens and ids, found {}", json.value().type_name());
  Vocabulary out;
  const auto& members = json.value();
  out.ids_.reserve(members.size());
  // A few gaps are normal; an id far beyond the count goes to a hash table, so that one number cannot ask for
  // gigabytes.
  out.dense_.resize(members.size() + members.size() / 8, nullptr);
  for (const auto& [token, id] : members.items()) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() > UINT32_MAX)
      json.bad("id of token '{}' is not a whole number below 2^32", token);
    const auto number = id.get<uint32_t>();
    const auto it = out.ids_.emplace(token, number).first;
    if (number < out.dense_.size()) {
      out.dense_[number] = &it->first;
    } else {
      out.sparse_[number] = &it->first;
    }
  }
  return out;
}

}  // namespace assay::text
