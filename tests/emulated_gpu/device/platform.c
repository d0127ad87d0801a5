/* Tells TensorFlow, when it loads the plug-in, about the platform, its devices, and the graph optimizer's pass to
 * skip. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulated.h"
#include "tensorflow/c/experimental/grappler/grappler.h"

static int visible(void) {
  int have = (int)setting("EMULATED_GPUS", 1), named = 0;
  if (have > MOST_DEVICES) have = MOST_DEVICES;
  const char* at = getenv("CUDA_VISIBLE_DEVICES"); /* like CUDA, stop at the first index without a device */
  if (!at) return have;
  for (char* after; *at >= '0' && *at <= '9' && strtol(at, &after, 10) < have; at = after + (*after == ',')) named++;
  return named;
}
static void device_count(const SP_Platform* p, int* count, TF_Status* status) { *count = visible(); }

static void create_device(const SP_Platform* p, SE_CreateDeviceParams* params, TF_Status* status) {
  static char buses[MOST_DEVICES][16];
  char this_one[16];
  snprintf(this_one, sizeof this_one, "init:%d", params->ordinal);
  if (fails("init") || fails(this_one)) {
    TF_SetStatus(status, TF_INTERNAL, "CUDA_ERROR_DEVICE_UNAVAILABLE: CUDA-capable device(s) is/are busy or unavailable");
    return;
  }
  char* bus = buses[params->ordinal];
  snprintf(bus, sizeof buses[0], "0000:%02x:00.0", (unsigned)params->ordinal & 255);
  params->device->struct_size = SP_DEVICE_STRUCT_SIZE;
  params->device->ordinal = params->ordinal;
  params->device->hardware_name = "EMULATED";
  params->device->device_vendor = "tuilab's tests";
  params->device->pci_bus_id = bus;
}
static void destroy_device(const SP_Platform* p, SP_Device* d) {}

static int32_t numa_node(const SP_Device* d) { return 0; }
static int64_t memory_bandwidth(const SP_Device* d) { return -1; }
static double gflops(const SP_Device* d) { return -1; }
static void create_device_fns(const SP_Platform* p, SE_CreateDeviceFnsParams* params, TF_Status* status) {
  *params->device_fns = (SP_DeviceFns){SP_DEVICE_FNS_STRUCT_SIZE, NULL, numa_node, memory_bandwidth, gflops};
}
static void destroy_device_fns(const SP_Platform* p, SP_DeviceFns* f) {}
static void create_executor(const SP_Platform* p, SE_CreateStreamExecutorParams* params, TF_Status* status) {
  params->stream_executor->struct_size = SP_STREAMEXECUTOR_STRUCT_SIZE;
  set_stream_functions(params->stream_executor);
  set_memory_functions(params->stream_executor);
}
static void destroy_executor(const SP_Platform* p, SP_StreamExecutor* e) {}
static void create_timer_fns(const SP_Platform* p, SP_TimerFns* t, TF_Status* status) {
  *t = (SP_TimerFns){SP_TIMER_FNS_STRUCT_SIZE, NULL, timer_ns};
}
static void destroy_timer_fns(const SP_Platform* p, SP_TimerFns* t) {}
static void destroy_platform(SP_Platform* p) {}
static void destroy_platform_fns(SP_PlatformFns* f) {}

EXPORT void SE_InitPlugin(SE_PlatformRegistrationParams* params, TF_Status* status) {
  params->platform->struct_size = SP_PLATFORM_STRUCT_SIZE;
  params->platform->name = "EMULATED";
  params->platform->type = "GPU";
  params->platform->use_bfc_allocator = 1;
  SP_PlatformFns* f = params->platform_fns;
  f->struct_size = SP_PLATFORM_FNS_STRUCT_SIZE;
  f->get_device_count = device_count;
  f->create_device = create_device, f->destroy_device = destroy_device;
  f->create_device_fns = create_device_fns, f->destroy_device_fns = destroy_device_fns;
  f->create_stream_executor = create_executor, f->destroy_stream_executor = destroy_executor;
  f->create_timer_fns = create_timer_fns, f->destroy_timer_fns = destroy_timer_fns;
  params->destroy_platform = destroy_platform;
  params->destroy_platform_fns = destroy_platform_fns;
}

static void* create_optimizer(void) { return NULL; }
static void destroy_optimizer(void* optimizer) {}
static void free_graph(void* data, size_t length) { free(data); }
static void keep_graph(void* optimizer, const TF_Buffer* graph, const TF_GrapplerItem* item, TF_Buffer* out, TF_Status* status) {
  out->data = memcpy(malloc(graph->length), graph->data, graph->length);
  out->length = graph->length;
  out->data_deallocator = free_graph;
}

EXPORT void TF_InitGraph(TP_OptimizerRegistrationParams* params, TF_Status* status) {
  params->struct_size = TP_OPTIMIZER_REGISTRATION_PARAMS_STRUCT_SIZE;
  params->optimizer_configs->struct_size = TP_OPTIMIZER_CONFIGS_STRUCT_SIZE;
  params->optimizer->struct_size = TP_OPTIMIZER_STRUCT_SIZE;
  params->device_type = "GPU";
  params->optimizer_configs->layout_optimizer = TF_TriState_Off; /* it converts to NCHW, which no CPU kernel supports */
  params->optimizer->create_func = create_optimizer;
  params->optimizer->optimize_func = keep_graph;
  params->optimizer->destroy_func = destroy_optimizer;
}
