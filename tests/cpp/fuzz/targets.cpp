#include "pydoca/sim.hpp"

#include "fuzz/target.hpp"
#include "fuzz/targets/sim_targets.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>

namespace pydoca::fuzz {

std::span<const Target> targets() {
  static const std::array all{
      Target{"blob", &run_blob, &blob_seeds},
      Target{"receive_queue", &run_receive_queue, &receive_queue_seeds},
      Target{"channel", &run_channel, &channel_seeds, 500},
      Target{"file", &run_file, &file_seeds, 2'000},
      Target{"handshake", &run_handshake, &handshake_seeds, 500},
      Target{"hello", &run_hello, &hello_seeds},
      Target{"import", &run_import, &import_seeds, 2'000},
      Target{"inflate", &run_inflate, &inflate_seeds},
      Target{"owner", &run_owner, &owner_seeds, 2'000},
      Target{"packet", &run_packet, &packet_seeds},
      Target{"recording", &run_recording, &recording_seeds},
      Target{"ring", &run_ring, &ring_seeds},
      Target{"topology", &run_topology, &topology_seeds},
  };
  return all;
}

std::vector<Target> all_targets() {
  std::vector<Target> all;
  for (const std::span<const Target> some : {targets(), verbs_targets(), capi_targets()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

void use_own_fabric() {
  static const std::string name = "fuzz-" + std::to_string(::getpid());
  if (sim::fabric() != name) {
    sim::set_fabric(name);
  }
}

void require(bool holds, const char* property) {
  if (!holds) {
    std::fprintf(stderr, "fuzz: this does not hold: %s\n", property);
    std::abort();
  }
}

}  // namespace pydoca::fuzz
