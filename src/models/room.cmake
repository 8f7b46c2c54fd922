find_package(nlohmann_json REQUIRED)
assay_room_libraries(models nlohmann_json::nlohmann_json)
