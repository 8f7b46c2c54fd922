find_package(nlohmann_json REQUIRED)
find_package(ICU REQUIRED COMPONENTS uc)
assay_room_libraries(workloads nlohmann_json::nlohmann_json ICU::uc)
