# Installs the build tree under WORK_DIR. A project in C alone finds its package, builds and runs.
file(REMOVE_RECURSE ${WORK_DIR})
set(prefix ${WORK_DIR}/prefix)
execute_process(COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET
  COMMAND ${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${prefix})
execute_process(COMMAND_ERROR_IS_FATAL ANY
  COMMAND ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/package -B ${WORK_DIR}/build -G ${GENERATOR}
    -DCMAKE_C_COMPILER=${CC} -DCMAKE_PREFIX_PATH=${prefix})
execute_process(COMMAND_ERROR_IS_FATAL ANY COMMAND ${CMAKE_COMMAND} --build ${WORK_DIR}/build)
execute_process(COMMAND_ERROR_IS_FATAL ANY OUTPUT_VARIABLE devices
  COMMAND ${CMAKE_COMMAND} -E env PYDOCA_BACKEND=sim PYDOCA_FABRIC_DIR=${WORK_DIR} ${WORK_DIR}/build/consumer)
if(NOT devices MATCHES "0000:")
  message(SEND_ERROR "the program sees no device: '${devices}'")
endif()
