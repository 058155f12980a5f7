# pydoca_enable_warnings(<target>): the project's own code is held to these; third-party headers are SYSTEM.
function(pydoca_enable_warnings target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast
    -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align -Wformat=2 -Wimplicit-fallthrough)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -Wduplicated-cond -Wlogical-op)
    # GCC 12 sees overlaps inside std::string's operator+ that are not there (PR 105329).
    target_compile_options(${target} PRIVATE -Wno-restrict)
    if(PYDOCA_SANITIZE)
      # The instrumentation hides initialisations and null checks from these two.
      target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
    else()
      target_compile_options(${target} PRIVATE -Wnull-dereference)
    endif()
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # A macro of rdma-core's.
    target_compile_options(${target} PRIVATE -Wno-gnu-statement-expression-from-macro-expansion)
    # std::stable_sort in libstdc++ before 13 needs it: its own headers use what they deprecate.
    target_compile_options(${target} PRIVATE -Wno-deprecated-declarations)
  endif()
  if(PYDOCA_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()
