#pragma once

#include "fuzz/target.hpp"

/// The simulator's readers.
namespace pydoca::fuzz {

/// What a target does with devices is in a fabric of this process.
void use_own_fabric();

/// An export's blob, as it came and with its checksum put right.
void run_blob(std::span<const std::byte> input);
std::vector<Bytes> blob_seeds();

/// A receive queue of receives, on which a peer writes anything between two calls of its owner and of another peer.
void run_receive_queue(std::span<const std::byte> input);
std::vector<Bytes> receive_queue_seeds();

/// A sequence of what the peers of a server and of a client send, and what their application does.
void run_channel(std::span<const std::byte> input);
std::vector<Bytes> channel_seeds();

/// A sequence of what peers send and an application does while connections by address are made.
void run_handshake(std::span<const std::byte> input);
std::vector<Bytes> handshake_seeds();

/// A file of TOML, as a topology, a timing model and a fault plan.
void run_file(std::span<const std::byte> input);
std::vector<Bytes> file_seeds();

/// The opening messages of a channel.
void run_hello(std::span<const std::byte> input);
std::vector<Bytes> hello_seeds();

/// A sequence of what importers send to an owner of exports, and what the owner does.
void run_import(std::span<const std::byte> input);
std::vector<Bytes> import_seeds();

/// A DEFLATE stream, expanded at once and in pieces of as many bytes as the first byte says, and one.
void run_inflate(std::span<const std::byte> input);
std::vector<Bytes> inflate_seeds();

/// A sequence of what an owner answers to imports and to atomic operations, and what the importer does.
void run_owner(std::span<const std::byte> input);
std::vector<Bytes> owner_seeds();

/// A packet at a socket, with descriptors that were not asked for. The first byte chooses the reader.
void run_packet(std::span<const std::byte> input);
std::vector<Bytes> packet_seeds();

/// The recording of another process, in which it has changed words.
void run_recording(std::span<const std::byte> input);
std::vector<Bytes> recording_seeds();

/// A ring of messages, whose writer writes anything anywhere in it between two looks of its reader.
void run_ring(std::span<const std::byte> input);
std::vector<Bytes> ring_seeds();

/// A machine with any functions.
void run_topology(std::span<const std::byte> input);
std::vector<Bytes> topology_seeds();

}  // namespace pydoca::fuzz
