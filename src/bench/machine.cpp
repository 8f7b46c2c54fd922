#include "bench/machine.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>

namespace assay {
namespace {

// /proc and /sys files have no size to map.
std::string read_line(const char* path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  while (!line.empty() && (line.back() == ' ' || line.back() == '\n')) line.pop_back();
  return line;
}

std::string output_of(const char* command) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen(command, "r"), ::pclose);
  std::string text;
  std::array<char, 4096> chunk{};
  while (pipe && std::fgets(chunk.data(), static_cast<int>(chunk.size()), pipe.get()) != nullptr) text += chunk.data();
  return text;
}

int64_t number(const std::map<std::string, std::string>& fields, const std::string& key) {
  const auto it = fields.find(key);
  return it == fields.end() ? 0 : std::strtoll(it->second.c_str(), nullptr, 10);
}

std::string text(const std::map<std::string, std::string>& fields, const std::string& key) {
  const auto it = fields.find(key);
  return it == fields.end() ? "" : it->second;
}

int64_t usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int64_t affinity = ::sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 0;
  const int64_t limit = cpu_limit(read_line("/sys/fs/cgroup/cpu.max"));
  return limit > 0 ? std::min(affinity, limit) : affinity;
}

std::string os_name() {
  std::ifstream in("/etc/os-release");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("PRETTY_NAME=")) {
      line = line.substr(12);
      std::erase(line, '"');
      return line;
    }
  return {};
}

}  // namespace

std::string instance_type_of(std::string_view vendor, std::string_view product) {
  return vendor == "Amazon EC2" ? std::string(product) : std::string();
}

std::map<std::string, std::string> parse_lscpu(std::string_view content) {
  std::map<std::string, std::string> fields;
  std::istringstream in{std::string(content)};
  for (std::string line; std::getline(in, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const size_t key = line.find_first_not_of(' ');
    const size_t value = line.find_first_not_of(' ', colon + 1);
    if (key < colon && value != std::string::npos) fields[line.substr(key, colon - key)] = line.substr(value);
  }
  return fields;
}

std::vector<std::string> vector_extensions(std::string_view flags) {
  static constexpr std::array<std::string_view, 18> kKnown = {
      "sse4_1",      "sse4_2",      "avx",      "f16c",     "fma",      "avx2",
      "avx_vnni",    "avx512f",     "avx512bw", "avx512dq", "avx512vl", "avx512_vnni",
      "avx512_bf16", "avx512_fp16", "amx_tile", "amx_int8", "amx_bf16", "avx_vnni_int8"};
  std::set<std::string, std::less<>> have;
  std::istringstream in{std::string(flags)};
  for (std::string f; in >> f;) have.insert(f);
  std::vector<std::string> out;
  for (const std::string_view k : kKnown)
    if (have.contains(k)) out.emplace_back(k);
  return out;
}

int64_t cpu_limit(std::string_view cpu_max) {
  std::istringstream in{std::string(cpu_max)};
  std::string quota;
  double period = 0;
  if (!(in >> quota >> period) || quota == "max" || period <= 0) return 0;
  return static_cast<int64_t>(std::ceil(std::strtod(quota.c_str(), nullptr) / period));
}

Machine read_machine() {
  Machine m;
  m.lscpu = output_of("LC_ALL=C lscpu 2>/dev/null");
  const auto fields = parse_lscpu(m.lscpu);
  m.cpu = text(fields, "Model name");
  m.processors = number(fields, "CPU(s)");
  m.sockets = number(fields, "Socket(s)");
  m.cores = number(fields, "Core(s) per socket") * std::max<int64_t>(m.sockets, 1);
  m.supported_instructions = vector_extensions(text(fields, "Flags"));
  m.hypervisor = text(fields, "Hypervisor vendor");
  for (const char* level : {"L1d", "L1i", "L2", "L3"})
    if (const std::string size = text(fields, std::string(level) + " cache"); !size.empty()) m.caches[level] = size;
  m.product = read_line("/sys/class/dmi/id/product_name");
  m.vendor = read_line("/sys/class/dmi/id/sys_vendor");
  m.instance_type = instance_type_of(m.vendor, m.product);
  m.governor = read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  m.usable_processors = usable_processors();
  std::ifstream meminfo("/proc/meminfo");
  for (std::string key, unit; meminfo >> key;) {
    int64_t kib = 0;
    meminfo >> kib;
    std::getline(meminfo, unit);
    if (key == "MemTotal:") m.memory_bytes = kib * 1024;
  }
  utsname name{};
  if (::uname(&name) == 0) m.kernel = std::string(name.sysname) + " " + name.release;
  m.os = os_name();
  return m;
}

nlohmann::ordered_json to_json(const Machine& m) {
  nlohmann::ordered_json j;
  j["instance_type"] =
      m.instance_type.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(m.instance_type);
  j["vendor"] = m.vendor;
  j["product"] = m.product;
  j["cpu"] = m.cpu;
  j["processors"] = m.processors;
  j["usable_processors"] = m.usable_processors;
  j["cores"] = m.cores;
  j["sockets"] = m.sockets;
  j["memory_bytes"] = m.memory_bytes;
  j["supported_instructions"] = m.supported_instructions;
  j["caches"] = m.caches;
  j["hypervisor"] = m.hypervisor;
  j["governor"] = m.governor;
  j["kernel"] = m.kernel;
  j["os"] = m.os;
  return j;
}

int64_t peak_memory_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace assay
