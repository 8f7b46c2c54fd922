#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

namespace assay {

/// A read-only memory map of a whole file. Throws NotFound or BadFile naming the path. Shared: tensors that point into
/// it hold a reference.
class MappedFile {
 public:
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::filesystem::path& path() const { return path_; }
  /// Gives back the memory of a part that has been copied; who reads it again reads the file again.
  void drop(std::span<const std::byte> part) const;

 private:
  MappedFile() = default;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  std::filesystem::path path_;
};

/// The whole text of a file. Throws NotFound/BadFile naming the path, ResourceExhausted beyond `max_bytes`.
std::string read_text(const std::filesystem::path& path, size_t max_bytes = size_t{1} << 31);

/// InvalidArgument when the path names a folder: asked before long work whose result goes there.
void require_file_target(const std::filesystem::path& path);

/// Writes through a temporary file in the same folder, syncs, then renames: readers see the old file or the whole new
/// one, and a failure (of `fill` too) leaves nothing behind. Makes missing parent folders. A symbolic link is followed;
/// devices and pipes are written to as they are.
void write_atomically(const std::filesystem::path& path, const std::function<void(std::ostream&)>& fill);
void write_text(const std::filesystem::path& path, std::string_view text);

}  // namespace assay
