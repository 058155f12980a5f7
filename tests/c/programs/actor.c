#include "programs/actor.h"

#include <doca_build_config.h>
#include <doca_log.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static doca_error_t has_address(const struct doca_devinfo* info, const char* pci_addr, bool* is_equal) {
  uint8_t answer = 0;
  const doca_error_t result = doca_devinfo_is_equal_pci_addr(info, pci_addr, &answer);
  *is_equal = answer != 0;
  return result;
}

// open PCI_ADDRESS
static doca_error_t open_device(struct actor* actor, int num_words, char** words) {
  struct doca_devinfo** list = NULL;
  uint32_t count = 0;
  if (num_words != 2) return DOCA_ERROR_BAD_CONFIG;
  doca_error_t result = doca_devinfo_create_list(&list, &count);
  if (result != DOCA_SUCCESS) return result;
  for (uint32_t i = 0; i < count && result == DOCA_SUCCESS && actor->dev == NULL; i++) {
    bool is_equal = false;
    result = has_address(list[i], words[1], &is_equal);
    if (result == DOCA_SUCCESS && is_equal) result = doca_dev_open(list[i], &actor->dev);
  }
  doca_devinfo_destroy_list(list);
  if (result == DOCA_SUCCESS && actor->dev == NULL) return DOCA_ERROR_NOT_FOUND;
  return result;
}

// devices: their addresses
static doca_error_t list_devices(struct actor* actor, int num_words, char** words) {
  struct doca_devinfo** list = NULL;
  uint32_t count = 0;
  (void)num_words;
  (void)words;
  const doca_error_t result = doca_devinfo_create_list(&list, &count);
  if (result != DOCA_SUCCESS) return result;
  for (uint32_t i = 0; i < count; i++) {
    char address[DOCA_DEVINFO_PCI_ADDR_SIZE] = "";
    doca_devinfo_get_pci_addr_str(list[i], address);
    const size_t used = strlen(actor->detail);
    snprintf(actor->detail + used, sizeof actor->detail - used, " %s", address);
  }
  return doca_devinfo_destroy_list(list);
}

// representors: how many the device has
static doca_error_t list_representors(struct actor* actor, int num_words, char** words) {
  struct doca_devinfo_rep** list = NULL;
  uint32_t count = 0;
  (void)num_words;
  (void)words;
  const doca_error_t result = doca_devinfo_rep_create_list(actor->dev, DOCA_DEVINFO_REP_FILTER_ALL, &list, &count);
  if (result != DOCA_SUCCESS) return result;
  snprintf(actor->detail, sizeof actor->detail, " %u", count);
  return doca_devinfo_rep_destroy_list(list);
}

// side: what the program was built for
static doca_error_t tell_side(struct actor* actor, int num_words, char** words) {
  (void)num_words;
  (void)words;
#if defined(DOCA_ARCH_HOST) && !defined(DOCA_ARCH_DPU)
  snprintf(actor->detail, sizeof actor->detail, " host");
#elif defined(DOCA_ARCH_DPU) && !defined(DOCA_ARCH_HOST)
  snprintf(actor->detail, sizeof actor->detail, " dpu");
#endif
  return DOCA_SUCCESS;
}

static const struct command device_commands[] = {{"open", open_device},
                                                 {"devices", list_devices},
                                                 {"representors", list_representors},
                                                 {"side", tell_side},
                                                 {NULL, NULL}};

static command_function find(const char* name) {
  const struct command* const tables[] = {device_commands, memory_commands, event_commands, comch_commands};
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
    for (const struct command* one = tables[i]; one->name != NULL; one++) {
      if (strcmp(one->name, name) == 0) return one->run;
    }
  }
  return NULL;
}

static doca_error_t obey(struct actor* actor, char* line) {
  char* words[max_words] = {NULL};
  char* rest = NULL;
  int num_words = 0;
  for (char* word = strtok_r(line, " \n", &rest); word != NULL && num_words < max_words;
       word = strtok_r(NULL, " \n", &rest)) {
    words[num_words++] = word;
  }
  actor->detail[0] = '\0';
  const command_function run = num_words > 0 ? find(words[0]) : NULL;
  return run != NULL ? run(actor, num_words, words) : DOCA_ERROR_BAD_CONFIG;
}

