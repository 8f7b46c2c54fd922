#include "formats/registry.h"

#include <algorithm>
#include <array>

#include "base/file.h"

namespace assay {
namespace {

std::vector<Format>& formats() {
  static std::vector<Format> list;
  return list;
}

bool starts_with(std::span<const std::byte> head, std::string_view magic) {
  return head.size() >= magic.size() && std::equal(magic.begin(), magic.end(), head.begin(),
                                                   [](char a, std::byte b) { return static_cast<std::byte>(a) == b; });
}

/// In words, what lies at the path: the files people mix up with models.
std::string describe(const Probe& p) {
  if (p.folder) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(p.path))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    if (names.empty()) return "an empty folder";
    const size_t shown = std::min<size_t>(names.size(), 6);
    return fmt::format("a folder with {}{}",
                       fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                       names.size() > shown ? ", ..." : "");
  }
  if (p.head.empty()) return "an empty file";
  struct Signature {
    std::string_view magic, words;
  };
  static constexpr std::array<Signature, 7> kSignatures = {
      {{"GGUF", "a GGUF file"},
       {"version https://git-lfs", "a Git LFS pointer, not the file itself: fetch it with git lfs pull"},
       {"PK\x03\x04", "a ZIP archive, perhaps a PyTorch checkpoint: save it as safetensors, or export it to ONNX"},
       {"\x80\x02", "a Python pickle, perhaps an old PyTorch checkpoint: save it as safetensors"},
       {"\x89HDF", "an HDF5 file, perhaps a Keras model: export it to ONNX"},
       {"<", "a text that starts with '<', perhaps a web page saved in the model's place"},
       {"{", "a JSON text"}}};
  for (const auto& s : kSignatures)
    if (starts_with(p.head, s.magic)) return std::string(s.words);
  return "a file of a kind not known here";
}

}  // namespace

FormatRegistration::FormatRegistration(const Format& format) { formats().push_back(format); }

std::vector<Format> registered_formats() {
  auto list = formats();
  std::sort(list.begin(), list.end(),
            [](const Format& a, const Format& b) { return a.rank != b.rank ? a.rank < b.rank : a.name < b.name; });
  return list;
}

LoadedModel load_model(const std::filesystem::path& path, const LoadOptions& options) {
  std::error_code ec;
  Probe probe{path, std::filesystem::is_directory(path, ec), {}};
  std::shared_ptr<const MappedFile> file;
  if (!probe.folder) {
    file = MappedFile::open(path);
    probe.head = file->bytes().first(std::min<size_t>(file->bytes().size(), 64));
  }
  const auto list = registered_formats();
  for (const Format& format : list) {
    if (!format.probe(probe)) continue;
    LoadedModel loaded = format.load(path, options);
    loaded.format = format.name;
    take_model_info(loaded.model.metadata, loaded.info);
    put_model_info(loaded.info, loaded.model.metadata);
    return loaded;
  }
  std::vector<std::string_view> accepted;
  for (const Format& format : list) accepted.push_back(format.accepts);
  throw Error(ErrorCode::kUnsupported,
              fmt::format("this is {}; accepted: {}", describe(probe), fmt::join(accepted, "; ")))
      .at("model", path.string());
}

}  // namespace assay
