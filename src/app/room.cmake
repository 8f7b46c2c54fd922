find_package(CLI11 REQUIRED)
assay_room_libraries(app CLI11::CLI11 nlohmann_json::nlohmann_json)
