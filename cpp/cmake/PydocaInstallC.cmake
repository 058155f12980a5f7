# What C programs use of an installed tree: doca_*.h, a doca-<part>.pc and a target pydoca::doca_<part> for each part of the
# C API. Each part links the whole library. A program in C that links the static one also needs what C++ brings.
set(pydoca_c_link_flags "${pydoca_link_flags}")
set(pydoca_c_private_flags "-lstdc++ -lm -pthread -ldl")
if(NOT pydoca_kind STREQUAL "SHARED_LIBRARY")
  string(APPEND pydoca_c_link_flags " -lstdc++ -lm")
endif()

install(FILES ${CMAKE_CURRENT_BINARY_DIR}/capi/include/doca_build_config.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT pydoca_development)
get_property(pydoca_parts GLOBAL PROPERTY pydoca_capi_parts)
foreach(pydoca_part IN LISTS pydoca_parts)
  get_property(pydoca_headers GLOBAL PROPERTY pydoca_capi_headers_of_${pydoca_part})
  get_property(pydoca_requires GLOBAL PROPERTY pydoca_capi_parts_under_${pydoca_part})
  list(TRANSFORM pydoca_requires PREPEND doca-)
  list(JOIN pydoca_requires ", " pydoca_requires)
  configure_file(cmake/doca-part.pc.in doca-${pydoca_part}.pc @ONLY)
  install(FILES ${pydoca_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT pydoca_development)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/doca-${pydoca_part}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
    COMPONENT pydoca_development)
  string(REPLACE - _ pydoca_part_target doca_${pydoca_part})
  install(TARGETS ${pydoca_part_target} EXPORT pydocaTargets COMPONENT pydoca_development)
endforeach()
