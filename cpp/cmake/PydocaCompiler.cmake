# Enables C++ and checks the compiler: the engine uses C++20 as GCC 12 and Clang 16 implement it.
if(NOT CMAKE_HOST_SYSTEM_NAME STREQUAL "Linux")
  message(FATAL_ERROR "pydoca runs on Linux only; this is ${CMAKE_HOST_SYSTEM_NAME}.")
endif()

include(CheckLanguage)
check_language(CXX)
if(NOT CMAKE_CXX_COMPILER)
  unset(CMAKE_CXX_COMPILER CACHE) # else the next run would not look again
  message(FATAL_ERROR "pydoca needs a C++20 compiler, and found none that works.\n"
                      "  environment:   CXX='$ENV{CXX}' CXXFLAGS='$ENV{CXXFLAGS}'\n"
                      "  Debian/Ubuntu: apt-get install g++\n"
                      "  elsewhere:     set the environment variable CXX to GCC 12 or Clang 16, or newer")
endif()
enable_language(CXX)

function(pydoca_require_compiler id minimum)
  if(CMAKE_CXX_COMPILER_ID STREQUAL id AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS minimum)
    message(FATAL_ERROR
      "pydoca needs ${id} ${minimum} or newer; ${CMAKE_CXX_COMPILER} is ${CMAKE_CXX_COMPILER_VERSION}.\n"
      "  Debian/Ubuntu: apt-get install g++-12, then set the environment variable CXX to g++-12")
  endif()
endfunction()

pydoca_require_compiler(GNU 12)
pydoca_require_compiler(Clang 16)
