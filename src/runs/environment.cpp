#include "runs/environment.h"

#include <fmt/format.h>
#include <gnu/libc-version.h>

#include <algorithm>

#include "base/clock.h"
#include "bench/machine.h"

namespace assay::runs {

report::Json machine_json(const SessionOptions& session, const Noise& noise) {
  report::Json j = to_json(read_machine());
  j["used_instructions"] = kernels::to_string(session.isa);
  j["threads"] = session.threads;
  j["noise"] = to_json(noise);
  return j;
}

EnvironmentProbe begin_environment(report::Record& record, const SessionOptions& session) {
  const EnvironmentProbe before{read_cpu_ticks(), probe_noise(SteadyClock{})};
  record.machine = machine_json(session, before.noise);
  record.hardware = read_machine().lscpu;
  record.versions["assay"] = ASSAY_VERSION;
#if defined(__clang__)
  record.versions["compiler"] = "clang " __clang_version__;
#else
  record.versions["compiler"] = "gcc " __VERSION__;
#endif
  record.versions["glibc"] = gnu_get_libc_version();
  record.versions["protobuf"] = ASSAY_PROTOBUF_VERSION;
  record.versions["icu"] = ASSAY_ICU_VERSION;
  record.versions["opencv"] = ASSAY_OPENCV_VERSION;
  record.versions["kernel"] = record.machine.value("kernel", "");
  return before;
}

void finish_environment(report::Record& record, const EnvironmentProbe& before) {
  Noise noise = before.noise;
  noise.steal_percent = steal_percent(before.ticks, read_cpu_ticks());
  record.machine["noise"] = to_json(noise);
  const Noise at_end = probe_noise(SteadyClock{});
  record.machine["noise_at_end"] = to_json(at_end);
  const double unrest = std::max(noise.p99_over_p50, at_end.p99_over_p50);
  constexpr double kQuiet = 2.0;
  if (unrest > kQuiet)
    record.notes.push_back(
        fmt::format("the machine was not quiet: a fixed piece of work took up to {:.1f} times its usual time (p99 over "
                    "median), so small differences in speed mean nothing; time again on a quiet machine",
                    unrest));
}

}  // namespace assay::runs
