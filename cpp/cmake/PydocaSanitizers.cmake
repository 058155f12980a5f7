# PYDOCA_SANITIZE instruments everything that is built here, tests included, so it is set before any target.
# PYDOCA_TEST_LAUNCHER is what tests are started with.
set(PYDOCA_TEST_LAUNCHER "")
if(NOT PYDOCA_SANITIZE)
  return()
endif()

add_compile_options(-fsanitize=${PYDOCA_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
add_link_options(-fsanitize=${PYDOCA_SANITIZE})

# GCC's names, which Clang does not define.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  foreach(name address thread)
    if(PYDOCA_SANITIZE MATCHES ${name})
      string(TOUPPER __SANITIZE_${name}__ pydoca_macro)
      add_compile_definitions(${pydoca_macro}=1)
    endif()
  endforeach()
endif()

# TSan of older compilers aborts with "unexpected memory mapping" where the kernel randomises
# addresses with more than 28 bits; without randomisation it runs. A container may forbid the switch.
if(PYDOCA_SANITIZE MATCHES "thread")
  find_program(PYDOCA_SETARCH setarch)
  if(PYDOCA_SETARCH)
    execute_process(COMMAND ${PYDOCA_SETARCH} -R true
      RESULT_VARIABLE pydoca_setarch_result OUTPUT_QUIET ERROR_QUIET)
    if(pydoca_setarch_result EQUAL 0)
      set(PYDOCA_TEST_LAUNCHER ${PYDOCA_SETARCH} -R)
    endif()
  endif()
  if(NOT PYDOCA_TEST_LAUNCHER)
    message(WARNING "setarch -R does not work here; if tests abort with \"unexpected memory mapping\", "
                    "run: sysctl vm.mmap_rnd_bits=28")
  endif()
endif()
