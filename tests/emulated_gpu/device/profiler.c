/* Profiles the device: writes an XSpace (xplane.proto) like that of the CUPTI collector, with a plane per device, a
 * line per stream, and a line per launching thread with its launches. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulated.h"
#include "tensorflow/c/experimental/pluggable_profiler/pluggable_profiler.h"

static struct { pthread_mutex_t lock; Record* first; int on; uint64_t correlation; } taken = {PTHREAD_MUTEX_INITIALIZER, NULL, 0, 0};

int profiling(void) { return __atomic_load_n(&taken.on, __ATOMIC_RELAXED); }

/* std::hash, with which tsl::Env::GetCurrentThreadId computes a thread's number from its pthread. */
extern size_t _ZSt11_Hash_bytesPKvmm(const void*, size_t, size_t);

void begin_record(Record* record, const char* name, const char* node) {
  pthread_t self = pthread_self();
  record->launched = now_ns();
  snprintf(record->name, sizeof record->name, "%s", name);
  snprintf(record->node, sizeof record->node, "%s", node ? node : "");
  record->thread = (int64_t)_ZSt11_Hash_bytesPKvmm(&self, sizeof self, 0xc70f6907u);
  record->correlation = __atomic_add_fetch(&taken.correlation, 1, __ATOMIC_RELAXED);
  record->launch_ended = now_ns();
}

void keep_record(const Record* record) {
  if (!profiling()) return;
  Record* kept = malloc(sizeof *kept);
  *kept = *record;
  pthread_mutex_lock(&taken.lock);
  kept->next = taken.first, taken.first = kept;
  pthread_mutex_unlock(&taken.lock);
}

/* ---- writing protocol buffers ---- */

typedef struct { uint8_t* data; size_t size, room; } Bytes;

static void put(Bytes* b, const void* data, size_t size) {
  if (b->size + size > b->room) b->data = realloc(b->data, b->room = 2 * (b->size + size));
  memcpy(b->data + b->size, data, size);
  b->size += size;
}
static void put_varint(Bytes* b, uint64_t value) {
  do {
    uint8_t byte = (uint8_t)((value & 127) | (value > 127 ? 128 : 0));
    put(b, &byte, 1);
  } while (value >>= 7);
}
static void put_number(Bytes* b, int field, uint64_t value) { put_varint(b, (uint64_t)field << 3), put_varint(b, value); }
static void put_text(Bytes* b, int field, const char* text) {
  put_varint(b, (uint64_t)field << 3 | 2), put_varint(b, strlen(text)), put(b, text, strlen(text));
}
static void put_message(Bytes* b, int field, Bytes* inner) {
  put_varint(b, (uint64_t)field << 3 | 2), put_varint(b, inner->size), put(b, inner->data, inner->size);
  free(inner->data);
  *inner = (Bytes){0};
}

/* ---- xplane.proto: XSpace {planes 1}, XPlane {id 1, name 2, lines 3, event_metadata 4, stat_metadata 5},
 * XLine {id 1, name 2, timestamp_ns 3, events 4}, XEvent {metadata_id 1, offset_ps 2, duration_ps 3, stats 4} ---- */

enum { LAUNCHES = -1, CORRELATION_ID = 1, TF_OP = 2 };

static void put_metadata(Bytes* plane, int field, uint64_t id, const char* name) {
  Bytes entry = {0}, value = {0};
  put_number(&value, 1, id), put_text(&value, 2, name);
  put_number(&entry, 1, id), put_message(&entry, 2, &value);
  put_message(plane, field, &entry);
}

static int copies(const Record* r) { return !strncmp(r->name, "Memcpy", 6); }
static int on_plane(const Record* r, int device) { return device == LAUNCHES || r->device == device; }
static int64_t line_of(const Record* r, int device) { return device == LAUNCHES ? r->thread : r->stream; }

