# pydoca_require_gil(<python>): refuses a free-threaded build of Python, whose threads the bindings do not expect.
function(pydoca_require_gil python)
  set(question "import sysconfig; print(sysconfig.get_config_var('Py_GIL_DISABLED') or 0)")
  execute_process(COMMAND "${python}" -c "${question}" OUTPUT_VARIABLE answer OUTPUT_STRIP_TRAILING_WHITESPACE
                  COMMAND_ERROR_IS_FATAL ANY)
  if(answer)
    message(FATAL_ERROR "pydoca needs Python's GIL, and ${python} is a free-threaded build.\n"
                        "  Use the ordinary build of that version: python3.14, say, and not python3.14t")
  endif()
endfunction()

# pydoca_find_python(): finds the interpreter and its headers, or says why they cannot be used. The interpreter that was
# chosen is checked first: of a free-threaded one, some versions of CMake do not find the headers.
macro(pydoca_find_python)
  if(Python_EXECUTABLE)
    pydoca_require_gil("${Python_EXECUTABLE}")
  endif()
  find_package(Python 3.11 QUIET COMPONENTS Interpreter Development.Module)
  if(NOT Python_Development.Module_FOUND)
    message(FATAL_ERROR "pydoca needs the C headers of ${Python_EXECUTABLE} (Python.h), and they were not found.\n"
                        "  Debian/Ubuntu: apt-get install python3-dev")
  endif()
  pydoca_require_gil("${Python_EXECUTABLE}")
endmacro()
