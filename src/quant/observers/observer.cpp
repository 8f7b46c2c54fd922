#include "quant/observers/observer.h"

#include <map>

#include "base/nearest.h"

namespace assay::quant {
namespace {

// Filled before main by the registrations, read-only afterwards.
std::map<std::string, ObserverFactory, std::less<>>& factories() {
  static std::map<std::string, ObserverFactory, std::less<>> all;
  return all;
}

}  // namespace

ObserverRegistration::ObserverRegistration(std::string_view name, ObserverFactory factory) {
  factories().emplace(std::string(name), factory);
}

std::vector<std::string> observer_names() {
  std::vector<std::string> out;
  for (const auto& [name, factory] : factories()) out.push_back(name);
  return out;
}

std::unique_ptr<Observer> make_observer(const ObserverOptions& options) {
  const auto it = factories().find(options.method);
  if (it == factories().end()) {
    const auto names = observer_names();
    std::string list;
    for (const auto& n : names) list += (list.empty() ? "" : ", ") + n;
    fail(ErrorCode::kInvalidArgument, "no calibration method is called '{}'; there are: {}", options.method, list);
  }
  return it->second(options);
}

}  // namespace assay::quant
