#pragma once

#include "pydoca/log.hpp"

#include <atomic>
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

  Sinks();

  std::shared_ptr<const List> list();
  void limit_all(Family family, Level level);
  void publish();

  std::mutex mutex_;
  std::shared_ptr<List> list_ = std::make_shared<List>();
  std::multiset<std::string> sources_;
  std::atomic<Level> global_lower_{Level::info};
  std::atomic<Level> global_upper_{Level::crit};
  std::atomic<Level> global_sdk_{Level::info};
};

}  // namespace pydoca::log
