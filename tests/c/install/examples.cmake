# Installs the build tree under WORK_DIR as the SDK of SIDE, builds every program of EXAMPLES against it with TOOL (cmake or
# meson), and runs those of one process. BUILD_DIR was built for BUILT_SIDE.
file(REMOVE_RECURSE ${WORK_DIR})
set(prefix ${WORK_DIR}/prefix)
execute_process(COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET
  COMMAND ${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${prefix})

if(NOT SIDE STREQUAL BUILT_SIDE)
  set(text_host "side=host")
  set(text_dpu "side=dpu ")
  string(TOUPPER ${SIDE} macro)
  string(TOUPPER ${BUILT_SIDE} built_macro)
  file(GLOB_RECURSE libraries ${prefix}/*/libpydoca*)
  foreach(library IN LISTS libraries)
    execute_process(COMMAND_ERROR_IS_FATAL ANY COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C
      sed -i "s/programs of the ${text_${BUILT_SIDE}}/programs of the ${text_${SIDE}}/" ${library})
  endforeach()
  file(READ ${prefix}/include/doca_build_config.h header)
  string(REPLACE "define DOCA_ARCH_${built_macro}" "define DOCA_ARCH_${macro}" header "${header}")
  file(WRITE ${prefix}/include/doca_build_config.h "${header}")
endif()

file(GLOB_RECURSE descriptions ${prefix}/*/doca-common.pc)
list(GET descriptions 0 description)
cmake_path(GET description PARENT_PATH pkgconfig)
set(ENV{PKG_CONFIG_PATH} ${pkgconfig})
set(ENV{CC} ${CC})
find_program(mold mold)
if(mold)
  set(ENV{LDFLAGS} -fuse-ld=mold)  # much faster than other linkers
endif()

function(build_with_cmake folder build)
  execute_process(COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET
    COMMAND ${CMAKE_COMMAND} -S ${folder} -B ${build} -G ${GENERATOR} "-DCMAKE_C_FLAGS=-Wall -Wextra -Werror")
  execute_process(COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET COMMAND ${CMAKE_COMMAND} --build ${build})
endfunction()

function(build_with_meson folder build)
  execute_process(COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET COMMAND meson setup --werror ${build} ${folder})
  execute_process(COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET COMMAND meson compile -C ${build})
endfunction()

file(GLOB makefiles ${EXAMPLES}/*/meson.build)
foreach(makefile IN LISTS makefiles)
  cmake_path(GET makefile PARENT_PATH folder)
  cmake_path(GET folder FILENAME name)
  cmake_language(CALL build_with_${TOOL} ${folder} ${WORK_DIR}/${name})
endforeach()

file(MAKE_DIRECTORY ${WORK_DIR}/fabric)
file(CHMOD ${WORK_DIR}/fabric PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
set(ENV{PYDOCA_FABRIC_DIR} ${WORK_DIR}/fabric)
set(ENV{PYDOCA_PROFILE} all)
unset(ENV{LD_LIBRARY_PATH})
foreach(program clock/clock dma_copy/dma_copy graph/graph_copy logger/logger
    progress_engine_event/progress_engine_event sha/sha_digest sync_event_local/sync_event_local)
  message(STATUS ${program})
  execute_process(COMMAND_ERROR_IS_FATAL ANY COMMAND ${WORK_DIR}/${program})
endforeach()
execute_process(COMMAND_ERROR_IS_FATAL ANY COMMAND ${WORK_DIR}/options/copy_texts -j ${EXAMPLES}/options/options.json)
