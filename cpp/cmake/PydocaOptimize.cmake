# Release builds are optimised across files: the path of one task goes through a dozen of them.
if(NOT DEFINED CMAKE_INTERPROCEDURAL_OPTIMIZATION AND NOT DEFINED CMAKE_INTERPROCEDURAL_OPTIMIZATION_RELEASE)
  include(CheckIPOSupported)
  check_ipo_supported(RESULT pydoca_has_ipo LANGUAGES CXX)
  set(CMAKE_INTERPROCEDURAL_OPTIMIZATION_RELEASE ${pydoca_has_ipo})
endif()
