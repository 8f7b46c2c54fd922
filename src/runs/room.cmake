assay_room_libraries(runs yaml-cpp nlohmann_json::nlohmann_json)

# The libraries whose versions can move a figure are named in every record.
find_package(Protobuf REQUIRED)
find_package(ICU REQUIRED COMPONENTS uc)
file(STRINGS ${ASSAY_OPENCV_INCLUDE}/opencv2/core/version.hpp opencv REGEX "#define CV_VERSION_(MAJOR|MINOR|REVISION)")
string(REGEX REPLACE "[^0-9;]" "" opencv "${opencv}")
list(JOIN opencv "." opencv)
set_property(SOURCE ${CMAKE_SOURCE_DIR}/src/runs/environment.cpp APPEND PROPERTY COMPILE_DEFINITIONS
  ASSAY_PROTOBUF_VERSION="${Protobuf_VERSION}" ASSAY_ICU_VERSION="${ICU_VERSION}" ASSAY_OPENCV_VERSION="${opencv}")
