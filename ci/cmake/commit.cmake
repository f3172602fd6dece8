# Writes OUTPUT (a header with the commit of SOURCE and whether its files were changed), but only if it says something
# new: it runs at every build, and what includes it should not be compiled at every build.
set(commit "unknown")
set(changed 0)
find_program(GIT git)
if(GIT)
  execute_process(COMMAND ${GIT} -C ${SOURCE} rev-parse HEAD OUTPUT_VARIABLE found RESULT_VARIABLE failed
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  # A copy of the source inside somebody else's repository is not that commit.
  execute_process(COMMAND ${GIT} -C ${SOURCE} rev-parse --show-prefix OUTPUT_VARIABLE prefix
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(failed EQUAL 0 AND prefix STREQUAL "")
    set(commit ${found})
    execute_process(COMMAND ${GIT} -C ${SOURCE} --no-optional-locks status --porcelain --untracked-files=no
                    OUTPUT_VARIABLE status ERROR_QUIET)
    if(NOT status STREQUAL "")
      set(changed 1)
    endif()
  endif()
endif()
set(text "#pragma once\n\n#define HB_COMMIT \"${commit}\"\n#define HB_COMMIT_CHANGED ${changed}\n")
set(old "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT text STREQUAL old)
  file(WRITE ${OUTPUT} "${text}")
endif()
