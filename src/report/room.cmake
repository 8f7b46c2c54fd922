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

# Plotly's script, from the wheel that pins its version, is part of the program: a report has its plots wherever it is made.
file(GLOB ASSAY_PLOTLY_JS ${ASSAY_VENV}/lib/python3*/site-packages/plotly/package_data/plotly.min.js)
if(NOT ASSAY_PLOTLY_JS)
  message(FATAL_ERROR "no plotly.min.js below ${ASSAY_VENV}: run tools/setup.sh, or set ASSAY_VENV to a Python environment with the plotly wheel")
endif()
list(GET ASSAY_PLOTLY_JS 0 ASSAY_PLOTLY_JS)
configure_file(${CMAKE_SOURCE_DIR}/src/report/html/plotly.cpp.in ${CMAKE_BINARY_DIR}/report_plotly.cpp @ONLY)
target_sources(report PRIVATE ${CMAKE_BINARY_DIR}/report_plotly.cpp)
set_source_files_properties(${CMAKE_BINARY_DIR}/report_plotly.cpp PROPERTIES OBJECT_DEPENDS ${ASSAY_PLOTLY_JS})
