# What a shared library (BUILD_SHARED_LIBS) has beside the static one: a SONAME, and a list of what it exports.
# Public headers give their names the default visibility. The version script adds that only names of pydoca are exported, and the
# functions of DOCA's C API: otherwise the templates of the standard library that the engine uses would be, and another
# library could define them.
foreach(target IN LISTS pydoca_targets)
  # Names of the default visibility are inlined as others are. Clang does so unless told otherwise.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-semantic-interposition>)
endforeach()

# A minor version before 1.0 may change what programs were compiled with (docs/support.md).
set(pydoca_abi ${PROJECT_VERSION_MAJOR})
if(pydoca_abi EQUAL 0)
  set(pydoca_abi ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
endif()

get_target_property(pydoca_kind pydoca TYPE)
if(NOT pydoca_kind STREQUAL "SHARED_LIBRARY")
  return()
endif()
foreach(part TESTS BENCHMARKS PYTHON FUZZER)
  if(PYDOCA_BUILD_${part})
    message(FATAL_ERROR "PYDOCA_BUILD_${part} needs the static library, which has the engine's private names.\n"
                        "  Configure another directory without BUILD_SHARED_LIBS for it, or set PYDOCA_BUILD_${part}=OFF")
  endif()
endforeach()

set_target_properties(pydoca PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${pydoca_abi})
set(pydoca_exports "${CMAKE_CURRENT_BINARY_DIR}/pydoca_exports.map")
file(CONFIGURE OUTPUT "${pydoca_exports}" @ONLY CONTENT [[
PYDOCA_@pydoca_abi@ {
  global: doca_*; extern "C++" { pydoca::*; typeinfo?for?pydoca::*; typeinfo?name?for?pydoca::*; vtable?for?pydoca::*; };
  local: *;
};
]])
target_link_options(pydoca PRIVATE "-Wl,--version-script=${pydoca_exports}" -Wl,-z,relro,-z,now)
set_property(TARGET pydoca APPEND PROPERTY LINK_DEPENDS "${pydoca_exports}")
