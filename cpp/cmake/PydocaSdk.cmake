# The SDK of programs in C, as a part of the Python package: the tree that `pydoca sdk` copies. Its library has the engine in
# it and exports DOCA's functions only. The files are those of the host; the command makes those of the DPU of them.
if(NOT PYDOCA_SIDE STREQUAL "host")
  message(FATAL_ERROR "PYDOCA_SIDE is '${PYDOCA_SIDE}', and the Python package has the host's files: leave it out\n"
                      "  `pydoca sdk --side dpu` writes those of the DPU")
endif()
include(CMakePackageConfigHelpers)
set(pydoca_sdk_dir pydoca/_sdk/files)
add_library(pydoca_sdk SHARED $<TARGET_OBJECTS:pydoca_capi>)
target_link_libraries(pydoca_sdk PRIVATE pydoca)
set_target_properties(pydoca_sdk PROPERTIES
  LINKER_LANGUAGE CXX
  OUTPUT_NAME pydoca
  SOVERSION ${pydoca_abi})
set(pydoca_sdk_exports "${CMAKE_CURRENT_BINARY_DIR}/pydoca_sdk_exports.map")
file(WRITE "${pydoca_sdk_exports}" "PYDOCA_${pydoca_abi} {\n  global: doca_*;\n  local: *;\n};\n")
pydoca_link_for_older_systems(pydoca_sdk)
pydoca_harden_module(pydoca_sdk "${pydoca_sdk_exports}")
target_link_options(pydoca_sdk PRIVATE -Wl,--gc-sections)
# A wheel has no links, and the command makes the one that compilers look for.
install(TARGETS pydoca_sdk LIBRARY DESTINATION ${pydoca_sdk_dir}/lib COMPONENT python NAMELINK_SKIP)

get_property(pydoca_parts GLOBAL PROPERTY pydoca_capi_parts)
set(pydoca_libdir lib)
set(pydoca_up ../..)
set(pydoca_c_link_flags "-L\${libdir} -lpydoca -Wl,-rpath,\${libdir}")
set(pydoca_c_private_flags "")
set(CMAKE_INSTALL_INCLUDEDIR include)
set(pydoca_sdk_files "${CMAKE_CURRENT_BINARY_DIR}/sdk")
foreach(pydoca_part IN LISTS pydoca_parts)
  get_property(pydoca_headers GLOBAL PROPERTY pydoca_capi_headers_of_${pydoca_part})
  get_property(pydoca_requires GLOBAL PROPERTY pydoca_capi_parts_under_${pydoca_part})
  list(TRANSFORM pydoca_requires PREPEND doca-)
  list(JOIN pydoca_requires ", " pydoca_requires)
  configure_file(cmake/doca-part.pc.in "${pydoca_sdk_files}/lib/pkgconfig/doca-${pydoca_part}.pc" @ONLY)
  install(FILES ${pydoca_headers} DESTINATION ${pydoca_sdk_dir}/include COMPONENT python)
endforeach()
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/capi/include/doca_build_config.h"
  DESTINATION ${pydoca_sdk_dir}/include COMPONENT python)
configure_file(cmake/pydocaSdkConfig.cmake.in "${pydoca_sdk_files}/lib/cmake/pydoca/pydocaConfig.cmake" @ONLY)
write_basic_package_version_file("${pydoca_sdk_files}/lib/cmake/pydoca/pydocaConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(DIRECTORY "${pydoca_sdk_files}/" DESTINATION ${pydoca_sdk_dir} COMPONENT python)
install(DIRECTORY ../examples/c DESTINATION ${pydoca_sdk_dir}/share/doc/pydoca/examples COMPONENT python)
