# Installs the build tree under WORK_DIR, then configures, builds and runs the consumer against it.
file(REMOVE_RECURSE ${WORK_DIR})

execute_process(COMMAND_ERROR_IS_FATAL ANY
  COMMAND ${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${WORK_DIR}/prefix)
execute_process(COMMAND_ERROR_IS_FATAL ANY
  COMMAND ${CMAKE_COMMAND} -S ${CONSUMER_DIR} -B ${WORK_DIR}/build -G ${GENERATOR}
    -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_PREFIX_PATH=${WORK_DIR}/prefix)
execute_process(COMMAND_ERROR_IS_FATAL ANY
  COMMAND ${CMAKE_COMMAND} --build ${WORK_DIR}/build)
file(READ ${WORK_DIR}/build/consumers.txt consumers)
foreach(consumer IN LISTS consumers)
  message(STATUS ${consumer})
  execute_process(COMMAND_ERROR_IS_FATAL ANY
    COMMAND ${CMAKE_COMMAND} -E env PYDOCA_FABRIC_DIR=${WORK_DIR} ${WORK_DIR}/build/${consumer})
endforeach()
