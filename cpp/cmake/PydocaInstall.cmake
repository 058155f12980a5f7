# `cmake --install` gives a tree in which find_package(pydoca) works.
include(CMakePackageConfigHelpers)

# What is installed is machine code for every linker: whether a program is optimised across files is for its builder to
# say, who may link with other options than the library had. GCC's objects have machine code beside what its own linker
# optimises, which is removed from the installed archive. Those of Clang with -flto would have none, so there the library
# is optimised file by file. A builder who told CMake has what they asked for.
foreach(target pydoca pydoca_setup)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-ffat-lto-objects>)
  elseif(pydoca_has_ipo)
    set_target_properties(${target} PROPERTIES INTERPROCEDURAL_OPTIMIZATION_RELEASE OFF)
  endif()
endforeach()

set(pydoca_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/pydoca)
install(TARGETS pydoca EXPORT pydocaTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND pydoca_has_ipo)
  install(CODE "
    execute_process(COMMAND_ERROR_IS_FATAL ANY
      COMMAND \"${CMAKE_OBJCOPY}\" --remove-section=.gnu.lto_* --remove-section=.gnu.debuglto_*
        --strip-symbol=__gnu_lto_v1 --strip-symbol=__gnu_lto_slim
        \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/$<TARGET_FILE_NAME:pydoca>\")")
endif()
install(DIRECTORY include/pydoca DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
install(EXPORT pydocaTargets NAMESPACE pydoca:: DESTINATION ${pydoca_package_dir})

configure_package_config_file(cmake/pydocaConfig.cmake.in pydocaConfig.cmake
  INSTALL_DESTINATION ${pydoca_package_dir})
write_basic_package_version_file(pydocaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/pydocaConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/pydocaConfigVersion.cmake
  DESTINATION ${pydoca_package_dir})
