# Tests: hb_test, and what all of them share.

find_package(GTest REQUIRED)
include(GoogleTest)

# What every test includes, compiled once.
add_library(hb_test_head OBJECT ${CMAKE_SOURCE_DIR}/tests/head.cpp)
set_target_properties(hb_test_head PROPERTIES UNITY_BUILD OFF)
target_compile_options(hb_test_head PRIVATE ${HB_OPT_TESTS})
target_link_libraries(hb_test_head PRIVATE GTest::gtest)
target_precompile_headers(hb_test_head PRIVATE
  <gtest/gtest.h> <algorithm> <functional> <map> <memory> <optional> <set> <string> <variant> <vector>)

# Where the source tree and the build directory are, which only one file knows.
configure_file(${CMAKE_SOURCE_DIR}/tests/paths.cpp.in ${CMAKE_BINARY_DIR}/tests/paths.cpp @ONLY)
hb_library(hb_test_paths SOURCES ${CMAKE_BINARY_DIR}/tests/paths.cpp)
set_target_properties(hb_test_paths PROPERTIES UNITY_BUILD OFF)

# hb_test(name SOURCES ... LINK ... [TIMEOUT s] [LABEL other than its name]): one GoogleTest binary; every test in it is a ctest.
function(hb_test name)
  # BY_HAND: not one of ctest's. ALONE: it compares times, so nothing runs beside it.
  cmake_parse_arguments(arg "BY_HAND;ALONE" "TIMEOUT;LABEL" "SOURCES;LINK" ${ARGN})
  if(NOT arg_LABEL)
    set(arg_LABEL ${name})
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(CMAKE_CROSSCOMPILING)  # an emulated processor is much slower
    math(EXPR arg_TIMEOUT "10 * ${arg_TIMEOUT}")
  endif()
  add_executable(${name} ${arg_SOURCES})
  hb_at_end(hb_unity ${name})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_options(${name} PRIVATE ${HB_OPT_TESTS})
  target_precompile_headers(${name} REUSE_FROM hb_test_head)
  target_link_libraries(${name} PRIVATE ${arg_LINK} hb_test_paths GTest::gtest GTest::gtest_main)
  if(arg_BY_HAND)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  else()
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60
      PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS ${arg_LABEL} RUN_SERIAL ${arg_ALONE})
  endif()
endfunction()
