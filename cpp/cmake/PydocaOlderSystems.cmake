# pydoca_link_for_older_systems(<module>): it runs on every system since glibc 2.28 and GCC 8 (manylinux_2_28), where
# PYDOCA_OLDER_LIBRARIES is a directory that script/older_libraries.py has written. script/wheels does both.
set(PYDOCA_OLDER_LIBRARIES "" CACHE PATH "Stand-ins of older C and C++ libraries, to link the Python module with")

function(pydoca_link_for_older_systems target)
  if(NOT PYDOCA_OLDER_LIBRARIES)
    return()
  endif()
  target_link_directories(${target} BEFORE PRIVATE "${PYDOCA_OLDER_LIBRARIES}")
  # A linker takes the first that it finds: what the stand-ins do not have comes from the static libraries behind them.
  # libstdc++ is needed in any case; otherwise the linker would pass over it, as it does not count the references of
  # objects that it optimises across files. The loader has functions of its own on some processors only.
  target_link_libraries(${target} PRIVATE
    -Wl,--push-state,--no-as-needed stdc++ -Wl,--as-needed dl pthread m c loader -Wl,--pop-state
    -l:libstdc++.a -l:libc_nonshared.a)
  target_link_options(${target} PRIVATE -Wl,--gc-sections)
endfunction()
