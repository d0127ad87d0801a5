/* The device's memory: host memory, allocated up to a limit. Copies and fills. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "emulated.h"

static uint64_t used[MOST_DEVICES];

static uint64_t total(void) { return (uint64_t)setting("EMULATED_GPU_MEMORY", 4294967296.0); }

static void* aligned(uint64_t size) {
  void* at = NULL;
  return posix_memalign(&at, 256, size ? size : 1) ? NULL : at;
}

static void allocate(const SP_Device* d, uint64_t size, int64_t space, SP_DeviceMemoryBase* memory) {
  uint64_t before = __atomic_fetch_add(&used[d->ordinal], size, __ATOMIC_RELAXED);
  int refused = before + size > total() || fails("alloc");
  memory->struct_size = SP_DEVICE_MEMORY_BASE_STRUCT_SIZE;
  memory->opaque = refused ? NULL : aligned(size);
  memory->size = memory->opaque ? size : 0;
  if (!memory->opaque) __atomic_fetch_sub(&used[d->ordinal], size, __ATOMIC_RELAXED);
}
static void deallocate(const SP_Device* d, SP_DeviceMemoryBase* memory) {
  if (memory->opaque) __atomic_fetch_sub(&used[d->ordinal], memory->size, __ATOMIC_RELAXED);
  free(memory->opaque);
  memory->opaque = NULL;
}
static void* host_allocate(const SP_Device* d, uint64_t size) { return aligned(size); }
static void host_deallocate(const SP_Device* d, void* at) { free(at); }
static TF_Bool allocator_stats(const SP_Device* d, SP_AllocatorStats* stats) { return 0; }
static TF_Bool memory_usage(const SP_Device* d, int64_t* left, int64_t* all) {
  *all = (int64_t)total();
  *left = *all - (int64_t)used[d->ordinal];
  return 1;
}

typedef struct { void* to; const void* from; uint64_t size; } Copy;
static void do_copy(void* with) {
  Copy* c = with;
  memcpy(c->to, c->from, c->size);
  free(c);
}
static void copy(SP_Stream s, void* to, const void* from, uint64_t size, const char* name) {
  Copy* c = malloc(sizeof *c);
  *c = (Copy){to, from, size};
  int crosses_link = strcmp(name, "MemcpyD2D") != 0;
  double ns = 1000 * setting("EMULATED_GPU_COPY_US", 8) + (double)size / setting("EMULATED_GPU_COPY_GBPS", 12);
  enqueue(s, do_copy, c, crosses_link ? (uint64_t)ns : 0, name, "");
}
static void from_device(const SP_Device* d, SP_Stream s, void* to, const SP_DeviceMemoryBase* from, uint64_t size, TF_Status* status) {
  copy(s, to, from->opaque, size, "MemcpyD2H");
}
static void to_device(const SP_Device* d, SP_Stream s, SP_DeviceMemoryBase* to, const void* from, uint64_t size, TF_Status* status) {
  copy(s, to->opaque, from, size, "MemcpyH2D");
}
static void within(const SP_Device* d, SP_Stream s, SP_DeviceMemoryBase* to, const SP_DeviceMemoryBase* from, uint64_t size, TF_Status* status) {
  copy(s, to->opaque, from->opaque, size, "MemcpyD2D");
}
static void from_device_now(const SP_Device* d, void* to, const SP_DeviceMemoryBase* from, uint64_t size, TF_Status* status) {
  memcpy(to, from->opaque, size);
}
static void to_device_now(const SP_Device* d, SP_DeviceMemoryBase* to, const void* from, uint64_t size, TF_Status* status) {
  memcpy(to->opaque, from, size);
}
static void within_now(const SP_Device* d, SP_DeviceMemoryBase* to, const SP_DeviceMemoryBase* from, uint64_t size, TF_Status* status) {
  memcpy(to->opaque, from->opaque, size);
}

typedef struct { unsigned char* to; uint64_t size; uint32_t pattern; } Fill;
static void do_fill(void* with) {
  Fill* f = with;
  for (uint64_t i = 0; i < f->size; i++) f->to[i] = (unsigned char)(f->pattern >> 8 * (i % 4));
  free(f);
}
static void fill(SP_Stream s, SP_DeviceMemoryBase* to, uint64_t size, uint32_t pattern) {
  Fill* f = malloc(sizeof *f);
  *f = (Fill){to->opaque, size, pattern};
  enqueue(s, do_fill, f, 0, "Memset", "");
}
static void mem_zero(const SP_Device* d, SP_Stream s, SP_DeviceMemoryBase* to, uint64_t size, TF_Status* status) { fill(s, to, size, 0); }
static void mem_set(const SP_Device* d, SP_Stream s, SP_DeviceMemoryBase* to, uint8_t value, uint64_t size, TF_Status* status) {
  fill(s, to, size, value * 0x01010101u);
}
static void mem_set32(const SP_Device* d, SP_Stream s, SP_DeviceMemoryBase* to, uint32_t value, uint64_t size, TF_Status* status) {
  fill(s, to, size, value);
}

void set_memory_functions(SP_StreamExecutor* e) {
  e->allocate = allocate, e->deallocate = deallocate;
  e->host_memory_allocate = host_allocate, e->host_memory_deallocate = host_deallocate;
  e->get_allocator_stats = allocator_stats, e->device_memory_usage = memory_usage;
  e->memcpy_dtoh = from_device, e->memcpy_htod = to_device, e->memcpy_dtod = within;
  e->sync_memcpy_dtoh = from_device_now, e->sync_memcpy_htod = to_device_now, e->sync_memcpy_dtod = within_now;
  e->mem_zero = mem_zero, e->memset = mem_set, e->memset32 = mem_set32;
}
