#include "backend/faulty/plan/plan.hpp"

#include "pydoca/device_properties.hpp"

#include "backend/faulty/plan/selection.hpp"
#include "detail/concat.hpp"
#include "detail/time/time.hpp"

#include <algorithm>
#include <utility>

namespace pydoca {

std::shared_ptr<FaultPlan> FaultPlan::create(std::vector<FaultRule> rules, std::uint64_t seed) {
  faulty::check(rules);
  return std::make_shared<faulty::Plan>(std::move(rules), seed);
}

std::shared_ptr<FaultPlan> FaultPlan::in_force() { return faulty::Plan::current(); }

namespace faulty {

namespace {

using detail::concat;

/// The plan in force. Never destroyed: devices may be opened while static destructors run.
struct Force {
  std::mutex mutex;
  std::shared_ptr<Plan> plan;
  std::uint64_t installations = 0;
  std::atomic<bool> any{false};  ///< lets a process without a plan take no lock

  static Force& instance() {
    static auto* const force = new Force;
    return *force;
  }
};

/// splitmix64.
std::uint64_t next_random(std::uint64_t& state) noexcept {
  std::uint64_t mixed = state += 0x9e3779b97f4a7c15;
  mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111eb;
  return mixed ^ (mixed >> 31U);
}

bool draw(std::uint64_t& state, double probability) noexcept {
  constexpr double unit = 1.0 / 9007199254740992.0;  // 2^-53
  return probability >= 1 || static_cast<double>(next_random(state) >> 11U) * unit < probability;
}

std::string key_of(const DeviceProperties& properties) {
  return concat(properties.backend, "/", static_cast<unsigned>(properties.side), "/", properties.name);
}

}  // namespace

Plan::Plan(std::vector<FaultRule> rules, std::uint64_t seed)
    : rules_(std::move(rules)), seed_(seed), counts_(rules_.size()) {
  reset();
}

std::shared_ptr<Plan> Plan::current() {
  Force& force = Force::instance();
  if (!force.any.load(std::memory_order_acquire)) {
    return nullptr;
  }
  const std::lock_guard lock(force.mutex);
  return force.plan;
}

/// The random numbers of a rule do not change when rules of other actions join or leave the plan.
void Plan::reset() noexcept {
  constexpr std::uint64_t rules_of_an_action = 1024;
  const std::lock_guard lock(mutex_);
  for (std::size_t number = 0; number < counts_.size(); ++number) {
    const FaultAction action = rules_[number].action;
    const auto before = std::count_if(rules_.begin(), rules_.begin() + static_cast<std::ptrdiff_t>(number),
                                      [=](const FaultRule& rule) { return rule.action == action; });
    std::uint64_t mixed = detail::mixed_seed(seed_) + static_cast<std::uint64_t>(action) * rules_of_an_action +
                          static_cast<std::uint64_t>(before);
    counts_[number] = {};
    counts_[number].random = next_random(mixed);
  }
  removed_.clear();
}

void Plan::enter_force() {
  Force& force = Force::instance();
  const std::lock_guard lock(force.mutex);
  if (force.plan != nullptr) {
    throw Error(Status::already_exist, concat("install a fault plan: ", force.plan.get() == this ? "it" : "another one",
                                              " is in force in this process; remove that first"));
  }
  reset();
  installation_.store(++force.installations, std::memory_order_relaxed);
  begin_.store(detail::now(), std::memory_order_relaxed);
  force.plan = std::static_pointer_cast<Plan>(shared_from_this());
  in_force_.store(true, std::memory_order_release);
  force.any.store(true, std::memory_order_release);
}

bool Plan::leave_force() noexcept {
  std::shared_ptr<Plan> kept;  // outlives the lock, in case it is the last reference
  Force& force = Force::instance();
  const std::lock_guard lock(force.mutex);
  if (force.plan.get() != this) {
    return false;
  }
  kept = std::move(force.plan);
  force.plan = nullptr;
  in_force_.store(false, std::memory_order_release);
  force.any.store(false, std::memory_order_release);
  return true;
}

bool Plan::concerns(const DeviceProperties& properties) const noexcept {
  return std::ranges::any_of(rules_, [&](const FaultRule& rule) { return names(rule, properties); });
}

bool Plan::is_open(const FaultRule& rule) const noexcept {
  if (rule.after.count() == 0 && rule.until == std::chrono::nanoseconds::max()) {
    return true;
  }
  const auto since = std::chrono::nanoseconds(detail::now() - begin_.load(std::memory_order_relaxed));
  return since >= rule.after && since < rule.until;
}

/// Draws for each operation that the rule selects, so that the draws do not depend on what other rules do.
bool Plan::triggers(const FaultRule& rule, Counts& counts) const noexcept {
  const bool drawn = draw(counts.random, rule.probability);
  const bool counted = (rule.nth == 0 || counts.matched == rule.nth) &&
                       (rule.every == 0 || counts.matched % rule.every == 0) &&
                       (rule.times == 0 || counts.triggered < rule.times);
  return drawn && counted;
}

Fault Plan::decide(std::span<const std::size_t> numbers, FaultOperation operation) noexcept {
  Fault fault;
  if (!is_in_force()) {
    return fault;
  }
  for (const std::size_t number : numbers) {
    const FaultRule& rule = rules_[number];
    if (!is_open(rule)) {
      continue;
    }
    if (rule.when) {
      {
        const std::lock_guard lock(mutex_);
        operation.number = ++counts_[number].offered;
      }
      if (!rule.when(operation)) {
        continue;
      }
    }
    const std::lock_guard lock(mutex_);
    Counts& counts = counts_[number];
    ++counts.matched;
    if (triggers(rule, counts) && fault.rule == nullptr) {
      ++counts.triggered;
      fault = {.rule = &rule, .number = number, .random = next_random(counts.random)};
    }
  }
  return fault;
}

void Plan::note_impossible(const Fault& fault, Spared why) noexcept {
  const std::lock_guard lock(mutex_);
  Counts& counts = counts_[fault.number];
  --counts.triggered;
  ++(why == Spared::elsewhere ? counts.elsewhere : counts.too_short);
}

void Plan::note_opened(const DeviceProperties& properties) {
  const std::lock_guard lock(mutex_);
  for (std::size_t number = 0; number < rules_.size(); ++number) {
    if (!names(rules_[number], properties)) {
      continue;
    }
    Counts& counts = counts_[number];
    counts.seen = counts.opened = true;
    for (std::size_t opcode = 0; opcode < opcode_names().size(); ++opcode) {
      counts.able |= selects(rules_[number], static_cast<Opcode>(opcode)) &&
                     can_do(properties.capabilities, static_cast<Opcode>(opcode));
    }
  }
}

void Plan::note_present(const DeviceProperties& properties) noexcept {
  const std::lock_guard lock(mutex_);
  for (std::size_t number = 0; number < rules_.size(); ++number) {
    counts_[number].seen |= names(rules_[number], properties);
  }
}

void Plan::note_removed(const DeviceProperties& properties) {
  const std::lock_guard lock(mutex_);
  removed_.push_back(key_of(properties));
}

void Plan::misreport(std::vector<backend::SharedProperties>& devices) {
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(devices, [&](const backend::SharedProperties& properties) {
      return !removed_.empty() && std::ranges::find(removed_, key_of(*properties)) != removed_.end();
    });
  }
  for (std::size_t number = 0; number < rules_.size(); ++number) {
    const FaultRule& rule = rules_[number];
    for (backend::SharedProperties& properties : devices) {
      if (!names(rule, *properties)) {
        continue;
      }
      const bool changes = rule.action == FaultAction::misreport_capability && is_open(rule);
      if (changes) {
        auto changed = std::make_shared<DeviceProperties>(*properties);
        rule.misreport(changed->capabilities);
        properties = std::move(changed);
      }
      const std::lock_guard lock(mutex_);
      counts_[number].seen = true;
      counts_[number].matched += changes ? 1 : 0;
      counts_[number].triggered += changes ? 1 : 0;
    }
  }
}

std::vector<FaultReport> Plan::report() const {
  const std::lock_guard lock(mutex_);
  std::vector<FaultReport> reports;
  for (std::size_t number = 0; number < rules_.size(); ++number) {
    const Counts& counts = counts_[number];
    FaultReport& report = reports.emplace_back();
    report.matched = counts.matched;
    report.triggered = counts.triggered;
    report.impossible = counts.elsewhere + counts.too_short;
    if (counts.triggered == 0) {
      report.never = why_never(rules_[number], counts);
    }
  }
  return reports;
}

std::string Plan::why_never(const FaultRule& rule, const Counts& counts) const {
  if (rule.probability == 0) {
    return "its probability is 0";
  }
  if (counts.elsewhere != 0) {
    return concat("the data of ", counts.elsewhere, " operation(s) was in the memory of other processes");
  }
  if (counts.too_short != 0) {
    return rule.action == FaultAction::misreport_length
               ? concat(counts.too_short, " operation(s) moved no more bytes than the rule reports")
               : concat(counts.too_short, " operation(s) had no byte ", rule.offset.value_or(0));
  }
  if (counts.matched != 0) {
    const std::uint64_t wanted = std::max(rule.nth, rule.every);
    return wanted > counts.matched
               ? concat(counts.matched, " operation(s) matched, and it waits for number ", wanted)
               : concat(counts.matched, " operation(s) matched, and chance, or an earlier rule, spared them");
  }
  if (!counts.seen) {
    const std::string_view side =
        !rule.side.has_value() ? "" : (*rule.side == Side::host ? " of the host" : " of the DPU");
    return rule.device.empty() ? concat("no device", side, " was enumerated or opened while the plan was in force")
                               : concat("no device", side, " is called \"", rule.device, "\"");
  }
  if (rule.action == FaultAction::misreport_capability) {
    return "no device was enumerated in its window";
  }
  if (!counts.opened) {
    return "no device that it names was opened while the plan was in force; open it after install()";
  }
  if (!counts.able) {
    return "the devices that were opened cannot do such an operation";
  }
  return rule.when || rule.until != std::chrono::nanoseconds::max() || rule.after.count() != 0
             ? "no such operation was posted in its window and accepted by its predicate"
             : "no such operation was posted";
}

}  // namespace faulty

}  // namespace pydoca
