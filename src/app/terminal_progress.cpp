#include "app/terminal_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace assay::app {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

std::string duration_text(double s) {
  if (s < 60) return fmt::format("{:.0f} s", s);
  return fmt::format("{}:{:02}", static_cast<int64_t>(s) / 60, static_cast<int64_t>(s) % 60);
}

void put(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stderr); }

}  // namespace

void TerminalProgress::begin(std::string_view stage, int64_t total) {
  if (open_) end();
  stage_ = stage;
  total_ = total;
  done_ = 0;
  started_ns_ = clock_.now_ns();
  drawn_ns_ = started_ns_;
  open_ = true;
  if (terminal_) draw(false);
}

void TerminalProgress::advance(int64_t steps) {
  done_ += steps;
  const int64_t now = clock_.now_ns();
  if (open_ && now - drawn_ns_ >= (terminal_ ? kSecond / 10 : 5 * kSecond)) {
    drawn_ns_ = now;
    draw(false);
  }
}

void TerminalProgress::end() {
  if (!open_) return;
  draw(true);
  open_ = false;
}

void TerminalProgress::note(std::string_view text) {
  if (quiet_) return;
  put(fmt::format("{}{}\n", terminal_ && open_ ? "\r\033[K" : "", text));
  if (terminal_ && open_) draw(false);
}

void TerminalProgress::draw(bool last) {
  if (quiet_) return;
  const double elapsed = static_cast<double>(clock_.now_ns() - started_ns_) * 1e-9;
  const double rate = elapsed > 0 ? static_cast<double>(done_) / elapsed : 0;
  std::string line = stage_;
  if (total_ > 0) {
    if (terminal_) {
      constexpr int64_t kWidth = 24;
      const auto full = static_cast<size_t>(std::min(kWidth, kWidth * done_ / total_));
      line += " [" + std::string(full, '#') + std::string(kWidth - full, '.') + "]";
    }
    line += fmt::format(" {}/{}", done_, total_);
  } else if (done_ > 0) {
    line += fmt::format(" {}", done_);
  }
  if (done_ > 0) line += fmt::format(", {:.1f}/s", rate);
  if (!last && total_ > 0 && rate > 0)
    line += fmt::format(", {} left", duration_text(static_cast<double>(total_ - done_) / rate));
  if (last) line += fmt::format(", {}", elapsed < 10 ? fmt::format("{:.1f} s", elapsed) : duration_text(elapsed));
  put(terminal_ ? fmt::format("\r\033[K{}{}", line, last ? "\n" : "") : line + "\n");
}

}  // namespace assay::app
