#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace assay {

/// Where long work says how far it is. Library code takes a Progress& and never prints; the app supplies a bar, plain
/// lines or nothing.
class Progress {
 public:
  virtual ~Progress() = default;
  /// A new stage with `total` steps (0 = unknown).
  virtual void begin(std::string_view /*stage*/, int64_t /*total*/) {}
  virtual void advance(int64_t /*steps*/ = 1) {}
  virtual void end() {}
  /// A line for the person watching: a warning, a reason, a result.
  virtual void note(std::string_view /*text*/) {}
  /// True once the person asked to stop (Ctrl-C); long loops check it between steps.
  virtual bool interrupted() const { return false; }
};

}  // namespace assay
