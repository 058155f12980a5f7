#pragma once

#include "pydoca/log.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace pydoca::log {

/// All sinks and sources and the global limits. A list that a thread walks is replaced, never changed, so that a thread
/// which logs calls outputs under no lock.
class Sinks {
 public:
  /// Made at load and never destroyed: threads may log until the process is gone.
  static Sinks& all();

  void add(const std::shared_ptr<Sink>& sink);
  /// Allocates only while another thread logs.
  void remove(const Sink& sink);

  /// Throw not_permitted where a strict limit would be relaxed. lower is also the limit of an engine sink.
  void set_lower(Sink& sink, Level level);
  void set_upper(Sink& sink, Level level);
  void set_strict(bool Sink::* limit, Sink& sink);

  void set_all_lower(Level level);
  void set_all_upper(Level level);
  void set_all_sdk(Level level);

  void deliver(const Record& record);

  void add_source(const std::string& name);
  void remove_source(const std::string& name);
  std::vector<std::string> sources();

  Level global_lower() const noexcept { return global_lower_; }
  Level global_upper() const noexcept { return global_upper_; }
  Level global_sdk() const noexcept { return global_sdk_; }

 private:
  using List = std::vector<std::shared_ptr<Sink>>;

  /// A thread's walk through the list, which stays as it is meanwhile.
  class Walk {
   public:
    explicit Walk(Sinks& sinks);
    ~Walk();
    Walk(const Walk&) = delete;
    Walk& operator=(const Walk&) = delete;

    const List& list() const noexcept { return *list_; }

   private:
    Sinks& sinks_;
    std::shared_ptr<const List> list_;
  };

  Sinks();

  void limit_all(Family family, Level level);
  void publish();

  std::mutex mutex_;
  std::shared_ptr<List> list_ = std::make_shared<List>();
  /// Not list_.use_count(), which does not order what a thread did before it dropped the list.
  std::atomic<std::uint32_t> walks_{0};
  std::multiset<std::string> sources_;
  std::atomic<Level> global_lower_{Level::info};
  std::atomic<Level> global_upper_{Level::crit};
  std::atomic<Level> global_sdk_{Level::info};
};

}  // namespace pydoca::log
