// Takes options from its command line or from a JSON file, and copies by DMA the texts that they have. Such as:
//   copy_texts -t one -t two
//   copy_texts -j options.json --room 64

#include "dma_common.h"

#include <doca_argp.h>
#include <doca_log.h>
#include <doca_version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

DOCA_LOG_REGISTER(COPY_TEXTS);

enum { max_texts = 8, max_text = 256, max_room = 4096 };

struct options {
  char pci_addr[DOCA_DEVINFO_PCI_ADDR_SIZE];  // "" for any device
  int room;                                   // bytes of the memory that each text is copied to
  int num_texts;
  char texts[max_texts][max_text];
  bool is_quiet;
};

struct resources {
  struct doca_dev* dev;
  struct copier copier;
  struct region src;
  struct region dst;
};

// A callback copies the value, which is the parser's.
static doca_error_t set_pci_addr(void* value, void* config) {
  struct options* options = config;
  const char* text = value;
  if (strlen(text) >= sizeof options->pci_addr) return DOCA_ERROR_INVALID_VALUE;
  strcpy(options->pci_addr, text);
  return DOCA_SUCCESS;
}

static doca_error_t set_room(void* value, void* config) {
  struct options* options = config;
  const int room = *(const int*)value;
  if (room < 1 || room > max_room) {
    DOCA_LOG_ERR("The room is 1 to %d bytes", (int)max_room);
    return DOCA_ERROR_INVALID_VALUE;
  }
  options->room = room;
  return DOCA_SUCCESS;
}

static doca_error_t add_text(void* value, void* config) {
  struct options* options = config;
  const char* text = value;
  if (options->num_texts == max_texts || strlen(text) >= max_text) return DOCA_ERROR_TOO_BIG;
  strcpy(options->texts[options->num_texts++], text);
  return DOCA_SUCCESS;
}

static doca_error_t set_quiet(void* value, void* config) {
  struct options* options = config;
  options->is_quiet = *(const bool*)value;
  return DOCA_SUCCESS;
}

// What no callback of one flag can know.
static doca_error_t validate(void* config) {
  const struct options* options = config;
  for (int i = 0; i < options->num_texts; i++) {
    if (strlen(options->texts[i]) >= (size_t)options->room) {
      DOCA_LOG_ERR("\"%s\" has no room in %d bytes", options->texts[i], options->room);
      return DOCA_ERROR_INVALID_VALUE;
    }
  }
  return DOCA_SUCCESS;
}

static doca_error_t print_version(void* value, void* config) {
  (void)value;
  (void)config;
  printf("copy_texts, compiled for DOCA %s, runs with %s\n", doca_version(), doca_version_runtime());
  doca_argp_destroy();
  exit(EXIT_SUCCESS);
}

// A flag that is registered with create_flag() and register_flag(), which have the setters between them.
static doca_error_t create_flag(const char* short_name, const char* long_name, const char* arguments,
                                const char* description, struct doca_argp_param** param) {
  const doca_error_t result = doca_argp_param_create(param);
  if (result != DOCA_SUCCESS) return result;
  doca_argp_param_set_short_name(*param, short_name);
  doca_argp_param_set_long_name(*param, long_name);
  doca_argp_param_set_arguments(*param, arguments);
  doca_argp_param_set_description(*param, description);
  return DOCA_SUCCESS;
}

static doca_error_t register_flag(struct doca_argp_param* param, enum doca_argp_type type,
                                  doca_error_t (*callback)(void*, void*)) {
  doca_argp_param_set_type(param, type);
  doca_argp_param_set_callback(param, callback);
  return doca_argp_register_param(param);
}

static doca_error_t register_flags(void) {
  struct doca_argp_param* param = NULL;
  doca_error_t result = create_flag("p", "pci-addr", "<address>", "The device that copies", &param);
  if (result == DOCA_SUCCESS) result = register_flag(param, DOCA_ARGP_TYPE_STRING, set_pci_addr);
  if (result == DOCA_SUCCESS) result = create_flag("r", "room", "<bytes>", "Where a text is copied to: 32", &param);
  if (result == DOCA_SUCCESS) result = register_flag(param, DOCA_ARGP_TYPE_INT, set_room);
  if (result == DOCA_SUCCESS) result = create_flag("q", "quiet", "", "Only count the texts", &param);
  if (result == DOCA_SUCCESS) result = register_flag(param, DOCA_ARGP_TYPE_BOOLEAN, set_quiet);
  if (result == DOCA_SUCCESS) result = create_flag("t", "text", "<text>", "A text to copy", &param);
  if (result != DOCA_SUCCESS) return result;
  doca_argp_param_set_mandatory(param);
  doca_argp_param_set_multiplicity(param);
  return register_flag(param, DOCA_ARGP_TYPE_STRING, add_text);
}

