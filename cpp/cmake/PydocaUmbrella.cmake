# <pydoca/pydoca.hpp> brings all headers of programs. It is made here, so that a new header is in it without a line.
file(GLOB pydoca_headers RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/include CONFIGURE_DEPENDS
     ${CMAKE_CURRENT_SOURCE_DIR}/include/pydoca/*.hpp)
list(TRANSFORM pydoca_headers REPLACE "(.+)" "#include \"\\1\"" OUTPUT_VARIABLE pydoca_includes)
list(JOIN pydoca_includes "\n" pydoca_includes)
file(CONFIGURE OUTPUT umbrella/pydoca/pydoca.hpp @ONLY CONTENT [[
/// Everything that programs use. The header of a noun, such as <pydoca/dma.hpp>, compiles faster.
#pragma once

@pydoca_includes@
]])
target_include_directories(pydoca PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_BINARY_DIR}/umbrella>)
