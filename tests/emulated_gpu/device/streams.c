/* Streams, events and timers. A stream is a thread with a queue; an event is a position in that queue. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "emulated.h"

typedef struct Task {
  struct Task* next;
  Work work;
  void* with;
  uint64_t least_ns;
  Record record;
} Task;

struct SP_Stream_st {
  pthread_mutex_t lock;
  pthread_cond_t moved;
  pthread_t thread;
  Task *first, *last;
  uint64_t enqueued, completed;
  int device, number, over;
  SP_Stream next;
};
struct SP_Event_st { SP_Stream stream; uint64_t ticket; };
struct SP_Timer_st { uint64_t begun, ended; };

static pthread_mutex_t streams_lock = PTHREAD_MUTEX_INITIALIZER;
static SP_Stream streams;
static int numbers;

static void* run(void* with) {
  SP_Stream s = with;
  pthread_mutex_lock(&s->lock);
  for (;;) {
    while (!s->first && !s->over) pthread_cond_wait(&s->moved, &s->lock);
    Task* task = s->first;
    if (!task) break;
    pthread_mutex_unlock(&s->lock);
    task->record.begun = now_ns();
    task->work(task->with);
    wait_until(task->record.begun + task->least_ns);
    if (task->record.name[0]) {
      task->record.ended = now_ns(), task->record.device = s->device, task->record.stream = s->number;
      keep_record(&task->record);
    }
    pthread_mutex_lock(&s->lock);
    s->first = task->next;
    if (!s->first) s->last = NULL;
    s->completed++;
    pthread_cond_broadcast(&s->moved);
    free(task);
  }
  pthread_mutex_unlock(&s->lock);
  return NULL;
}

uint64_t enqueue(SP_Stream s, Work work, void* with, uint64_t least_ns, const char* name, const char* node) {
  Task* task = calloc(1, sizeof *task);
  task->work = work, task->with = with, task->least_ns = least_ns;
  if (name && profiling()) begin_record(&task->record, name, node);
  pthread_mutex_lock(&s->lock);
  if (s->last) s->last->next = task;
  else s->first = task;
  s->last = task;
  uint64_t ticket = ++s->enqueued;
  pthread_cond_broadcast(&s->moved);
  pthread_mutex_unlock(&s->lock);
  return ticket;
}

void await(SP_Stream s, uint64_t ticket) {
  pthread_mutex_lock(&s->lock);
  while (s->completed < ticket) pthread_cond_wait(&s->moved, &s->lock);
  pthread_mutex_unlock(&s->lock);
}

static uint64_t latest(SP_Stream s) {
  pthread_mutex_lock(&s->lock);
  uint64_t ticket = s->enqueued;
  pthread_mutex_unlock(&s->lock);
  return ticket;
}

void await_all(SP_Stream s) { await(s, latest(s)); }

static void create_stream(const SP_Device* d, SP_Stream* out, TF_Status* status) {
  SP_Stream s = *out = calloc(1, sizeof *s);
  pthread_mutex_init(&s->lock, NULL);
  pthread_cond_init(&s->moved, NULL);
  s->device = d->ordinal;
  pthread_mutex_lock(&streams_lock);
  s->number = ++numbers;
  s->next = streams, streams = s;
  pthread_mutex_unlock(&streams_lock);
  pthread_create(&s->thread, NULL, run, s);
  pthread_setname_np(s->thread, "emulated_stream"); /* TensorFlow's profiler shows the CPU kernels under this name */
}
static void destroy_stream(const SP_Device* d, SP_Stream s) {
  pthread_mutex_lock(&s->lock);
  s->over = 1;
  pthread_cond_broadcast(&s->moved);
  pthread_mutex_unlock(&s->lock);
  pthread_join(s->thread, NULL);
  pthread_mutex_lock(&streams_lock);
  for (SP_Stream* at = &streams; *at; at = &(*at)->next)
    if (*at == s) {
      *at = s->next;
      break;
    }
  pthread_mutex_unlock(&streams_lock);
  free(s);
}
static void stream_status(const SP_Device* d, SP_Stream s, TF_Status* status) {}

