/* One op with a known speed, so that a test can choose where the crossover is. If EMULATED_PACE_NS is set, Digamma of
 * float32 takes that many nanoseconds per element on the CPU. On the emulated GPU, it takes the minimum time of a
 * kernel at every size. Both times vary by up to 6% (standard deviation about 3.5%), like those of real calls. The op
 * computes nothing. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "emulated.h"
#include "tensorflow/c/kernels.h"
#include "tensorflow/c/tf_tensor.h"

static double scattered(double ns) {
  static __thread uint64_t state;
  if (!state) state = now_ns() | 1;
  state ^= state << 13, state ^= state >> 7, state ^= state << 17; /* xorshift (Marsaglia 2003) */
  return ns * (0.94 + 0.12 * (double)(state >> 11) / 9007199254740992.0);
}

static void nothing(void* with) {}

static void paced(void* node, TF_OpKernelContext* context, int on_device) {
  TF_Status* status = TF_NewStatus();
  uint64_t begun = now_ns();
  TF_Tensor* in;
  TF_GetInput(context, 0, &in, status);
  int64_t dims[8], elements = TF_TensorElementCount(in);
  int rank = TF_NumDims(in) > 8 ? 8 : TF_NumDims(in);
  for (int i = 0; i < rank; i++) dims[i] = TF_Dim(in, i);
  TF_Tensor* out = TF_AllocateOutput(context, 0, TF_FLOAT, dims, rank, TF_TensorByteSize(in), status);
  if (TF_GetCode(status) != TF_OK) {
    TF_OpKernelContext_Failure(context, status);
  } else if (on_device) {
    double least = scattered(1000 * setting("EMULATED_GPU_KERNEL_US", 10));
    enqueue(TF_GetStream(context, status), nothing, NULL, (uint64_t)least, "Digamma", node);
  } else {
    memcpy(TF_TensorData(out), TF_TensorData(in), TF_TensorByteSize(in));
    wait_until(begun + (uint64_t)scattered((double)elements * setting("EMULATED_PACE_NS", 0)));
  }
  if (out) TF_DeleteTensor(out);
  TF_DeleteTensor(in);
  TF_DeleteStatus(status);
}
static void* create(TF_OpKernelConstruction* construction) {
  TF_StringView name = TF_OpKernelConstruction_GetName(construction);
  return strndup(name.data, name.len);
}
static void destroy(void* node) { free(node); }
static void on_cpu(void* node, TF_OpKernelContext* context) { paced(node, context, 0); }
static void on_device(void* node, TF_OpKernelContext* context) { paced(node, context, 1); }

static void registered(const char* device, void (*compute)(void*, TF_OpKernelContext*)) {
  TF_Status* status = TF_NewStatus();
  TF_KernelBuilder* builder = TF_NewKernelBuilder("Digamma", device, create, compute, destroy);
  TF_KernelBuilder_TypeConstraint(builder, "T", TF_FLOAT, status);
  TF_KernelBuilder_Priority(builder, 200);
  TF_RegisterKernelBuilder("PacedDigamma", builder, status);
  TF_DeleteStatus(status);
}

void register_paced(void) {
  if (!getenv("EMULATED_PACE_NS")) return;
  registered("CPU", on_cpu);
  registered("GPU", on_device);
}
