#include "formats/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "base/checked.h"

namespace assay {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kHeaderLimit = 100'000'000;
constexpr int kDepthLimit = 8;

struct TypeName {
  std::string_view name;
  DType dtype;
};
// In the order in which the reference writer ranks them, lowest first.
constexpr std::array<TypeName, 17> kTypes = {{{"BOOL", DType::kBool},
                                              {"U8", DType::kUint8},
                                              {"I8", DType::kInt8},
                                              {"F8_E5M2", DType::kFloat8E5M2},
                                              {"F8_E4M3", DType::kFloat8E4M3FN},
                                              {"F8_E8M0", DType::kFloat8E8M0},
                                              {"I16", DType::kInt16},
                                              {"U16", DType::kUint16},
                                              {"F16", DType::kFloat16},
                                              {"BF16", DType::kBfloat16},
                                              {"I32", DType::kInt32},
                                              {"U32", DType::kUint32},
                                              {"F32", DType::kFloat32},
                                              {"C64", DType::kComplex64},
                                              {"F64", DType::kFloat64},
                                              {"I64", DType::kInt64},
                                              {"U64", DType::kUint64}}};

DType dtype_named(const std::string& name) {
  for (const auto& t : kTypes)
    if (t.name == name) return t.dtype;
  const bool packed = name == "F4" || name == "F6_E2M3" || name == "F6_E3M2";
  fail(packed ? ErrorCode::kUnsupported : ErrorCode::kBadFile, "dtype '{}' {}", name,
       packed ? "is not supported" : "does not exist");
}

size_t rank_of(DType dtype) {
  for (size_t i = 0; i < kTypes.size(); ++i)
    if (kTypes[i].dtype == dtype) return i;
  fail(ErrorCode::kUnsupported, "safetensors cannot hold {}", to_string(dtype));
}

/// JSON with the faults that a DOM hides made visible: a key given twice, and nesting deep enough to be an attack.
Json parse_strict(std::string_view text, std::string_view what) {
  std::vector<std::set<std::string>> keys;
  const auto check = [&](int depth, Json::parse_event_t event, Json& parsed) {
    require(depth <= kDepthLimit, ErrorCode::kBadFile, "{} is nested deeper than {}", what, kDepthLimit);
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      require(keys.back().insert(key).second, ErrorCode::kBadFile, "{}: key '{}' is given twice", what, key);
    }
    return true;
  };
  try {
    Json json = Json::parse(text.begin(), text.end(), check);
    require(json.is_object(), ErrorCode::kBadFile, "{} is not a JSON object", what);
    return json;
  } catch (const Json::exception& e) {
    fail(ErrorCode::kBadFile, "{} is not valid JSON: {}", what, e.what());
  }
}

struct Entry {
  std::string name;
  DType dtype = DType::kUndefined;
  Shape shape;
  uint64_t begin = 0, end = 0;
};

uint64_t whole_number(const Json& v, std::string_view field) {
  require(v.is_number_unsigned(), ErrorCode::kBadFile, "{} holds {}, not a size", field, v.dump().substr(0, 40));
  return v.get<uint64_t>();
}

Entry read_entry(const std::string& name, const Json& v) {
  Entry e;
  e.name = name;
  const auto field = [&](const char* key, Json::value_t type) -> const Json& {
    const auto it = v.is_object() ? v.find(key) : v.end();
    require(v.is_object() && it != v.end() && it->type() == type, ErrorCode::kBadFile,
            "'{}' is missing or of the wrong kind", key);
    return *it;
  };
  e.dtype = dtype_named(field("dtype", Json::value_t::string).get<std::string>());
  for (const Json& d : field("shape", Json::value_t::array)) {
    const uint64_t size = whole_number(d, "shape");
    require(size <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()), ErrorCode::kBadFile,
            "shape holds the size {}", size);
    e.shape.push_back(static_cast<int64_t>(size));
  }
  const Json& offsets = field("data_offsets", Json::value_t::array);
  require(offsets.size() == 2, ErrorCode::kBadFile, "data_offsets has {} entries, not 2", offsets.size());
  e.begin = whole_number(offsets[0], "data_offsets");
  e.end = whole_number(offsets[1], "data_offsets");
  require(e.begin <= e.end, ErrorCode::kBadFile, "data_offsets {} to {} run backwards", e.begin, e.end);
  const int64_t bytes = bytes_of(e.dtype, e.shape.elements());
  require(e.end - e.begin == static_cast<uint64_t>(bytes), ErrorCode::kBadFile,
          "data_offsets span {} bytes, where {}{} takes {}", e.end - e.begin, to_string(e.dtype), e.shape.str(), bytes);
  return e;
}

