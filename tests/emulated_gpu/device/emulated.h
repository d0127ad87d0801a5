/* An emulated GPU for tests: a TensorFlow plug-in device of type GPU whose memory is the host's and whose kernels
 * are TensorFlow's own CPU kernels, run in order by one thread a stream. It is no GPU and knows nothing of one:
 * its platform is called EMULATED, and no figure taken on it says anything of a real device.
 *
 * Set by the environment:
 *   EMULATED_GPUS            how many devices (1); CUDA_VISIBLE_DEVICES in numbers is obeyed
 *   EMULATED_GPU_MEMORY      bytes of each (4 GiB)
 *   EMULATED_GPU_CAPABILITY  compute capability, such as 8.0 (none): build.py makes TensorFlow's details report it
 *   EMULATED_GPU_KERNEL_US   least time of a kernel (10)
 *   EMULATED_GPU_COPY_US     least time of a copy between host and device (8), to which comes
 *   EMULATED_GPU_COPY_GBPS   its bytes at this rate (12)
 *   EMULATED_GPU_ASYNC       0: a kernel is waited for before the next is enqueued (1)
 *   EMULATED_GPU_FAIL        init, init:N: no device, or not device N, can be opened; alloc: no memory is given;
 *                            the name of an op: its kernel fails
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

/* streams.c: what a stream is to do, in order. A task without a name is no work of the device's. */
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
