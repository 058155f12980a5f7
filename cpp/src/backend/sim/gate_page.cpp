#include "backend/sim/gate_page.hpp"

#include "pydoca/status.hpp"

#include "detail/concat.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace pydoca::sim {

namespace {

constexpr std::size_t page_size = 4096;  // mapping rounds it up where pages are larger

[[noreturn]] void refuse(std::string_view what) {
  throw Error(Status::operating_system, detail::concat(what, ": ", std::strerror(errno)));
}

void* map_page(int file) {
  void* const address = ::mmap(nullptr, page_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (address == MAP_FAILED) {
    refuse("cannot map an export's gate");
  }
  return address;
}

}  // namespace

std::unique_ptr<GatePage> GatePage::create(detail::Fd& file) {
  detail::Fd fd(::memfd_create("pydoca-gate", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd || ::ftruncate(fd.get(), page_size) != 0 ||
      ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    refuse("cannot create an export's gate");
  }
  std::unique_ptr<GatePage> page(new GatePage(new (map_page(fd.get())) Gate));
  file = std::move(fd);
  return page;
}

std::unique_ptr<GatePage> GatePage::map(int file) {
  require_sealed(file, page_size);
  return std::unique_ptr<GatePage>(new GatePage(std::launder(static_cast<Gate*>(map_page(file)))));
}

GatePage::~GatePage() { ::munmap(gate_, page_size); }

void require_sealed(int file, std::uint64_t size) {
  const int seals = ::fcntl(file, F_GET_SEALS);
  constexpr int needed = F_SEAL_SHRINK | F_SEAL_GROW;
  struct stat info{};
  if (seals < 0 || (seals & needed) != needed || ::fstat(file, &info) != 0) {
    throw Error(Status::not_permitted, "import memory: the owner sent a file that is not sealed against resizing");
  }
  if (std::cmp_less(info.st_size, size)) {
    throw Error(Status::not_permitted, detail::concat("import memory: the owner sent a file of ", info.st_size,
                                                      " bytes, and ", size, " are needed"));
  }
}

}  // namespace pydoca::sim