/// Entries sorted by place, proved to tile [0, data_bytes) exactly.
void check_layout(std::vector<Entry>& entries, uint64_t data_bytes) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  uint64_t at = 0;
  for (const Entry& e : entries) {
    require(e.begin == at, ErrorCode::kBadFile,
            "tensor '{}' starts at byte {} of the data, {} the one before ends at {}", e.name, e.begin,
            e.begin < at ? "overlapping:" : "leaving a gap:", at);
    at = e.end;
  }
  if (at > data_bytes) {
    std::vector<std::string> cut;
    for (const Entry& e : entries)
      if (e.end > data_bytes) cut.push_back(fmt::format("'{}'", e.name));
    const size_t shown = std::min<size_t>(cut.size(), 8);
    fail(ErrorCode::kBadFile, "the file is {} bytes short; incomplete: {}{}", at - data_bytes,
         fmt::join(cut.begin(), cut.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
         cut.size() > shown ? fmt::format(" and {} more", cut.size() - shown) : "");
  }
  require(at == data_bytes, ErrorCode::kBadFile, "{} bytes follow the last tensor", data_bytes - at);
}

/// A window on mapped data, or a copy where it would be misaligned or holds booleans that are neither 0 nor 1.
Tensor window(const Entry& e, std::span<const std::byte> data, const std::shared_ptr<const void>& keeper) {
  const auto bytes = data.subspan(e.begin, e.end - e.begin);
  const auto align = static_cast<size_t>(e.dtype == DType::kComplex64 ? 4 : bits_of(e.dtype) / 8);
  const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % align == 0;
  const bool clean =
      e.dtype != DType::kBool || std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b <= std::byte{1}; });
  if (aligned && clean && !bytes.empty()) return {e.dtype, e.shape, bytes.data(), keeper};
  Tensor copy(e.dtype, e.shape);
  auto* out = static_cast<std::byte*>(copy.mutable_view().data);
  std::transform(bytes.begin(), bytes.end(), out,
                 [&](std::byte b) { return clean ? b : std::byte{b != std::byte{0}}; });
  return copy;
}

}  // namespace

Safetensors Safetensors::parse(std::span<const std::byte> bytes, std::shared_ptr<const void> keeper) {
  require(bytes.size() >= 8, ErrorCode::kBadFile, "has {} bytes, too few for a safetensors header", bytes.size());
  uint64_t header_size = 0;
  for (size_t i = 8; i-- > 0;) header_size = header_size << 8 | static_cast<uint64_t>(bytes[i]);
  require(header_size <= kHeaderLimit, ErrorCode::kBadFile,
          "claims a header of {} bytes, more than the {} of the format: it is not a safetensors file", header_size,
          kHeaderLimit);
  require(header_size <= bytes.size() - 8, ErrorCode::kBadFile, "the header is {} bytes short",
          header_size - (bytes.size() - 8));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + 8, header_size);
  require(!text.empty() && text.front() == '{', ErrorCode::kBadFile, "the header does not start with '{{'");
  const auto data = bytes.subspan(8 + header_size);
  const Json header = parse_strict(text, "the header");
  Safetensors out;
  std::vector<Entry> entries;
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__") {
      require(value.is_object(), ErrorCode::kBadFile, "__metadata__ is not an object");
      for (const auto& [key, text_value] : value.items()) {
        require(text_value.is_string(), ErrorCode::kBadFile, "__metadata__ '{}' is not a string", key);
        out.metadata_[key] = text_value.get<std::string>();
      }
      continue;
    }
    try {
      entries.push_back(read_entry(name, value));
    } catch (Error& e) {
      throw e.at("tensor", name);
    }
  }
  check_layout(entries, data.size());
  for (const Entry& e : entries) out.tensors_.emplace(e.name, window(e, data, keeper));
  return out;
}

