# Tests of what is installed: examples as users build them, for both sides, by CMake and by Meson; a project in C alone.
function(c_add_install_test name tools script)
  c_add_tool_test(c.install.${name} "${tools}" COMMAND ${CMAKE_COMMAND}
    -DBUILD_DIR=${pydoca_BINARY_DIR} -DBUILT_SIDE=${PYDOCA_SIDE} -DGENERATOR=${CMAKE_GENERATOR} -DCC=${CMAKE_C_COMPILER}
    -DEXAMPLES=${c_examples} -DWORK_DIR=${CMAKE_CURRENT_BINARY_DIR}/install/${name} ${ARGN}
    -P ${CMAKE_CURRENT_SOURCE_DIR}/install/${script}.cmake)
endfunction()

foreach(side host dpu)
  c_add_install_test(cmake_${side} pkg-config examples -DTOOL=cmake -DSIDE=${side})
  c_add_install_test(meson_${side} "meson;pkg-config" examples -DTOOL=meson -DSIDE=${side})
endforeach()
c_add_install_test(package "" package)
c_add_install_test(pkg_config pkg-config pkg_config)
