assay_room_libraries(runs yaml-cpp nlohmann_json::nlohmann_json)
