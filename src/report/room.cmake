find_package(nlohmann_json REQUIRED)
assay_room_libraries(report nlohmann_json::nlohmann_json)

# report.css and report.js are kept as files of their own and compiled in as text, so that the page is one file.
foreach(part css js)
  set(asset ${CMAKE_SOURCE_DIR}/src/report/html/report.${part})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${asset})
  file(READ ${asset} ASSAY_REPORT_${part})
endforeach()
configure_file(${CMAKE_SOURCE_DIR}/src/report/html/assets.cpp.in ${CMAKE_BINARY_DIR}/report_assets.cpp @ONLY)
target_sources(report PRIVATE ${CMAKE_BINARY_DIR}/report_assets.cpp)
