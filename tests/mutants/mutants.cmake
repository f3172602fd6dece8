# Protocols with one bug each, for tests/protocols/mutants_test.cpp: copies of protocols/*/*.cpp with a piece of text replaced, in
# namespaces of their own: hopbench::mutants::NAME instead of hopbench. So the product has no hooks for it.
#
#   cmake -DROOT=<source dir> -DOUT=<folder> -P mutants.cmake
#
# A mutant whose text is no longer found, or found twice, fails the build: then the mutation is to be adapted.
cmake_minimum_required(VERSION 3.25)

# mutant(name "source;source..." before after): joins protocols/*/<source>.h and .cpp into one file and mutates it.
function(mutant name sources before after)
  set(text "")
  foreach(source ${sources})
    file(GLOB header "${ROOT}/protocols/*/${source}.h")
    if(header)
      file(READ "${header}" part)
      string(APPEND text "${part}")
    endif()
  endforeach()
  foreach(source ${sources})
    file(GLOB code "${ROOT}/protocols/*/${source}.cpp")
    if(code)
      file(READ "${code}" part)
      string(APPEND text "${part}")
    endif()
  endforeach()
  foreach(source ${sources})
    string(REGEX REPLACE "#include \"protocols/[a-z]+/${source}[.]h\"\n" "" text "${text}")
  endforeach()
  string(REPLACE "#pragma once\n" "" text "${text}")

  string(FIND "${text}" "${before}" first)
  string(FIND "${text}" "${before}" last REVERSE)
  if(first EQUAL -1 OR NOT first EQUAL last)
    message(FATAL_ERROR "mutant ${name}: this text should be once in protocols/*/{${sources}}, but is not:\n${before}")
  endif()
  string(REPLACE "${before}" "${after}" text "${text}")
  string(REGEX REPLACE "\nnamespace hopbench( |::)" "\nnamespace hopbench::mutants::${name}\\1" text "${text}")
  foreach(family ${families})  # what it does not bring is the product's
    string(PREPEND text "namespace hopbench::${family} {}\n"
           "namespace hopbench::mutants::${name}::${family} { using namespace hopbench::${family}; }\n")
  endforeach()
  file(WRITE "${OUT}/${name}.cpp" "${text}")
endfunction()

file(GLOB families LIST_DIRECTORIES true RELATIVE "${ROOT}/protocols" "${ROOT}/protocols/*")
list(FILTER families EXCLUDE REGEX "^node$|[.]")
include("${CMAKE_CURRENT_LIST_DIR}/list.cmake")
