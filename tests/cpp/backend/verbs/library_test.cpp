#include "backend/verbs/library/library.hpp"

#include <pydoca/device.hpp>

#include "backend/verbs/adapter/device_list.hpp"
#include "backend/verbs/library/cm_library.hpp"
#include "detail/symbols.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <dlfcn.h>

namespace pydoca::verbs {
namespace {

using ::testing::HasSubstr;

TEST(VerbsLibrary, IsNotLinked) {
  for (const char* const file : {"libibverbs.so.1", "librdmacm.so.1"}) {
    EXPECT_EQ(::dlopen(file, RTLD_LAZY | RTLD_NOLOAD), nullptr) << file;
  }
}

TEST(VerbsLibrary, ThatIsNotThereIsNamedWithItsPackage) {
  detail::Symbols symbols("libno-such-thing.so.1", rdma_core_packages);
  void (*function)() = nullptr;
  symbols.require(function, "no_such_function", "NO_1.0");
  EXPECT_EQ(function, nullptr);
  EXPECT_THAT(symbols.reason(), HasSubstr("libno-such-thing.so.1 not found"));
  EXPECT_THAT(symbols.reason(), HasSubstr("apt-get install libibverbs1"));
}

TEST(VerbsLibrary, ThatIsTooOldNamesWhatItLacks) {
  detail::Symbols symbols("libc.so.6", rdma_core_packages);
  void (*function)() = nullptr;
  symbols.take(function, "ibv_new_thing", "IBVERBS_9.9");
  EXPECT_EQ(symbols.reason(), "");
  symbols.require(function, "ibv_new_thing", "IBVERBS_9.9");
  symbols.require(function, "ibv_newer_thing", "IBVERBS_9.9");
  EXPECT_THAT(symbols.reason(), HasSubstr("libc.so.6 has no ibv_new_thing of version IBVERBS_9.9"));
}

TEST(VerbsLibrary, IsWholeOrSaysWhyNot) {
  EXPECT_EQ(library().reason.empty(), library().wc_status_str != nullptr) << library().reason;
  EXPECT_EQ(cm_library().reason.empty(), cm_library().set_option != nullptr) << cm_library().reason;
}

TEST(VerbsBackend, IsListedOrSaysWhyNot) {
  ::setenv("PYDOCA_BACKEND", "verbs", 1);
  const auto absent = unavailable_backends();
  if (absent.empty()) {
    EXPECT_FALSE(devices().empty());
    return;
  }
  EXPECT_EQ(absent.front().name, "verbs");
  try {
    devices();
    FAIL() << "there are no devices";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::not_found);
    EXPECT_THAT(error.what(), HasSubstr(absent.front().reason));
  }
}

}  // namespace
}  // namespace pydoca::verbs
