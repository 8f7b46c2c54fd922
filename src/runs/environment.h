#pragma once

#include "bench/noise.h"
#include "engine/session.h"
#include "report/record.h"

namespace assay::runs {

/// Readings at the start of a run that the end is compared with.
struct EnvironmentProbe {
  CpuTicks ticks;
  Noise noise;
};

/// The machine as reports carry it: what it is, threads and instruction set used, and how even its pace was.
report::Json machine_json(const SessionOptions& session, const Noise& noise);

/// Fills machine, hardware and versions of a record and probes the machine's pace.
EnvironmentProbe begin_environment(report::Record& record, const SessionOptions& session);
/// Adds what happened meanwhile: stolen time, and the pace at the end.
void finish_environment(report::Record& record, const EnvironmentProbe& before);

}  // namespace assay::runs
