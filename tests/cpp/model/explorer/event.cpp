#include "model/explorer/event.hpp"

#include <cerrno>
#include <sys/eventfd.h>

namespace pydoca::model {

EventFiles& event_files() noexcept {
  static EventFiles all;
  return all;
}

int EventFiles::create(Word count) noexcept {
  files_[num_files_] = {.count = count};
  return first_descriptor + static_cast<int>(num_files_++);
}

void sleep_on(int descriptor, std::source_location where) {
  EventFiles::File& file = event_files().of(descriptor);
  execution().sleep_until([](const void* count) { return *static_cast<const Word*>(count) != 0; }, &file.count,
                          file.cell(), {"poll", where});
}

bool is_readable(int descriptor, std::source_location where) {
  return execution().load(event_files().of(descriptor).cell(), std::memory_order_acquire, {"poll", where}) != 0;
}

void EdgeWatch::sleep(std::source_location where) {
  execution().sleep_until(&was_written, this, file_.cell(), {"epoll_wait", where});
  seen_ = file_.writes;
}

}  // namespace pydoca::model

extern "C" {

int eventfd(unsigned int count, int /*flags*/) noexcept { return pydoca::model::event_files().create(count); }

int eventfd_write(int descriptor, eventfd_t value) {
  auto& file = pydoca::model::event_files().of(descriptor);
  const auto add = [](pydoca::model::Word old, pydoca::model::Word more) { return old + more; };
  pydoca::model::execution().change(file.cell(), add, value, std::memory_order_acq_rel,
                                    {"eventfd_write", std::source_location::current()});
  ++file.writes;
  return 0;
}

int eventfd_read(int descriptor, eventfd_t* value) {
  const auto take = [](pydoca::model::Word, pydoca::model::Word) { return pydoca::model::Word{0}; };
  *value =
      pydoca::model::execution().change(pydoca::model::event_files().of(descriptor).cell(), take, 0,
                                        std::memory_order_acq_rel, {"eventfd_read", std::source_location::current()});
  if (*value == 0) {
    errno = EAGAIN;
    return -1;
  }
  return 0;
}

}  // extern "C"
