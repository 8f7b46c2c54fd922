# The ONNX schema comes from the onnx wheel, so that its version is pinned in one place. protoc writes into the build
# tree; the generated code is compiled without our warning flags and seen only by the sources that wrap it.
find_package(Protobuf REQUIRED)
find_package(nlohmann_json REQUIRED)
file(GLOB ASSAY_ONNX_PROTO ${ASSAY_VENV}/lib/python3*/site-packages/onnx/onnx-ml.proto)
if(NOT ASSAY_ONNX_PROTO)
  message(FATAL_ERROR "no onnx-ml.proto below ${ASSAY_VENV}: run tools/setup.sh, or set ASSAY_VENV to a Python environment with the onnx wheel")
endif()
list(GET ASSAY_ONNX_PROTO 0 ASSAY_ONNX_PROTO)
get_filename_component(onnx_package ${ASSAY_ONNX_PROTO} DIRECTORY)
get_filename_component(site_packages ${onnx_package} DIRECTORY)
set(proto_out ${CMAKE_BINARY_DIR}/generated)
file(MAKE_DIRECTORY ${proto_out})
set(proto_sources ${proto_out}/onnx/onnx-ml.pb.cc ${proto_out}/onnx/onnx-data.pb.cc)
add_custom_command(
  OUTPUT ${proto_sources} ${proto_out}/onnx/onnx-ml.pb.h ${proto_out}/onnx/onnx-data.pb.h
  COMMAND protobuf::protoc --proto_path=${site_packages} --cpp_out=${proto_out} onnx/onnx-ml.proto onnx/onnx-data.proto
  DEPENDS ${onnx_package}/onnx-ml.proto ${onnx_package}/onnx-data.proto
  COMMENT "ONNX schema")
set_source_files_properties(${proto_sources} PROPERTIES COMPILE_OPTIONS -w GENERATED TRUE)
target_sources(formats PRIVATE ${proto_sources})
target_include_directories(formats SYSTEM PUBLIC ${proto_out})
assay_room_libraries(formats protobuf::libprotobuf nlohmann_json::nlohmann_json)