Safetensors Safetensors::open(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  try {
    Safetensors out = parse(file->bytes(), file);
    out.files_ = {path};
    return out;
  } catch (Error& e) {
    throw e.at("file", path.string());
  }
}

Safetensors Safetensors::open_index(const std::filesystem::path& index) {
  try {
    const Json json = parse_strict(read_text(index, kHeaderLimit), "the index");
    const auto it = json.find("weight_map");
    require(it != json.end() && it->is_object(), ErrorCode::kBadFile, "'weight_map' is missing or not an object");
    std::map<std::string, std::set<std::string>> wanted;  // by shard
    for (const auto& [tensor, file] : it->items()) {
      require(file.is_string(), ErrorCode::kBadFile, "weight_map '{}' is not a file name", tensor);
      const auto name = file.get<std::string>();
      require(!name.empty() && std::filesystem::path(name).filename() == name && name != "..", ErrorCode::kBadFile,
              "weight_map '{}' names '{}', which is not a file beside the index", tensor, name);
      wanted[name].insert(tensor);
    }
    Safetensors out;
    for (const auto& [file, names] : wanted) {
      Safetensors shard = open(index.parent_path() / file);
      for (const auto& name : names)
        require(shard.tensors_.count(name) != 0, ErrorCode::kBadFile,
                "shard '{}' lacks tensor '{}', which the index puts there", file, name);
      for (auto& [name, tensor] : shard.tensors_) {
        require(names.count(name) != 0, ErrorCode::kBadFile,
                "shard '{}' holds tensor '{}', which the index does not put there", file, name);
        out.tensors_.emplace(name, std::move(tensor));
      }
      out.metadata_.merge(shard.metadata_);
      out.files_.push_back(shard.files_.front());
    }
    return out;
  } catch (Error& e) {
    throw e.at("index", index.string());
  }
}

Safetensors Safetensors::open_folder(const std::filesystem::path& folder) {
  const auto single = folder / "model.safetensors";
  const auto index = folder / "model.safetensors.index.json";
  if (std::filesystem::exists(single)) return open(single);
  if (std::filesystem::exists(index)) return open_index(index);
  const bool pickled = std::filesystem::exists(folder / "pytorch_model.bin");
  throw Error(ErrorCode::kNotFound,
              fmt::format("holds neither model.safetensors nor model.safetensors.index.json{}",
                          pickled ? "; pytorch_model.bin is a pickle, save it as safetensors first" : ""))
      .at("folder", folder.string());
}

void write_safetensors(const std::filesystem::path& path, const std::map<std::string, Tensor>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::vector<std::pair<std::string, const Tensor*>> order;
  for (const auto& [name, tensor] : tensors) {
    try {
      require(name != "__metadata__", ErrorCode::kInvalidArgument, "the name is reserved");
      rank_of(tensor.dtype());
    } catch (Error& e) {
      throw e.at("tensor", name);
    }
    order.emplace_back(name, &tensor);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return rank_of(a.second->dtype()) > rank_of(b.second->dtype());
  });
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  int64_t at = 0;
  for (const auto& [name, tensor] : order) {
    const int64_t end = checked_add(at, tensor->bytes());
    const auto dims = tensor->shape().dims();
    header[name] = {{"dtype", kTypes[rank_of(tensor->dtype())].name},
                    {"shape", std::vector<int64_t>(dims.begin(), dims.end())},
                    {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const Json::exception& e) {
    throw Error(ErrorCode::kInvalidArgument, fmt::format("a name is not UTF-8: {}", e.what()))
        .at("file", path.string());
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  require(text.size() <= kHeaderLimit, ErrorCode::kResourceExhausted, "the header takes {} bytes", text.size());
  write_atomically(path, [&](std::ostream& out) {
    for (int shift = 0; shift < 64; shift += 8) out.put(static_cast<char>(text.size() >> shift & 0xff));
    out << text;
    for (const auto& [name, tensor] : order) out.write(static_cast<const char*>(tensor->data()), tensor->bytes());
  });
}

}  // namespace assay
