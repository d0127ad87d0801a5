/* An emulated GPU for tests: a TensorFlow plug-in device of type GPU. Its memory is host memory. Its kernels are
 * TensorFlow's CPU kernels; one thread per stream runs them in order. Its platform is called EMULATED. A time
 * measured on it tells nothing about a real GPU.
 *
 * Environment variables, with defaults in parentheses:
 *   EMULATED_GPUS            number of devices (1); CUDA_VISIBLE_DEVICES is respected if it contains numbers
 *   EMULATED_GPU_MEMORY      bytes of memory per device (4 GiB)
 *   EMULATED_GPU_CAPABILITY  compute capability, such as 8.0 (none); build.py makes TensorFlow report it
 *   EMULATED_GPU_KERNEL_US   minimum time of a kernel, in microseconds (10)
 *   EMULATED_GPU_COPY_US     fixed time of a copy between host and device, in microseconds (8)
 *   EMULATED_GPU_COPY_GBPS   rate of such a copy in GB/s (12); the time for its bytes is added to the fixed time
 *   EMULATED_GPU_ASYNC       0: wait for each kernel before the next is enqueued (1)
 *   EMULATED_GPU_FAIL        init: no device can be opened; init:N: device N cannot be opened; alloc: allocations
 *                            fail; the name of an op: its kernel fails
 *   EMULATED_PACE_NS         see paced.c
 */
#ifndef EMULATED_H
#define EMULATED_H

#include <pthread.h>
#include <stdint.h>

#include "tensorflow/c/experimental/stream_executor/stream_executor.h"

#define MOST_DEVICES 8
#define EXPORT __attribute__((visibility("default")))

/* settings.c */
double setting(const char* name, double otherwise);
int fails(const char* what);
uint64_t now_ns(void);
void wait_until(uint64_t ns);

/* streams.c: each stream runs its tasks in order. A task without a name does not count as work of the device. */
typedef void (*Work)(void* with);
uint64_t enqueue(SP_Stream stream, Work work, void* with, uint64_t least_ns, const char* name, const char* node);
void await(SP_Stream stream, uint64_t ticket);
void await_all(SP_Stream stream);
void set_stream_functions(SP_StreamExecutor* executor);
uint64_t timer_ns(SP_Timer timer);

/* memory.c */
void set_memory_functions(SP_StreamExecutor* executor);

/* paced.c */
void register_paced(void);

/* profiler.c: a unit of work on a stream, recorded while the profiler is active. */
typedef struct Record {
  struct Record* next;
  char name[96], node[200];
  uint64_t begun, ended, launched, launch_ended, correlation;
  int device, stream;
  int64_t thread;
} Record;
int profiling(void);
void begin_record(Record* record, const char* name, const char* node);
void keep_record(const Record* record);

#endif
