#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// The machine a figure was measured on, as far as it tells.
struct Machine {
  std::string instance_type;  ///< of the cloud, where the host tells; else empty
  std::string vendor;         ///< DMI system vendor
  std::string product;        ///< DMI product name
  std::string cpu;            ///< "AMD EPYC ..."
  int64_t processors = 0;     ///< logical ones online
  int64_t cores = 0, sockets = 0;
  int64_t usable_processors = 0;  ///< after affinity and control group limits
  int64_t memory_bytes = 0;
  std::vector<std::string> supported_instructions;  ///< vector extensions that matter here, of lscpu's flags
  std::map<std::string, std::string> caches;        ///< "L2" -> "1 MiB (2 instances)"
  std::string hypervisor, governor, kernel, os;
  std::string lscpu;  ///< its whole text
};

/// Reads lscpu, /proc, /sys; what cannot be read stays empty.
Machine read_machine();

/// The cloud instance type that DMI names tell: Amazon EC2 puts it into the product name (AWS, "Identify EC2
/// instances"). Other vendors' product names ("Google Compute Engine", "Virtual Machine", a board's name) are no type:
/// "".
std::string instance_type_of(std::string_view vendor, std::string_view product);
/// The fields of lscpu's text ("Key:   value" lines).
std::map<std::string, std::string> parse_lscpu(std::string_view text);
/// The vector extensions among CPU flags, in a fixed order.
std::vector<std::string> vector_extensions(std::string_view flags);
/// A control group's cpu.max ("200000 100000" -> 2, "max 100000" -> 0 for no limit), rounded up.
int64_t cpu_limit(std::string_view cpu_max);

nlohmann::ordered_json to_json(const Machine& machine);

/// Highest resident set of this process so far.
int64_t peak_memory_bytes();

}  // namespace assay