/* A task that makes its stream wait for another stream's event. */
static void await_event(void* with) {
  SP_Event e = with;
  await(e->stream, e->ticket);
  free(e);
}
static void wait_for_event(const SP_Device* d, SP_Stream s, SP_Event e, TF_Status* status) {
  if (!e->stream || e->stream == s) return;
  SP_Event own = malloc(sizeof *own);
  *own = *e;
  enqueue(s, await_event, own, 0, NULL, NULL);
}
static void stream_dependency(const SP_Device* d, SP_Stream s, SP_Stream other, TF_Status* status) {
  wait_for_event(d, s, &(struct SP_Event_st){other, latest(other)}, status);
}
static void create_event(const SP_Device* d, SP_Event* e, TF_Status* status) { *e = calloc(1, sizeof **e); }
static void destroy_event(const SP_Device* d, SP_Event e) { free(e); }
static SE_EventStatus event_status(const SP_Device* d, SP_Event e) {
  if (!e->stream) return SE_EVENT_COMPLETE;
  pthread_mutex_lock(&e->stream->lock);
  int done = e->stream->completed >= e->ticket;
  pthread_mutex_unlock(&e->stream->lock);
  return done ? SE_EVENT_COMPLETE : SE_EVENT_PENDING;
}
static void record_event(const SP_Device* d, SP_Stream s, SP_Event e, TF_Status* status) {
  e->stream = s, e->ticket = latest(s);
}
static void block_for_event(const SP_Device* d, SP_Event e, TF_Status* status) {
  if (e->stream) await(e->stream, e->ticket);
}
static void block_until_done(const SP_Device* d, SP_Stream s, TF_Status* status) { await_all(s); }
static void synchronize_all(const SP_Device* d, TF_Status* status) {
  SP_Stream own[256];
  int count = 0;
  pthread_mutex_lock(&streams_lock);
  for (SP_Stream s = streams; s && count < 256; s = s->next)
    if (s->device == d->ordinal) own[count++] = s;
  pthread_mutex_unlock(&streams_lock);
  while (count) await_all(own[--count]);
}

typedef struct { SE_StatusCallbackFn call; void* with; } Callback;
static void call_back(void* with) {
  Callback* c = with;
  TF_Status* status = TF_NewStatus();
  c->call(c->with, status);
  TF_DeleteStatus(status);
  free(c);
}
static TF_Bool host_callback(const SP_Device* d, SP_Stream s, SE_StatusCallbackFn call, void* with) {
  Callback* c = malloc(sizeof *c);
  c->call = call, c->with = with;
  enqueue(s, call_back, c, 0, NULL, NULL);
  return 1;
}

static void create_timer(const SP_Device* d, SP_Timer* t, TF_Status* status) { *t = calloc(1, sizeof **t); }
static void destroy_timer(const SP_Device* d, SP_Timer t) { free(t); }
static void start_timer(const SP_Device* d, SP_Stream s, SP_Timer t, TF_Status* status) { t->begun = now_ns(); }
static void stop_timer(const SP_Device* d, SP_Stream s, SP_Timer t, TF_Status* status) {
  await_all(s);
  t->ended = now_ns();
}
uint64_t timer_ns(SP_Timer t) { return t->ended - t->begun; }

void set_stream_functions(SP_StreamExecutor* e) {
  e->create_stream = create_stream, e->destroy_stream = destroy_stream;
  e->create_stream_dependency = stream_dependency, e->get_stream_status = stream_status;
  e->create_event = create_event, e->destroy_event = destroy_event, e->get_event_status = event_status;
  e->record_event = record_event, e->wait_for_event = wait_for_event;
  e->create_timer = create_timer, e->destroy_timer = destroy_timer;
  e->start_timer = start_timer, e->stop_timer = stop_timer;
  e->block_host_for_event = block_for_event, e->block_host_until_done = block_until_done;
  e->synchronize_all_activity = synchronize_all;
  e->host_callback = host_callback;
}
