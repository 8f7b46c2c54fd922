find_package(nlohmann_json REQUIRED)
assay_room_libraries(quant nlohmann_json::nlohmann_json)
