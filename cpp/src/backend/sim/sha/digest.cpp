#include "backend/sim/sha/digest.hpp"

#include "pydoca/status.hpp"

#include "detail/symbols.hpp"

// EVP, which replaces the functions of one algorithm, takes memory for each digest in OpenSSL 3.0.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>
#include <tuple>
#include <variant>

namespace pydoca::sim {

namespace {

/// The functions of an algorithm, whose digests are computed in a Context.
template <class Context>
struct Functions {
  int (*init)(Context*) = nullptr;
  int (*update)(Context*, const void*, std::size_t) = nullptr;
  int (*finish)(unsigned char*, Context*) = nullptr;
};

/// OpenSSL's libcrypto, reached at run time and never linked, as a wheel must run without it.
struct Libcrypto {
  Libcrypto();

  std::string reason;  ///< why it cannot be used; empty: it can
  std::tuple<Functions<SHA_CTX>, Functions<SHA256_CTX>, Functions<SHA512_CTX>> functions;
};

Libcrypto::Libcrypto() {
  constexpr const char* v3 = "OPENSSL_3.0.0";
  detail::Symbols symbols("libcrypto.so.3", "OpenSSL 3's library (Debian/Ubuntu: apt-get install libssl3)");
  const auto require = [&](auto& of, const char* init, const char* update, const char* finish) {
    symbols.require(of.init, init, v3);
    symbols.require(of.update, update, v3);
    symbols.require(of.finish, finish, v3);
  };
  require(std::get<0>(functions), "SHA1_Init", "SHA1_Update", "SHA1_Final");
  require(std::get<1>(functions), "SHA256_Init", "SHA256_Update", "SHA256_Final");
  require(std::get<2>(functions), "SHA512_Init", "SHA512_Update", "SHA512_Final");
  reason = symbols.reason();
}

const Libcrypto& libcrypto() {
  static const auto* const loaded = new Libcrypto;  // never destroyed: threads may outlive static destructors
  return *loaded;
}

template <class Context>
const Functions<Context>& functions_of(const Context& /*context*/) noexcept {
  return std::get<Functions<Context>>(libcrypto().functions);
}

}  // namespace

const std::string& no_digests() { return libcrypto().reason; }

struct Digest::State {
  /// Has a context of that type; init sets all of it, so that it is not emptied before.
  template <class Context>
  void change_to() noexcept {
    if (!std::holds_alternative<Context>(context)) {
      context.emplace<Context>();
    }
  }

  std::variant<SHA_CTX, SHA256_CTX, SHA512_CTX> context;  ///< by the number of the algorithm
};

Digest::Digest() : state_(std::make_unique<State>()) {
  if (const std::string& reason = no_digests(); !reason.empty()) {
    throw Error(Status::not_supported, reason);
  }
}

Digest::~Digest() = default;

bool Digest::begin(ShaAlgorithm algorithm) noexcept {
  switch (algorithm) {
    case ShaAlgorithm::sha1:
      state_->change_to<SHA_CTX>();
      break;
    case ShaAlgorithm::sha256:
      state_->change_to<SHA256_CTX>();
      break;
    case ShaAlgorithm::sha512:
      state_->change_to<SHA512_CTX>();
      break;
  }
  return std::visit([](auto& context) { return functions_of(context).init(&context); }, state_->context) == 1;
}

bool Digest::update(const std::byte* bytes, std::size_t size) noexcept {
  return std::visit([&](auto& context) { return functions_of(context).update(&context, bytes, size); },
                    state_->context) == 1;
}

bool Digest::finish(std::byte* digest) noexcept {
  auto* const bytes = reinterpret_cast<unsigned char*>(digest);
  return std::visit([&](auto& context) { return functions_of(context).finish(bytes, &context); }, state_->context) == 1;
}

}  // namespace pydoca::sim
