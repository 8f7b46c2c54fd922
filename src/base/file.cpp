#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/error.h"

namespace assay {
namespace {

[[noreturn]] void fail_errno(const std::filesystem::path& path, std::string_view action) {
  const int e = errno;
  throw Error(e == ENOENT || e == ENOTDIR ? ErrorCode::kNotFound : ErrorCode::kBadFile,
              fmt::format("cannot {}: {}", action, std::strerror(e)))
      .at("file", path.string());
}

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const Descriptor d{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};  // a pipe must not hold us up
  if (d.fd < 0) fail_errno(path, "open");
  struct stat st {};
  if (::fstat(d.fd, &st) != 0) fail_errno(path, "read");
  if (!S_ISREG(st.st_mode)) throw Error(ErrorCode::kBadFile, "is not a regular file").at("file", path.string());
  std::shared_ptr<MappedFile> file(new MappedFile());
  file->path_ = path;
  file->size_ = static_cast<size_t>(st.st_size);
  if (file->size_ > 0) {
    void* p = ::mmap(nullptr, file->size_, PROT_READ, MAP_PRIVATE, d.fd, 0);
    if (p == MAP_FAILED) fail_errno(path, "map");
    file->data_ = static_cast<const std::byte*>(p);
  }
  return file;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::drop(std::span<const std::byte> part) const {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t into_page = static_cast<size_t>(part.data() - data_) % page;  // the map begins at a page
  const size_t skip = into_page == 0 ? 0 : page - into_page;
  if (part.size() < skip + page) return;
  const size_t whole = (part.size() - skip) / page * page;
  ::madvise(const_cast<std::byte*>(part.data() + skip), whole, MADV_DONTNEED);
}

std::string read_text(const std::filesystem::path& path, size_t max_bytes) {
  const auto file = MappedFile::open(path);
  const auto bytes = file->bytes();
  if (bytes.size() > max_bytes)
    throw Error(ErrorCode::kResourceExhausted,
                fmt::format("holds {} bytes, more than the limit of {}", bytes.size(), max_bytes))
        .at("file", path.string());
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void require_file_target(const std::filesystem::path& path) {
  std::error_code ec;
  if (std::filesystem::is_directory(path, ec) || !path.has_filename())
    throw Error(ErrorCode::kInvalidArgument, "is a folder; give the name of a file in it").at("file", path.string());
}

void write_atomically(const std::filesystem::path& target, const std::function<void(std::ostream&)>& fill) {
  static std::atomic<unsigned> serial{0};
  require_file_target(target);
  std::error_code ec;
  // A link stays a link: what it points to is replaced. A device or pipe cannot be replaced, only written to.
  std::filesystem::path path = target;
  if (std::filesystem::is_symlink(target, ec)) path = std::filesystem::weakly_canonical(target, ec);
  if (ec) path = target;
  if (const auto status = std::filesystem::status(target, ec);
      std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    std::ofstream out(target, std::ios::binary);
    if (!out) fail_errno(target, "write");
    fill(out);
    out.flush();
    if (!out) fail_errno(target, "write");
    return;
  }
  if (path.has_parent_path()) {
    std::filesystem::create_directories(path.parent_path(), ec);
    if (ec) throw Error(ErrorCode::kBadFile, "cannot make the folder: " + ec.message()).at("file", path.string());
  }
  auto temporary = path;
  temporary += fmt::format(".{}.{}.partial", ::getpid(), serial++);
  try {
    {
      std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
      if (!out) fail_errno(path, "write");
      fill(out);
      out.flush();
      if (!out) fail_errno(path, "write");
    }
    const Descriptor d{::open(temporary.c_str(), O_RDONLY | O_CLOEXEC)};
    if (d.fd < 0 || ::fsync(d.fd) != 0) fail_errno(path, "sync");
    if (::rename(temporary.c_str(), path.c_str()) != 0) fail_errno(path, "rename into place");
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

void write_text(const std::filesystem::path& path, std::string_view text) {
  write_atomically(path, [&](std::ostream& out) { out.write(text.data(), static_cast<std::streamsize>(text.size())); });
}

}  // namespace assay
