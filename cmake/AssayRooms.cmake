# assay_room(NAME [ROOMS...]): one object library per room from src/NAME/**.cpp, and one test program test_NAME from the
# *_test.cpp files that stand beside the behaviour they specify. Adding a source or test file needs no edit here.
#
# Object libraries, because operators, passes, formats and tasks register themselves from their own file and a static
# archive would drop a file that nobody refers to.

set(ASSAY_ROOMS "" CACHE INTERNAL "")

function(assay_room name)
  set(closure ${name})
  foreach(dep ${ARGN})
    list(APPEND closure ${ASSAY_CLOSURE_${dep}})
  endforeach()
  list(REMOVE_DUPLICATES closure)
  set(ASSAY_CLOSURE_${name} ${closure} PARENT_SCOPE)

  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cpp)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  if(name STREQUAL "app")
    list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  endif()
  if(NOT sources)
    set(sources ${CMAKE_SOURCE_DIR}/cmake/empty.cpp)
  endif()

  add_library(${name} OBJECT ${sources})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(${name} PUBLIC assay_options)
  include(${CMAKE_SOURCE_DIR}/src/${name}/room.cmake OPTIONAL)

  if(ASSAY_BUILD_TESTS AND tests)
    add_executable(test_${name} ${tests})
    assay_link_rooms(test_${name} ${closure})
    target_link_libraries(test_${name} PRIVATE GTest::gtest_main GTest::gmock)
    target_compile_definitions(test_${name} PRIVATE ASSAY_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    gtest_discover_tests(test_${name} TEST_PREFIX ${name}. DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 900
                         WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  endif()
endfunction()

# assay_link_rooms(TARGET ROOMS...): the objects of each room and the libraries they declared (assay_room_libraries).
function(assay_link_rooms target)
  foreach(room ${ARGN})
    target_link_libraries(${target} PRIVATE ${room})
  endforeach()
endfunction()

# assay_room_libraries(NAME LIBS...): third-party libraries of a room, called from src/NAME/room.cmake. Every program
# that holds the room's objects links them.
function(assay_room_libraries name)
  target_link_libraries(${name} PUBLIC ${ARGN})
endfunction()
