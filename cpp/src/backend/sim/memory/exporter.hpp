#pragma once

#include "pydoca/backend/memory.hpp"

#include "backend/sim/fabric/service.hpp"
#include "backend/sim/fabric/shared_page.hpp"
#include "backend/sim/memory/blob.hpp"
#include "backend/sim/memory/import_protocol.hpp"
#include "backend/sim/memory/revocation_page.hpp"
#include "backend/sim/memory/tracer.hpp"
#include "backend/sim/message/fd_message.hpp"
#include "detail/thread/per_process.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace pydoca::sim {

/// Whether importers map it: whole pydoca memory. Its file would open the rest to the importer of a part. The first
/// export read-only, or the first importer, fixes whether the file can be written; exports of the other kind are not
/// mapped then.
bool can_be_mapped(const backend::MemoryRange& range, Access access) noexcept;

/// This process's exports and their importers. Any thread may call; the service's thread answers importers.
class Exporter {
 public:
  /// What belongs to exported memory that holds a counter or a queue pair's inbox: further files for importers, and
  /// what is to be done when importers come and go.
  class Attachment {
   public:
    /// How the end of an importer's connection is to be understood. failed: its import had not succeeded.
    enum class End : std::uint8_t { failed, left, died };

    virtual ~Attachment() = default;
    // Under the service's lock, from any thread:
    /// An importer is given access, and these files. It is there until gone(). Throws.
    virtual std::vector<detail::Fd> admit(Service::Id importer) = 0;
    virtual void gone(Service::Id importer, End how) noexcept = 0;
    virtual void withdrawn() noexcept = 0;
    /// The importer has sent a wake byte (import_protocol.hpp). False: none is expected; its connection ends.
    virtual bool hear(Service::Id importer) noexcept = 0;
  };
  /// What a blob says of its export, and an importer repeats.
  struct Terms {
    BlobType type{};
    FunctionName function{};
    Access access{};  ///< pci_read_only or pci_read_write, or RDMA flags
  };
  struct Export {
    std::uint32_t slot = 0;
    std::uint64_t epoch = 0;
    Key nonce{};
  };

  /// The process's exporter. The child of a fork has its own, without exports.
  static Exporter& instance();
  bool is_current() const noexcept { return service_.is_current(); }

  /// Where importers in this fabric reach this process. Throws operating_system.
  Key listen(const std::string& fabric);
  /// Whole pydoca memory that is exported read-only is sealed against new writable mappings, if no importer has it yet.
  Export add(const Terms& terms, const backend::MemoryRange& range, std::shared_ptr<Attachment> attachment = nullptr);
  /// Ends the export at once. again: after a number of looks, with yields between them, an importer is still inside.
  Status withdraw(const Export& what) noexcept;
  /// The same with one look; the export keeps its memory until every importer is out of it.
  void abandon(const Export& what) noexcept;

 private:
  class Listener;
  class Importer;

  struct Grant {
    Service::Id connection = 0;
    std::unique_ptr<SharedPage<RevocationPage>> revocation_page;
    pid_t importer = 0;
    bool foreign = false;
  };
  struct Entry {
    std::uint64_t epoch = 1;
    bool live = false;
    Key nonce{};
    Terms terms;
    backend::MemoryRange range;
    std::shared_ptr<Attachment> attachment;
    std::vector<Grant> grants;
  };
  struct Address {
    std::string fabric;
    Key key{};
  };

  friend class detail::PerProcess<Exporter>;
  Exporter() : service_(Service::instance()) {}

  // The caller has the service's lock:
  const Key* find_key(const std::string& fabric) const noexcept;
  std::uint32_t free_slot();
  void end(Entry& entry) noexcept;
  bool retire(Entry& entry, bool looks_at_processes = false) noexcept;
  /// Throws full when that process has as many imports as one may have. Those of other PID namespaces count as one.
  void require_quota(pid_t importer) const;
  void revoke(const Grant& grant) noexcept;
  static void tell_of_end(const Entry& entry, const Grant& grant) noexcept;
  ImportReply judge(const ImportRequest& request) const;
  ImportReply grant(const ImportRequest& request, Service::Id connection, pid_t importer, ReceivedFds& files);
  std::shared_ptr<Attachment> attachment_of(std::uint32_t slot) const noexcept { return entries_[slot].attachment; }
  WordReply change_word(const WordChange& change, Service::Id connection) noexcept;
  void forget(Service::Id connection) noexcept;

  Service& service_;
  std::vector<Entry> entries_;
  std::vector<Address> addresses_;
  Tracer tracer_;
};

}  // namespace pydoca::sim