static void put_event(Bytes* line, const Record* r, int device, uint64_t id, uint64_t base) {
  Bytes event = {0}, stat = {0};
  uint64_t begun = device == LAUNCHES ? r->launched : r->begun, ended = device == LAUNCHES ? r->launch_ended : r->ended;
  put_number(&event, 1, id), put_number(&event, 2, (begun - base) * 1000), put_number(&event, 3, (ended - begun) * 1000);
  put_number(&stat, 1, CORRELATION_ID), put_number(&stat, 3, r->correlation), put_message(&event, 4, &stat);
  if (r->node[0]) {
    char both[320];
    snprintf(both, sizeof both, "%s:%s", r->node, r->name);
    put_number(&stat, 1, TF_OP), put_text(&stat, 5, both), put_message(&event, 4, &stat);
  }
  put_message(line, 4, &event);
}

static void put_plane(Bytes* space, const char* name, int device, const Record* records) {
  Bytes plane = {0};
  uint64_t id = 0, base = UINT64_MAX; /* offsets in picoseconds since 1970 would overflow */
  for (const Record* r = records; r; r = r->next) base = r->launched < base ? r->launched : base;
  put_number(&plane, 1, device == LAUNCHES ? 0 : (uint64_t)device), put_text(&plane, 2, name);
  put_metadata(&plane, 5, CORRELATION_ID, "correlation_id"), put_metadata(&plane, 5, TF_OP, "tf_op");
  for (const Record* first = records; first; first = first->next) {
    int fresh = on_plane(first, device);
    for (const Record* r = records; fresh && r != first; r = r->next)
      fresh = !on_plane(r, device) || line_of(r, device) != line_of(first, device);
    if (!fresh) continue; /* its line is already written */
    Bytes line = {0};
    char title[160];
    if (device == LAUNCHES) snprintf(title, sizeof title, "Host Threads/%lld", (long long)first->thread);
    else snprintf(title, sizeof title, "Stream #%d(%s)", first->stream, copies(first) ? first->name : "Kernel");
    put_number(&line, 1, (uint64_t)line_of(first, device)), put_text(&line, 2, title), put_number(&line, 3, base);
    for (const Record* r = first; r; r = r->next)
      if (on_plane(r, device) && line_of(r, device) == line_of(first, device)) {
        const char* shown = device != LAUNCHES ? r->name : copies(r) ? "cuMemcpyAsync" : "cuLaunchKernel";
        put_metadata(&plane, 4, ++id, shown);
        put_event(&line, r, device, id, base);
      }
    put_message(&plane, 3, &line);
  }
  put_message(space, 1, &plane);
}

/* ---- functions that TensorFlow's profiler calls ---- */

static Bytes written;

static void start(const TP_Profiler* p, TF_Status* status) { __atomic_store_n(&taken.on, 1, __ATOMIC_RELAXED); }
static void stop(const TP_Profiler* p, TF_Status* status) {
  __atomic_store_n(&taken.on, 0, __ATOMIC_RELAXED);
  pthread_mutex_lock(&taken.lock);
  Record* records = taken.first;
  taken.first = NULL;
  pthread_mutex_unlock(&taken.lock);
  free(written.data);
  written = (Bytes){0};
  for (int device = 0; device < MOST_DEVICES; device++) {
    char name[32];
    int any = 0;
    snprintf(name, sizeof name, "/device:GPU:%d", device);
    for (const Record* r = records; r; r = r->next) any |= r->device == device;
    if (any) put_plane(&written, name, device, records);
  }
  if (records) put_plane(&written, "/host:CUPTI", LAUNCHES, records);
  for (Record* next; records; records = next) next = records->next, free(records);
}
static void collect(const TP_Profiler* p, uint8_t* buffer, size_t* size, TF_Status* status) {
  if (buffer) memcpy(buffer, written.data, written.size < *size ? written.size : *size);
  *size = written.size;
}
static void destroy_profiler(TP_Profiler* p) {}
static void destroy_profiler_fns(TP_ProfilerFns* f) {}

EXPORT void TF_InitProfiler(TF_ProfilerRegistrationParams* params, TF_Status* status) {
  params->profiler->struct_size = TP_PROFILER_STRUCT_SIZE;
  params->profiler_fns->struct_size = TP_PROFILER_FNS_STRUCT_SIZE;
  params->profiler->device_type = "GPU";
  params->profiler_fns->start = start;
  params->profiler_fns->stop = stop;
  params->profiler_fns->collect_data_xspace = collect;
  params->destroy_profiler = destroy_profiler;
  params->destroy_profiler_fns = destroy_profiler_fns;
}
