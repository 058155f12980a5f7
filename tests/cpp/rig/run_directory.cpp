#include <cstdlib>

namespace pydoca {
namespace {

/// Processes of tests meet in a directory of the build, whatever others have put in /tmp.
[[maybe_unused]] const int is_set = ::setenv("XDG_RUNTIME_DIR", PYDOCA_TEST_DIRECTORY, 1);

}  // namespace
}  // namespace pydoca
