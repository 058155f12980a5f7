// Commands of memory: lending it, and copying the other side's.

#include "programs/actor.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char static_memory[memory_size];

static char* map_file(const struct actor* actor) {
  char path[512];
  snprintf(path, sizeof path, "%s/memory", actor->directory);
  const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return NULL;
  char* memory = MAP_FAILED;
  if (ftruncate(fd, memory_size) == 0) {
    memory = mmap(NULL, memory_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  close(fd);
  return memory == MAP_FAILED ? NULL : memory;
}

static char* memory_of_kind(struct actor* actor, const char* kind) {
  actor->is_allocated = strcmp(kind, "malloc") == 0;
  if (actor->is_allocated) return malloc(memory_size);
  if (strcmp(kind, "static") == 0) return static_memory;
  if (strcmp(kind, "stack") == 0) return actor->on_stack;
  return strcmp(kind, "file") == 0 ? map_file(actor) : NULL;
}

static uint32_t permissions_of(const char* name) {
  if (strcmp(name, "ro") == 0) return DOCA_ACCESS_FLAG_PCI_READ_ONLY;
  if (strcmp(name, "rw") == 0) return DOCA_ACCESS_FLAG_LOCAL_READ_WRITE | DOCA_ACCESS_FLAG_PCI_READ_WRITE;
  return DOCA_ACCESS_FLAG_LOCAL_READ_WRITE;
}

static doca_error_t start_map(struct doca_dev* dev, char* memory, uint32_t permissions, struct doca_mmap** map) {
  doca_error_t result = doca_mmap_create(map);
  if (result != DOCA_SUCCESS) return result;
  result = doca_mmap_set_memrange(*map, memory, memory_size);
  if (result != DOCA_SUCCESS) return result;
  result = doca_mmap_set_permissions(*map, permissions);
  if (result != DOCA_SUCCESS) return result;
  result = doca_mmap_add_dev(*map, dev);
  return result == DOCA_SUCCESS ? doca_mmap_start(*map) : result;
}

static doca_error_t publish(struct actor* actor) {
  const void* blob = NULL;
  size_t length = 0;
  char address[32];
  doca_error_t result = doca_mmap_export_pci(actor->lent_map, actor->dev, &blob, &length);
  if (result != DOCA_SUCCESS) return result;
  result = write_all(actor, "export", blob, length);
  if (result != DOCA_SUCCESS) return result;
  const int letters = snprintf(address, sizeof address, "%" PRIuPTR, (uintptr_t)actor->lent);
  return write_all(actor, "address", address, (size_t)letters);
}

// lend malloc|static|stack|file ro|rw|local
static doca_error_t lend(struct actor* actor, int num_words, char** words) {
  if (num_words != 3) return DOCA_ERROR_BAD_CONFIG;
  actor->lent = memory_of_kind(actor, words[1]);
  if (actor->lent == NULL) return DOCA_ERROR_NO_MEMORY;
  memset(actor->lent, 'h', memory_size);
  const doca_error_t result = start_map(actor->dev, actor->lent, permissions_of(words[2]), &actor->lent_map);
  return result == DOCA_SUCCESS ? publish(actor) : result;
}

// withdraw: stops the map
static doca_error_t withdraw(struct actor* actor, int num_words, char** words) {
  (void)num_words;
  (void)words;
  return doca_mmap_stop(actor->lent_map);
}

// free: gives the memory back while its map is started
static doca_error_t free_memory(struct actor* actor, int num_words, char** words) {
  (void)num_words;
  (void)words;
  if (!actor->is_allocated) return DOCA_ERROR_BAD_CONFIG;
  free(actor->lent);
  actor->is_allocated = false;
  return DOCA_SUCCESS;
}

static bool is_filled(const char* memory, char letter) {
  for (size_t i = 0; i < memory_size; i++) {
    if (memory[i] != letter) return false;
  }
  return true;
}

// see LETTER: whether the lent memory is full of it
static doca_error_t see(struct actor* actor, int num_words, char** words) {
  if (num_words != 2) return DOCA_ERROR_BAD_CONFIG;
  return is_filled(actor->lent, words[1][0]) ? DOCA_SUCCESS : DOCA_ERROR_UNEXPECTED;
}

static void completed(struct doca_dma_task_memcpy* task, union doca_data task_user_data,
                      union doca_data ctx_user_data) {
  struct actor* actor = task_user_data.ptr;
  (void)ctx_user_data;
  actor->status = doca_task_get_status(doca_dma_task_memcpy_as_task(task));
  actor->num_completed++;
  doca_task_free(doca_dma_task_memcpy_as_task(task));
}

static doca_error_t start_dma(struct actor* actor) {
  doca_error_t result = DOCA_SUCCESS;
  if (actor->dma == NULL) {
    result = doca_dma_create(actor->dev, &actor->dma);
    if (result != DOCA_SUCCESS) return result;
    result = doca_dma_task_memcpy_set_conf(actor->dma, completed, completed, 1);
    if (result != DOCA_SUCCESS) return result;
    result = doca_pe_connect_ctx(actor->pe, doca_dma_as_ctx(actor->dma));
    if (result != DOCA_SUCCESS) return result;
  }
  return doca_ctx_start(doca_dma_as_ctx(actor->dma));
}

// import: the other side's memory
static doca_error_t import_memory(struct actor* actor, int num_words, char** words) {
  char blob[1024];
  char address[32] = "";
  size_t length = 0;
  size_t letters = 0;
  (void)num_words;
  (void)words;
  doca_error_t result = read_all(actor, "export", blob, sizeof blob, &length);
  if (result != DOCA_SUCCESS) return result;
  result = doca_mmap_create_from_export(NULL, blob, length, actor->dev, &actor->remote);
  if (result != DOCA_SUCCESS) return result;
  result = read_all(actor, "address", address, sizeof address - 1, &letters);
  if (result != DOCA_SUCCESS) return result;
  actor->remote_address = (char*)(uintptr_t)strtoull(address, NULL, 10);
  actor->local = malloc(memory_size);
  if (actor->local == NULL) return DOCA_ERROR_NO_MEMORY;
  return start_map(actor->dev, actor->local, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE, &actor->local_map);
}

static doca_error_t run_copy(struct actor* actor, struct doca_buf* src, struct doca_buf* dst) {
  struct doca_dma_task_memcpy* task = NULL;
  const int before = actor->num_completed;
  doca_error_t result = doca_dma_task_memcpy_alloc_init(actor->dma, src, dst, (union doca_data){.ptr = actor}, &task);
  if (result != DOCA_SUCCESS) return result;
  result = doca_task_submit(doca_dma_task_memcpy_as_task(task));
  if (result != DOCA_SUCCESS) {
    doca_task_free(doca_dma_task_memcpy_as_task(task));
    return result;
  }
  while (actor->num_completed == before) doca_pe_progress(actor->pe);
  return actor->status;
}

doca_error_t copy_remote(struct actor* actor, bool to_remote, size_t length) {
  struct doca_buf* src = NULL;
  struct doca_buf* dst = NULL;
  struct doca_mmap* from = to_remote ? actor->local_map : actor->remote;
  struct doca_mmap* to = to_remote ? actor->remote : actor->local_map;
  char* from_address = to_remote ? actor->local : actor->remote_address;
  char* to_address = to_remote ? actor->remote_address : actor->local;
  doca_error_t result = start_dma(actor);
  if (result != DOCA_SUCCESS) return result;
  result = doca_buf_inventory_buf_get_by_data(actor->inventory, from, from_address, length, &src);
  if (result == DOCA_SUCCESS) {
    result = doca_buf_inventory_buf_get_by_addr(actor->inventory, to, to_address, length, &dst);
  }
  if (result == DOCA_SUCCESS) result = run_copy(actor, src, dst);
  if (src != NULL) doca_buf_dec_refcount(src, NULL);
  if (dst != NULL) doca_buf_dec_refcount(dst, NULL);
  stop_until_idle(actor->pe, doca_dma_as_ctx(actor->dma));
  return result;
}

// read LETTER: copies the other side's memory, which must be full of it
static doca_error_t read_memory(struct actor* actor, int num_words, char** words) {
  if (num_words != 2) return DOCA_ERROR_BAD_CONFIG;
  memset(actor->local, 0, memory_size);
  const doca_error_t result = copy_remote(actor, false, memory_size);
  if (result != DOCA_SUCCESS) return result;
  return is_filled(actor->local, words[1][0]) ? DOCA_SUCCESS : DOCA_ERROR_UNEXPECTED;
}

// write LETTER: fills the other side's memory
static doca_error_t write_memory(struct actor* actor, int num_words, char** words) {
  if (num_words != 2) return DOCA_ERROR_BAD_CONFIG;
  memset(actor->local, words[1][0], memory_size);
  return copy_remote(actor, true, memory_size);
}

// forget: destroys the imported map
static doca_error_t forget(struct actor* actor, int num_words, char** words) {
  (void)num_words;
  (void)words;
  const doca_error_t result = doca_mmap_destroy(actor->remote);
  if (result == DOCA_SUCCESS) actor->remote = NULL;
  return result;
}

void end_memory(struct actor* actor) {
  if (actor->dma != NULL) doca_dma_destroy(actor->dma);
  if (actor->remote != NULL) doca_mmap_destroy(actor->remote);
  if (actor->local_map != NULL) doca_mmap_destroy(actor->local_map);
  if (actor->lent_map != NULL) doca_mmap_destroy(actor->lent_map);
  free(actor->local);
  if (actor->is_allocated) free(actor->lent);
}

const struct command memory_commands[] = {
    {"lend", lend},        {"withdraw", withdraw},  {"free", free_memory}, {"see", see}, {"import", import_memory},
    {"read", read_memory}, {"write", write_memory}, {"forget", forget},    {NULL, NULL}};