static doca_error_t path_of(const struct actor* actor, const char* name, char* path, size_t size) {
  const int length = snprintf(path, size, "%s/%s", actor->directory, name);
  return length > 0 && (size_t)length < size ? DOCA_SUCCESS : DOCA_ERROR_TOO_BIG;
}

doca_error_t write_all(const struct actor* actor, const char* name, const void* bytes, size_t length) {
  char path[512];
  if (path_of(actor, name, path, sizeof path) != DOCA_SUCCESS) return DOCA_ERROR_TOO_BIG;
  FILE* file = fopen(path, "wb");
  if (file == NULL) return DOCA_ERROR_IO_FAILED;
  const size_t written = fwrite(bytes, 1, length, file);
  return fclose(file) == 0 && written == length ? DOCA_SUCCESS : DOCA_ERROR_IO_FAILED;
}

doca_error_t read_all(const struct actor* actor, const char* name, void* bytes, size_t size, size_t* length) {
  char path[512];
  if (path_of(actor, name, path, sizeof path) != DOCA_SUCCESS) return DOCA_ERROR_TOO_BIG;
  FILE* file = fopen(path, "rb");
  if (file == NULL) return DOCA_ERROR_IO_FAILED;
  *length = fread(bytes, 1, size, file);
  fclose(file);
  return DOCA_SUCCESS;
}

void stop_until_idle(struct doca_pe* pe, struct doca_ctx* ctx) {
  enum doca_ctx_states state = DOCA_CTX_STATE_IDLE;
  if (doca_ctx_stop(ctx) != DOCA_ERROR_IN_PROGRESS) return;
  do {
    doca_pe_progress(pe);
  } while (doca_ctx_get_state(ctx, &state) == DOCA_SUCCESS && state != DOCA_CTX_STATE_IDLE);
}

static doca_error_t end(struct actor* actor) {
  doca_error_t result = DOCA_SUCCESS;
  end_comch(actor);
  end_event(actor);
  end_memory(actor);
  if (actor->pe != NULL) {
    const doca_error_t destroyed = doca_pe_destroy(actor->pe);
    DOCA_ERROR_PROPAGATE(result, destroyed);
  }
  if (actor->inventory != NULL) {
    const doca_error_t destroyed = doca_buf_inventory_destroy(actor->inventory);
    DOCA_ERROR_PROPAGATE(result, destroyed);
  }
  if (actor->dev != NULL) {
    const doca_error_t closed = doca_dev_close(actor->dev);
    DOCA_ERROR_PROPAGATE(result, closed);
  }
  return result;
}

static doca_error_t begin(struct actor* actor) {
  struct doca_log_backend* sdk = NULL;
  doca_error_t result = doca_log_backend_create_with_file_sdk(stderr, &sdk);
  if (result != DOCA_SUCCESS) return result;
  result = doca_log_backend_set_sdk_level(sdk, DOCA_LOG_LEVEL_WARNING);
  if (result != DOCA_SUCCESS) return result;
  result = doca_pe_create(&actor->pe);
  if (result != DOCA_SUCCESS) return result;
  result = doca_buf_inventory_create(4, &actor->inventory);
  return result == DOCA_SUCCESS ? doca_buf_inventory_start(actor->inventory) : result;
}

// The end of the input, and "quit", end it: everything is destroyed in order.
int main(int argc, char** argv) {
  char on_stack[memory_size];
  char line[256];
  struct actor actor = {.directory = argc > 1 ? argv[1] : ".", .on_stack = on_stack};
  setvbuf(stdout, NULL, _IOLBF, 0);
  printf("%s\n", doca_error_get_name(begin(&actor)));
  while (fgets(line, sizeof line, stdin) != NULL && strcmp(line, "quit\n") != 0) {
    const doca_error_t result = obey(&actor, line);
    printf("%s%s\n", doca_error_get_name(result), actor.detail);
  }
  const doca_error_t result = end(&actor);
  printf("%s\n", doca_error_get_name(result));
  return result == DOCA_SUCCESS ? EXIT_SUCCESS : EXIT_FAILURE;
}
