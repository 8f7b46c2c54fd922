#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay {

/// What went wrong, for a caller that must decide (exit status, HTTP status, retry). The message says the rest.
enum class ErrorCode {
  kInvalidArgument,    ///< the caller's words or values are off
  kBadFile,            ///< a file does not hold what its format promises
  kUnsupported,        ///< valid, but not something this build can do
  kNotFound,           ///< a file, field, tensor or name is absent
  kNumeric,            ///< NaN, infinity or an empty range where a number is needed
  kResourceExhausted,  ///< memory, disk or a declared cap
  kDeadline,           ///< time ran out
  kInternal            ///< a promise of our own code was broken
};

/// The stable name of a code, as printed and as used in JSON: "InvalidArgument", ...
std::string_view to_string(ErrorCode code);
/// Process exit status of a code (sysexits-like, documented in README): 2 for InvalidArgument, 3 BadFile, 4
/// Unsupported, 5 NotFound, 6 Numeric, 7 ResourceExhausted, 8 Deadline, 70 Internal.
int exit_status(ErrorCode code);

/// The one exception type. `message` says what is wrong and what would fix it; each entry of the context names where,
/// innermost first: a file, node, tensor, field, line or sample.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, std::string message);

  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }
  const std::vector<std::pair<std::string, std::string>>& context() const { return context_; }

  /// Adds where it happened, e.g. at("node", name). Returns *this so that a catch can rethrow `throw e.at(...)`.
  Error& at(std::string kind, std::string name);
  /// "file 'x.onnx', node 'n': message"
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  ErrorCode code_;
  std::string message_;
  std::vector<std::pair<std::string, std::string>> context_;
  std::string text_;
};

/// Throws Error{code} with a formatted message.
template <typename... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

/// Throws Error{code} unless `ok`.
template <typename... Args>
void require(bool ok, ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  if (!ok) [[unlikely]]
    throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace assay