static doca_error_t read_options(int argc, char** argv, struct options* options) {
  doca_error_t result = doca_argp_init("copy_texts", options);
  if (result != DOCA_SUCCESS) return result;
  result = register_flags();
  if (result == DOCA_SUCCESS) result = doca_argp_register_version_callback(print_version);
  if (result == DOCA_SUCCESS) result = doca_argp_register_validation_callback(validate);
  if (result == DOCA_SUCCESS) result = doca_argp_start(argc, argv);
  const doca_error_t destroyed = doca_argp_destroy();
  DOCA_ERROR_PROPAGATE(result, destroyed);
  return result;
}

static doca_error_t create(const struct options* options, struct resources* all) {
  const char* pci_addr = options->pci_addr[0] != '\0' ? options->pci_addr : NULL;
  doca_error_t result = open_device(pci_addr, doca_dma_cap_task_memcpy_is_supported, &all->dev);
  if (result != DOCA_SUCCESS) return result;
  result = region_create(all->dev, max_text, DOCA_ACCESS_FLAG_LOCAL_READ_ONLY, &all->src);
  if (result != DOCA_SUCCESS) return result;
  result = region_create(all->dev, (size_t)options->room, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE, &all->dst);
  if (result != DOCA_SUCCESS) return result;
  return copier_create(all->dev, 1, &all->copier);
}

static doca_error_t destroy(struct resources* all) {
  doca_error_t result = copier_destroy(&all->copier);
  const doca_error_t src = region_destroy(&all->src);
  const doca_error_t dst = region_destroy(&all->dst);
  DOCA_ERROR_PROPAGATE(result, src);
  DOCA_ERROR_PROPAGATE(result, dst);
  if (all->dev != NULL) {
    const doca_error_t closed = doca_dev_close(all->dev);
    DOCA_ERROR_PROPAGATE(result, closed);
  }
  return result;
}

static doca_error_t copy(struct resources* all, const char* text) {
  struct doca_buf_inventory* inventory = all->copier.inventory;
  struct doca_buf* src = NULL;
  struct doca_buf* dst = NULL;
  struct completion completion = {0};
  strcpy(all->src.memory, text);
  doca_error_t result =
      doca_buf_inventory_buf_get_by_data(inventory, all->src.mmap, all->src.memory, strlen(text) + 1, &src);
  if (result == DOCA_SUCCESS) {
    result = doca_buf_inventory_buf_get_by_addr(inventory, all->dst.mmap, all->dst.memory, all->dst.size, &dst);
  }
  if (result == DOCA_SUCCESS) result = copier_submit(&all->copier, src, dst, &completion);
  if (result == DOCA_SUCCESS) result = copier_wait(&all->copier, &completion);
  if (src != NULL) doca_buf_dec_refcount(src, NULL);
  if (dst != NULL) doca_buf_dec_refcount(dst, NULL);
  return result;
}

static doca_error_t copy_all(const struct options* options, struct resources* all) {
  for (int i = 0; i < options->num_texts; i++) {
    const doca_error_t result = copy(all, options->texts[i]);
    if (result != DOCA_SUCCESS) return result;
    if (!options->is_quiet) printf("%s\n", all->dst.memory);
  }
  printf("texts copied: %d\n", options->num_texts);
  return DOCA_SUCCESS;
}

int main(int argc, char** argv) {
  struct options options = {.room = 32};
  struct resources all = {0};
  doca_error_t result = start_logging();
  if (result == DOCA_SUCCESS) result = read_options(argc, argv, &options);
  if (result == DOCA_SUCCESS) result = create(&options, &all);
  if (result == DOCA_SUCCESS) result = copy_all(&options, &all);
  const doca_error_t destroyed = destroy(&all);
  DOCA_ERROR_PROPAGATE(result, destroyed);
  return exit_status("copy_texts", result);
}
