// Two sync events between host and DPU. The host has both, and tells the DPU by files where they are: it updates one,
// for which the DPU waits, then it waits for the other, which the DPU updates. The same source is both programs: the
// SDK that builds it says which.
//   sync_event_remote [DIRECTORY]

#include "common.h"
#include "files.h"

#include <doca_log.h>
#include <doca_sync_event.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

DOCA_LOG_REGISTER(SYNC_EVENT_REMOTE);

enum { event_export_size = 1024 };

struct events {
  struct doca_sync_event* ping;  // the host calls the DPU
  struct doca_sync_event* pong;  // the DPU answers
};

static doca_error_t destroy_event(struct doca_sync_event* event) {
  if (event == NULL) return DOCA_SUCCESS;
  const doca_error_t result = doca_sync_event_stop(event);
  const doca_error_t destroyed = doca_sync_event_destroy(event);
  return result == DOCA_SUCCESS ? destroyed : result;
}

static doca_error_t destroy_events(struct events* events) {
  doca_error_t result = destroy_event(events->ping);
  const doca_error_t pong = destroy_event(events->pong);
  DOCA_ERROR_PROPAGATE(result, pong);
  return result;
}

#ifdef DOCA_ARCH_HOST

static const char program[] = "sync_event_remote (host)";

static doca_error_t is_suitable(const struct doca_devinfo* info) {
  return doca_sync_event_cap_is_export_to_remote_pci_supported(info);
}

static doca_error_t export_event(const char* directory, const char* name, struct doca_dev* dev,
                                 struct doca_sync_event* event) {
  const uint8_t* data = NULL;
  size_t length = 0;
  char path[512];
  doca_error_t result = doca_sync_event_start(event);
  if (result != DOCA_SUCCESS) return result;
  result = doca_sync_event_export_to_remote_pci(event, dev, &data, &length);
  if (result != DOCA_SUCCESS) return result;
  path_in(directory, name, path, sizeof path);
  return write_file(path, data, length);
}

static doca_error_t create_ping(const char* directory, struct doca_dev* dev, struct doca_sync_event** ping) {
  doca_error_t result = doca_sync_event_create(ping);
  if (result != DOCA_SUCCESS) return result;
  result = doca_sync_event_add_publisher_location_cpu(*ping, dev);
  if (result != DOCA_SUCCESS) return result;
  result = doca_sync_event_add_subscriber_location_remote_pci(*ping);
  return result == DOCA_SUCCESS ? export_event(directory, "ping", dev, *ping) : result;
}

static doca_error_t create_pong(const char* directory, struct doca_dev* dev, struct doca_sync_event** pong) {
  doca_error_t result = doca_sync_event_create(pong);
  if (result != DOCA_SUCCESS) return result;
  result = doca_sync_event_add_publisher_location_remote_pci(*pong);
  if (result != DOCA_SUCCESS) return result;
  result = doca_sync_event_add_subscriber_location_cpu(*pong, dev);
  return result == DOCA_SUCCESS ? export_event(directory, "pong", dev, *pong) : result;
}

static void remove_files(const char* directory) {
  char path[512];
  path_in(directory, "ping", path, sizeof path);
  remove(path);
  path_in(directory, "pong", path, sizeof path);
  remove(path);
}

static doca_error_t run(const char* directory, struct doca_dev* dev, struct events* events) {
  uint64_t value = 0;
  remove_files(directory);
  doca_error_t result = create_ping(directory, dev, &events->ping);
  if (result == DOCA_SUCCESS) result = create_pong(directory, dev, &events->pong);
  if (result == DOCA_SUCCESS) result = doca_sync_event_update_set(events->ping, 1);
  if (result == DOCA_SUCCESS) result = doca_sync_event_wait_gt_yield(events->pong, 0, UINT64_MAX);
  if (result == DOCA_SUCCESS) result = doca_sync_event_get(events->pong, &value);
  if (result == DOCA_SUCCESS) printf("the DPU has answered: %" PRIu64 "\n", value);
  remove_files(directory);
  return result;
}

#else

static const char program[] = "sync_event_remote (DPU)";
enum { patience = 30 };  // seconds

static doca_error_t is_suitable(const struct doca_devinfo* info) {
  return doca_sync_event_cap_is_create_from_export_supported(info);
}

// The file may be of a host that has ended: then nobody has that event, until the file is replaced.
static doca_error_t import_event(const char* directory, const char* name, struct doca_dev* dev,
                                 struct doca_sync_event** event) {
  const struct timespec pause = {.tv_nsec = 100 * 1000 * 1000};
  uint8_t data[event_export_size];
  size_t length = 0;
  char path[512];
  path_in(directory, name, path, sizeof path);
  doca_error_t result = DOCA_ERROR_NOT_CONNECTED;
  for (int look = 0; look < patience * 10 && result == DOCA_ERROR_NOT_CONNECTED; look++) {
    if (look > 0) nanosleep(&pause, NULL);
    result = read_file(path, patience, data, sizeof data, &length);
    if (result == DOCA_SUCCESS) result = doca_sync_event_create_from_export(dev, data, length, event);
  }
  return result == DOCA_SUCCESS ? doca_sync_event_start(*event) : result;
}

static doca_error_t run(const char* directory, struct doca_dev* dev, struct events* events) {
  doca_error_t result = import_event(directory, "ping", dev, &events->ping);
  if (result == DOCA_SUCCESS) result = import_event(directory, "pong", dev, &events->pong);
  if (result == DOCA_SUCCESS) result = doca_sync_event_wait_gt_yield(events->ping, 0, UINT64_MAX);
  if (result == DOCA_SUCCESS) printf("the host has called\n");
  if (result == DOCA_SUCCESS) result = doca_sync_event_update_set(events->pong, 42);
  return result;
}

#endif

int main(int argc, char** argv) {
  const char* directory = argc > 1 ? argv[1] : ".";
  struct doca_dev* dev = NULL;
  struct events events = {0};
  doca_error_t result = start_logging();
  if (result == DOCA_SUCCESS) result = open_device(NULL, is_suitable, &dev);
  if (result == DOCA_SUCCESS) result = run(directory, dev, &events);
  const doca_error_t destroyed = destroy_events(&events);
  DOCA_ERROR_PROPAGATE(result, destroyed);
  if (dev != NULL) {
    const doca_error_t closed = doca_dev_close(dev);
    DOCA_ERROR_PROPAGATE(result, closed);
  }
  return exit_status(program, result);
}
