#pragma once

#include "detail/fd.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace pydoca::sim {

/// A new file of one page of zeros that cannot shrink or grow. Throws operating_system.
detail::Fd create_page_file();

/// A mapping of one page, an unnamed file that cannot shrink or grow.
class PageMapping {
 public:
  static constexpr std::size_t size = 4096;  // mapping rounds it up where pages are larger

  /// A new page of zeros; file receives its sealed memfd, to be handed to other processes. Throws operating_system.
  explicit PageMapping(detail::Fd& file);
  /// A page that another process sent. Throws not_permitted when the file's size could still change.
  explicit PageMapping(int file);
  ~PageMapping();
  PageMapping(const PageMapping&) = delete;
  PageMapping& operator=(const PageMapping&) = delete;

  void* address() const noexcept { return address_; }

 private:
  void* address_;
};

/// A T at the start of a page that processes share.
template <class T>
class SharedPage {
 public:
  static_assert(sizeof(T) <= PageMapping::size);

  static std::unique_ptr<SharedPage> create(detail::Fd& file) {
    std::unique_ptr<SharedPage> page(new SharedPage(file));
    new (page->mapping_.address()) T;
    return page;
  }
  static std::unique_ptr<SharedPage> map(int file) { return std::unique_ptr<SharedPage>(new SharedPage(file)); }

  T& operator*() const noexcept { return *std::launder(static_cast<T*>(mapping_.address())); }
  T* operator->() const noexcept { return &**this; }

 private:
  template <class File>
  explicit SharedPage(File& file) : mapping_(file) {}

  PageMapping mapping_;
};

/// Throws not_permitted unless file is a memfd that cannot shrink or grow, with at least size bytes.
void require_sealed(int file, std::uint64_t size);

}  // namespace pydoca::sim
