#include <doca_version.h>

const char* doca_version_runtime() { return DOCA_VERSION_STRING; }
