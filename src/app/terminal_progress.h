#pragma once

#include <csignal>
#include <string>

#include "base/clock.h"
#include "base/progress.h"

namespace assay::app {

/// Progress on standard error: a bar with rate and time left on a terminal, a plain line every few seconds otherwise.
class TerminalProgress final : public Progress {
 public:
  TerminalProgress(bool terminal, bool quiet, const volatile std::sig_atomic_t& stop)
      : terminal_(terminal), quiet_(quiet), stop_(stop) {}

  void begin(std::string_view stage, int64_t total) override;
  void advance(int64_t steps) override;
  void end() override;
  void note(std::string_view text) override;
  bool interrupted() const override { return stop_ != 0; }

 private:
  void draw(bool last);

  bool terminal_, quiet_;
  const volatile std::sig_atomic_t& stop_;
  SteadyClock clock_;
  std::string stage_;
  int64_t total_ = 0, done_ = 0;
  int64_t started_ns_ = 0, drawn_ns_ = 0;
  bool open_ = false;
};

}  // namespace assay::app
