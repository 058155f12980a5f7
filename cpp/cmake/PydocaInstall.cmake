# `cmake --install` gives a tree in which find_package(pydoca) works.
include(CMakePackageConfigHelpers)

# What is installed is for every linker, also one that cannot optimise across files.
foreach(target pydoca pydoca_setup)
  target_compile_options(${target} PRIVATE $<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release>>:-ffat-lto-objects>)
endforeach()

set(pydoca_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/pydoca)
install(TARGETS pydoca EXPORT pydocaTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/pydoca DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
install(EXPORT pydocaTargets NAMESPACE pydoca:: DESTINATION ${pydoca_package_dir})

configure_package_config_file(cmake/pydocaConfig.cmake.in pydocaConfig.cmake
  INSTALL_DESTINATION ${pydoca_package_dir})
write_basic_package_version_file(pydocaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/pydocaConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/pydocaConfigVersion.cmake
  DESTINATION ${pydoca_package_dir})
