#include "runs/child_measure.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"

extern char** environ;

namespace assay::runs {
namespace {

class Pipe {
 public:
  Pipe() { require(::pipe2(fds_.data(), O_CLOEXEC) == 0, ErrorCode::kResourceExhausted, "no pipe"); }
  ~Pipe() {
    close_write();
    ::close(fds_[0]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int write_end() const { return fds_[1]; }
  void close_write() {
    if (fds_[1] >= 0) ::close(fds_[1]);
    fds_[1] = -1;
  }
  std::string read_all() {
    std::string text;
    std::array<char, 4096> chunk{};
    for (ssize_t n; (n = ::read(fds_[0], chunk.data(), chunk.size())) > 0;)
      text.append(chunk.data(), static_cast<size_t>(n));
    return text;
  }

 private:
  std::array<int, 2> fds_{-1, -1};
};

}  // namespace

std::optional<ProcessCost> measure_in_child(const std::filesystem::path& executable, const std::filesystem::path& model,
                                            int64_t batch, int64_t length, int threads, const std::string& isa,
                                            std::string& why) {
  std::vector<std::string> words = {executable.string(),
                                    "bench",
                                    model.string(),
                                    "--batch",
                                    std::to_string(batch),
                                    "--length",
                                    std::to_string(length),
                                    "--duration",
                                    "0",
                                    "--warmup",
                                    "1",
                                    "--threads",
                                    std::to_string(threads),
                                    "--isa",
                                    isa,
                                    "--json",
                                    "-",
                                    "--quiet"};
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);

  Pipe out;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out.write_end(), STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  pid_t pid = 0;
  const int failed = ::posix_spawn(&pid, executable.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return why = fmt::format("cannot start {}", executable.string()), std::nullopt;
  out.close_write();
  const std::string text = out.read_all();
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return why = "the process that measures load time and memory failed", std::nullopt;
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("load_ms") || !json.contains("peak_memory_bytes"))
    return why = "no figures came back", std::nullopt;
  return ProcessCost{json["load_ms"].get<double>(), json["peak_memory_bytes"].get<int64_t>()};
}

}  // namespace assay::runs
