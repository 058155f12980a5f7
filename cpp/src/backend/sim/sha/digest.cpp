#include "backend/sim/sha/digest.hpp"

#include "pydoca/status.hpp"

#include "detail/symbols.hpp"

#include <openssl/evp.h>

namespace pydoca::sim {

namespace {

/// OpenSSL's libcrypto, reached at run time and never linked, as a wheel must run without it.
struct Libcrypto {
  Libcrypto();

  std::string reason;  ///< why it cannot be used; empty: it can

  decltype(&::EVP_MD_CTX_new) context_new = nullptr;
  decltype(&::EVP_MD_CTX_free) context_free = nullptr;
  decltype(&::EVP_sha1) sha1 = nullptr;
  decltype(&::EVP_sha256) sha256 = nullptr;
  decltype(&::EVP_sha512) sha512 = nullptr;
  decltype(&::EVP_DigestInit_ex) init = nullptr;
  decltype(&::EVP_DigestUpdate) update = nullptr;
  decltype(&::EVP_DigestFinal_ex) finish = nullptr;
};

Libcrypto::Libcrypto() {
  constexpr const char* v3 = "OPENSSL_3.0.0";
  detail::Symbols symbols("libcrypto.so.3", "OpenSSL 3's library (Debian/Ubuntu: apt-get install libssl3)");
  symbols.require(context_new, "EVP_MD_CTX_new", v3);
  symbols.require(context_free, "EVP_MD_CTX_free", v3);
  symbols.require(sha1, "EVP_sha1", v3);
  symbols.require(sha256, "EVP_sha256", v3);
  symbols.require(sha512, "EVP_sha512", v3);
  symbols.require(init, "EVP_DigestInit_ex", v3);
  symbols.require(update, "EVP_DigestUpdate", v3);
  symbols.require(finish, "EVP_DigestFinal_ex", v3);
  reason = symbols.reason();
}

const Libcrypto& libcrypto() {
  static const auto* const loaded = new Libcrypto;  // never destroyed: threads may outlive static destructors
  return *loaded;
}

}  // namespace

const std::string& no_digests() { return libcrypto().reason; }

struct Digest::State {
  State() = default;
  ~State() {
    for (EVP_MD_CTX* const context : contexts) {
      libcrypto().context_free(context);  // accepts null
    }
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  std::array<EVP_MD_CTX*, num_sha_algorithms> contexts{};  ///< indexed by ShaAlgorithm
  EVP_MD_CTX* current = nullptr;
};

Digest::Digest() : state_(std::make_unique<State>()) {
  const Libcrypto& library = libcrypto();
  if (!library.reason.empty()) {
    throw Error(Status::not_supported, library.reason);
  }
  const std::array<const EVP_MD*, num_sha_algorithms> types{library.sha1(), library.sha256(), library.sha512()};
  for (std::size_t i = 0; i < types.size(); ++i) {
    state_->contexts[i] = library.context_new();
    if (state_->contexts[i] == nullptr || library.init(state_->contexts[i], types[i], nullptr) != 1) {
      throw Error(Status::no_memory, "OpenSSL cannot begin a digest");
    }
  }
}

Digest::~Digest() = default;

bool Digest::begin(ShaAlgorithm algorithm) noexcept {
  state_->current = state_->contexts[static_cast<std::size_t>(algorithm)];
  // The context keeps its type when none is given, and what it has allocated.
  return libcrypto().init(state_->current, nullptr, nullptr) == 1;
}

bool Digest::update(const std::byte* bytes, std::size_t size) noexcept {
  return libcrypto().update(state_->current, bytes, size) == 1;
}

bool Digest::finish(std::byte* digest) noexcept {
  return libcrypto().finish(state_->current, reinterpret_cast<unsigned char*>(digest), nullptr) == 1;
}

}  // namespace pydoca::sim
