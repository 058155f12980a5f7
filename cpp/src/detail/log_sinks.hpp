#pragma once

#include "pydoca/log.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pydoca::log {

/// The level with this name or number; nothing for another text.
std::optional<Level> find_level(std::string_view text) noexcept;

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

  /// What the environment said of the lower limit and of the sdk limit; nothing where it was silent.
  using Environment = std::pair<std::optional<std::string>, std::optional<std::string>>;
  const Environment& environment() const noexcept { return environment_; }
  /// Whether these texts were checked for being levels.
  bool was_reported() const noexcept { return was_reported_; }
  void note_reported() noexcept { was_reported_ = true; }

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
  const Environment environment_;
  std::atomic<bool> was_reported_{false};
  std::atomic<Level> global_lower_{Level::info};
  std::atomic<Level> global_upper_{Level::crit};
  std::atomic<Level> global_sdk_{Level::info};
};

}  // namespace pydoca::log
