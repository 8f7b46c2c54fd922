find_package(nlohmann_json REQUIRED)
# Debian's libopencv-imgproc-dev and -imgcodecs-dev come without OpenCV's CMake package. Only decode.cpp and area.cpp see
# these headers.
find_path(ASSAY_OPENCV_INCLUDE opencv2/imgcodecs.hpp PATH_SUFFIXES opencv4 REQUIRED)
target_include_directories(vision SYSTEM PRIVATE ${ASSAY_OPENCV_INCLUDE})
foreach(part core imgproc imgcodecs)
  find_library(ASSAY_OPENCV_${part} opencv_${part} REQUIRED)
  assay_room_libraries(vision ${ASSAY_OPENCV_${part}})
endforeach()
assay_room_libraries(vision nlohmann_json::nlohmann_json)
