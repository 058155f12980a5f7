#include "backend/sim/fabric/shared_page.hpp"

#include "pydoca/status.hpp"

#include "detail/concat.hpp"
#include "detail/system_reason.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace pydoca::sim {

namespace {

[[noreturn]] void refuse_page(std::string_view what) {
  throw Error(Status::operating_system, detail::concat(what, ": ", detail::system_reason(errno)));
}

void* map_page(int file) {
  void* const address = ::mmap(nullptr, PageMapping::size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (address == MAP_FAILED) {
    refuse_page("cannot map a page of an export");
  }
  return address;
}

}  // namespace

detail::Fd create_page_file() {
  detail::Fd fd(::memfd_create("pydoca-page", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd || ::ftruncate(fd.get(), PageMapping::size) != 0 ||
      ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    refuse_page("cannot create a page of an export");
  }
  return fd;
}

PageMapping::PageMapping(detail::Fd& file) {
  detail::Fd fd = create_page_file();
  address_ = map_page(fd.get());
  file = std::move(fd);
}

PageMapping::PageMapping(int file) {
  require_sealed(file, size);
  address_ = map_page(file);
}

PageMapping::~PageMapping() { ::munmap(address_, size); }

void require_sealed(int file, std::uint64_t size) {
  const int seals = ::fcntl(file, F_GET_SEALS);
  constexpr int needed = F_SEAL_SHRINK | F_SEAL_GROW;
  struct stat info{};
  if (seals < 0 || (seals & needed) != needed || ::fstat(file, &info) != 0) {
    throw Error(Status::not_permitted, "import: the owner sent a file that is not sealed against resizing");
  }
  if (std::cmp_less(info.st_size, size)) {
    throw Error(Status::not_permitted,
                detail::concat("import: the owner sent a file of ", info.st_size, " bytes, and ", size, " are needed"));
  }
}

}  // namespace pydoca::sim
