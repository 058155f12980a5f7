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
