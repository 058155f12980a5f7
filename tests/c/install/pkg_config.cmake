# Installs the build tree under WORK_DIR. Compilers of C link its archive by what pkg-config says, with and without --static.
file(REMOVE_RECURSE ${WORK_DIR})
set(prefix ${WORK_DIR}/prefix)
execute_process(COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET
  COMMAND ${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${prefix})
file(GLOB_RECURSE descriptions ${prefix}/*/doca-dma.pc)
list(GET descriptions 0 description)
cmake_path(GET description PARENT_PATH pkgconfig)
set(ENV{PKG_CONFIG_PATH} ${pkgconfig})
set(ENV{PYDOCA_FABRIC_DIR} ${WORK_DIR})
file(GLOB sources ${EXAMPLES}/common/common.c ${EXAMPLES}/common/dma_common.c ${EXAMPLES}/dma_copy/*.c)

find_program(mold mold)
if(mold)
  set(linker -fuse-ld=mold)  # much faster than other linkers
endif()

# build(<compiler> <option of pkg-config>...)
function(build compiler)
  execute_process(COMMAND_ERROR_IS_FATAL ANY OUTPUT_VARIABLE flags
    COMMAND pkg-config ${ARGN} --cflags --libs doca-common doca-dma)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  execute_process(COMMAND_ERROR_IS_FATAL ANY
    COMMAND ${compiler} -std=gnu11 -Wall -Wextra -Werror -DDOCA_ALLOW_EXPERIMENTAL_API -I${EXAMPLES}/common ${sources}
      ${flags} ${linker} -o ${WORK_DIR}/program)
  execute_process(COMMAND_ERROR_IS_FATAL ANY OUTPUT_VARIABLE printed COMMAND ${WORK_DIR}/program)
  if(NOT printed MATCHES "This text was copied by DMA")
    message(SEND_ERROR "${compiler} ${flags}: the program prints '${printed}'")
  endif()
endfunction()

foreach(name gcc clang clang-19)
  find_program(found_${name} ${name})
  if(found_${name})
    message(STATUS ${name})
    build(${found_${name}} --static)
    build(${found_${name}})
  endif()
endforeach()
