# Flags of every target, the optional packages, and hb_library.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
find_program(CCACHE ccache)
if(CCACHE)
  # Serves every clone from one cache: paths below the source tree are taken relative to it. Two things follow. No definition holds an
  # absolute path. Precompiled headers are of system headers only: g++ knows a header again by its time, which differs between clones.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()

# No floating-point contraction: the same source gives the same bits with and without FMA (docs/architecture.md, determinism).
set(HB_WARNINGS -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual)
option(HOPBENCH_WERROR "Warnings are errors, as in CI: OFF where a newer compiler may warn of something new" OFF)
if(HOPBENCH_WERROR)
  list(APPEND HB_WARNINGS -Werror)
endif()
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${HB_WARNINGS};-ffp-contract=off>")
add_compile_definitions($<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)  # false alarms on std::string operator+ in g++ 12 (GCC bug 105651)
endif()
if(HOPBENCH_SANITIZE)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${HOPBENCH_SANITIZE}>
                      $<$<COMPILE_LANGUAGE:CXX>:-fno-omit-frame-pointer> $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize-recover=all>)
  add_link_options(-fsanitize=${HOPBENCH_SANITIZE})
endif()

find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_path(MINIZIP_INCLUDE minizip/zip.h REQUIRED)
find_library(MINIZIP_LIBRARY minizip REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(CLI11 REQUIRED)
find_path(XXHASH_INCLUDE xxhash.h REQUIRED)
find_path(RANDOM123_INCLUDE Random123/philox.h REQUIRED)
find_path(EIGEN_INCLUDE Eigen/Core PATH_SUFFIXES eigen3 REQUIRED)

# hb_optional(PART target package...): sets HB_HAVE_PART, honouring HOPBENCH_PART = AUTO | ON | OFF.
function(hb_optional part target)
  set(have OFF)
  if(NOT HOPBENCH_${part} STREQUAL "OFF")
    if(ARGN)
      find_package(${ARGN} QUIET)
    endif()
    if(TARGET ${target})
      set(have ON)
    elseif(HOPBENCH_${part} STREQUAL "ON")
      message(FATAL_ERROR "HOPBENCH_${part}=ON, but ${target} was not found")
    endif()
  endif()
  message(STATUS "hopbench: ${part} ${have}")
  set(HB_HAVE_${part} ${have} PARENT_SCOPE)
endfunction()

# Debian's dnnl-config.cmake insists on OpenCL, which the library itself does without: take header and library as they are.
find_path(DNNL_INCLUDE dnnl.hpp)
find_library(DNNL_LIBRARY dnnl)
if(DNNL_INCLUDE AND DNNL_LIBRARY)
  add_library(DNNL::dnnl UNKNOWN IMPORTED)
  set_target_properties(DNNL::dnnl PROPERTIES IMPORTED_LOCATION "${DNNL_LIBRARY}"
                        INTERFACE_INCLUDE_DIRECTORIES "${DNNL_INCLUDE}")
endif()
hb_optional(ONEDNN DNNL::dnnl)
hb_optional(GLOO gloo Gloo)
find_path(HIREDIS_INCLUDE hiredis/hiredis.h)
find_library(HIREDIS_LIBRARY hiredis)
hb_optional(FIBERS Boost::context Boost COMPONENTS context)
include(cuda)

# What runs outside a trial is optimised a little only, and the tests' own code not at all: that halves the time of a
# first build. Under an address sanitizer, whose work on optimised code takes the compiler twice as long, neither is.
set(HB_OPT_COLD "")
set(HB_OPT_TESTS "")
if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(HB_OPT_COLD -O1)
  set(HB_OPT_TESTS -O0)
endif()
if(HOPBENCH_SANITIZE MATCHES "address")
  set(HB_OPT_COLD -O0)
endif()

# Where CMAKE_UNITY_BUILD is on (presets release, asan, tsan, tidy) six files are compiled at once, which saves a third again;
# models and the vectors' arithmetic always one by one, protocols unless HOPBENCH_UNITY_PROTOCOLS is on (protocols/CMakeLists.txt).
# Folders have precompiled headers, but not under clang (presets asan, clang, tidy): what clang compiles with one is of no use to the compiler
# cache of another clone. Either may hide that a file lacks an include: preset clang has neither.
#
# hb_unity(target): makes the files that include six sources each. CMake's own name sources by absolute paths, which no compiler cache could
# serve to another clone.
function(hb_unity target)
  get_target_property(unity ${target} UNITY_BUILD)
  get_target_property(mode ${target} UNITY_BUILD_MODE)
  if(NOT unity OR mode STREQUAL "GROUP")
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  set(alone "")
  set(files "")
  set(in_file 0)
  foreach(source IN LISTS sources)
    set(special OFF)
    foreach(property SKIP_UNITY_BUILD_INCLUSION COMPILE_DEFINITIONS COMPILE_OPTIONS)
      get_source_file_property(value ${source} ${property})
      if(value)
        set(special ON)
      endif()
    endforeach()
    if(special OR NOT source MATCHES "\\.cpp$")
      list(APPEND alone ${source})
      continue()
    endif()
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_SOURCE_DIR})
    math(EXPR number "${in_file} / 6")
    math(EXPR in_file "${in_file} + 1")
    string(APPEND text_${number} "#include \"${source}\"\n")
  endforeach()
  if(in_file GREATER 0)
    foreach(number RANGE ${number})
      set(file ${CMAKE_CURRENT_BINARY_DIR}/unity/${target}_${number}.cpp)
      file(CONFIGURE OUTPUT ${file} CONTENT "${text_${number}}" @ONLY)
      list(APPEND files ${file})
    endforeach()
  endif()
  set_target_properties(${target} PROPERTIES SOURCES "${alone};${files}" UNITY_BUILD OFF)
endfunction()

# hb_at_end(command target): calls it when this directory's lists are complete.
function(hb_at_end command target)
  cmake_language(EVAL CODE "cmake_language(DEFER CALL ${command} ${target})")
endfunction()

# hb_library(name SOURCES ... LINK ...): a static library of one folder; includes are quoted from the root.
function(hb_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${arg_LINK})
  hb_at_end(hb_unity ${name})
endfunction()
