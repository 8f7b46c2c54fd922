#include "base/error.h"

namespace assay {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "InvalidArgument";
    case ErrorCode::kBadFile:
      return "BadFile";
    case ErrorCode::kUnsupported:
      return "Unsupported";
    case ErrorCode::kNotFound:
      return "NotFound";
    case ErrorCode::kNumeric:
      return "Numeric";
    case ErrorCode::kResourceExhausted:
      return "ResourceExhausted";
    case ErrorCode::kDeadline:
      return "Deadline";
    case ErrorCode::kInternal:
      return "Internal";
  }
  return "Internal";
}

int exit_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return 2;
    case ErrorCode::kBadFile:
      return 3;
    case ErrorCode::kUnsupported:
      return 4;
    case ErrorCode::kNotFound:
      return 5;
    case ErrorCode::kNumeric:
      return 6;
    case ErrorCode::kResourceExhausted:
      return 7;
    case ErrorCode::kDeadline:
      return 8;
    case ErrorCode::kInternal:
      return 70;
  }
  return 70;
}

Error::Error(ErrorCode code, std::string message)
    : std::runtime_error(message), code_(code), message_(std::move(message)), text_(message_) {}

Error& Error::at(std::string kind, std::string name) {
  context_.emplace_back(std::move(kind), std::move(name));
  text_.clear();
  for (auto it = context_.rbegin(); it != context_.rend(); ++it) {
    if (!text_.empty()) text_ += ", ";
    text_ += fmt::format("{} '{}'", it->first, it->second);
  }
  text_ += ": " + message_;
  return *this;
}

}  // namespace assay
