find_package(nlohmann_json REQUIRED)
assay_room_libraries(bench nlohmann_json::nlohmann_json)
