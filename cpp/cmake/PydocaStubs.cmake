# The stubs in python/pydoca/_core have the types, the bindings the docstrings. What needs both is made here.
set(pydoca_python_sources "${PROJECT_SOURCE_DIR}/../python")
set(PYDOCA_TARGET_PYTHON "" CACHE FILEPATH
  "For cross-compiling: a program that runs Python of the target's version, and imports the module (QEMU, say)")

# pydoca_add_raw_types(<target>): gives the target's sources the header raw_types.hpp.
function(pydoca_add_raw_types target)
  set(script "${PROJECT_SOURCE_DIR}/cmake/raw_types.py")
  set(made "${CMAKE_CURRENT_BINARY_DIR}/made")
  set(stubs "${pydoca_python_sources}/pydoca/_core")
  file(GLOB sources CONFIGURE_DEPENDS "${stubs}/*.pyi")
  add_custom_command(OUTPUT "${made}/raw_types.hpp"
    COMMAND "${Python_EXECUTABLE}" -I "${script}" "${stubs}" "${made}/raw_types.hpp"
    DEPENDS "${script}" ${sources}
    COMMENT "Writing raw_types.hpp" VERBATIM)
  target_sources(${target} PRIVATE "${made}/raw_types.hpp")
  target_include_directories(${target} PRIVATE "${made}")
endfunction()

# pydoca_install_stubs(<module>): installs the stubs with docstrings, which it reads from the module.
function(pydoca_install_stubs module)
  # A module with sanitizers is not imported without their libraries, and only tests use it.
  if(PYDOCA_SANITIZE)
    return()
  endif()
  set(python "${Python_EXECUTABLE}")
  if(CMAKE_CROSSCOMPILING)
    if(NOT PYDOCA_TARGET_PYTHON)
      message(FATAL_ERROR "The stubs get their docstrings from the module, which this machine's Python does not import.\n"
                          "  Set PYDOCA_TARGET_PYTHON to a program that runs the target's Python, such as a script that "
                          "starts it under QEMU")
    endif()
    set(python "${PYDOCA_TARGET_PYTHON}")
  endif()
  set(script "${PROJECT_SOURCE_DIR}/cmake/stub_docs.py")
  set(made "${CMAKE_CURRENT_BINARY_DIR}/stubs")
  install(CODE "
    execute_process(COMMAND_ERROR_IS_FATAL ANY
      COMMAND [==[${python}]==] -I [==[${script}]==] [==[$<TARGET_FILE:${module}>]==]
        [==[${pydoca_python_sources}]==] [==[${made}]==])
    " COMPONENT python)
  install(DIRECTORY "${made}/" DESTINATION pydoca/_core COMPONENT python FILES_MATCHING PATTERN "*.pyi")
endfunction()
