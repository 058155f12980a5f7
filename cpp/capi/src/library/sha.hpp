#pragma once

#include "pydoca/sha.hpp"

#include "library/library.hpp"

#include <doca_sha.h>

struct doca_sha : pydoca::capi::Library<"SHA context", pydoca::Sha, doca_sha_task_hash, doca_sha_task_partial_hash> {};
