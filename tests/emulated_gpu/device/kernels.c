/* The device's kernels. Each runs the same op on the CPU, with the node's attributes, through a private eager context
 * that has no GPU. The first call with new input shapes waits for its result to learn the output shapes. Later calls
 * allocate, enqueue and return immediately, asynchronously like those of a GPU. Ops whose output shape depends on
 * their data and ops that write to host memory always wait.
 *
 * TensorFlow frees a tensor as soon as its readers are enqueued, and reuses its memory. A write to device memory must
 * therefore also be enqueued, after its memory is allocated. For plug-in devices, TensorFlow's kernels of
 * AssignAddVariableOp and AssignSubVariableOp write immediately, and the wheel lacks `TF_AssignUpdateVariable`. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulated.h"
#include "tensorflow/c/eager/c_api.h"
#include "tensorflow/c/kernels.h"

/* Declared in tensorflow/c/eager/c_api_experimental.h, whose includes in the wheel are not valid C. */
extern void TFE_OpSetAttrValueProto(const TFE_Op* op, const char* name, const void* proto, size_t length, TF_Status* status);

#define MOST_IN 1024 /* a large model's gradients are packed into one tensor */
#define MOST_OUT 64
#define MOST_DIMS 12
#define MOST_ATTRS 128

static const char* const SHAPED_BY_DATA[] = {"Where", "Unique", "NonMax", "ListDiff", "Range", "LinSpace", "Bincount", "Partition", "Fill", "Segment", "Sparse", "Random", "Multinomial", NULL};

typedef struct { char* key; void* value; size_t length; } Attr;

/* The output shapes of a call. key: see `signature`. */
typedef struct Shapes {
  struct Shapes* next;
  char* key;
  size_t key_length;
  int rank[MOST_OUT];
  int64_t size[MOST_OUT][MOST_DIMS];
} Shapes;

typedef struct {
  char node[200], op[96];
  Attr attrs[MOST_ATTRS];
  int attr_count, always_waits;
  pthread_mutex_t lock;
  Shapes* known;
} Kernel;

/* One call. keep: leave its results in `results`; otherwise write them to `out_data` and free the job. */
typedef struct {
  Kernel* kernel;
  int inputs, outputs, keep;
  TF_Tensor *in[MOST_IN], *results[MOST_OUT];
  void* out_data[MOST_OUT];
  size_t out_size[MOST_OUT];
  TF_Status* status;
} Job;

/* ---- reading a NodeDef (name 1, op 2, attr 5 {key 1, value 2}) ---- */

static uint64_t varint(const uint8_t** at, const uint8_t* end) {
  uint64_t value = 0;
  for (int shift = 0; *at < end; shift += 7) {
    uint8_t byte = *(*at)++;
    value |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) break;
  }
  return value;
}

/* Return the number of the next field, 0 at the end. If the field has a length, set `body` and `length`. */
static int field(const uint8_t** at, const uint8_t* end, const uint8_t** body, size_t* length) {
  if (*at >= end) return 0;
  uint64_t tag = varint(at, end);
  *body = *at, *length = 0;
  switch (tag & 7) {
    case 0: varint(at, end); break;
    case 1: *at += 8; break;
    case 5: *at += 4; break;
    default: *length = varint(at, end), *body = *at, *at += *length;
  }
  return (int)(tag >> 3);
}

static void read_attr(Kernel* k, const uint8_t* at, size_t length) {
  const uint8_t *end = at + length, *body;
  size_t size;
  Attr a = {0};
  for (int number; (number = field(&at, end, &body, &size));) {
    if (number == 1) a.key = strndup((const char*)body, size);
    if (number == 2) a.value = memcpy(malloc(size + 1), body, size), a.length = size;
  }
  if (a.key && a.key[0] != '_' && k->attr_count < MOST_ATTRS) k->attrs[k->attr_count++] = a;
}

static void* create(TF_OpKernelConstruction* construction) {
  TF_Status* status = TF_NewStatus();
  TF_Buffer* node = TF_OpKernelConstruction_GetNodeDef(construction, status);
  Kernel* k = calloc(1, sizeof *k);
  pthread_mutex_init(&k->lock, NULL);
  const uint8_t *at = node->data, *end = at + node->length, *body;
  size_t length;
  for (int number; (number = field(&at, end, &body, &length));) {
    if (number == 1) snprintf(k->node, sizeof k->node, "%.*s", (int)length, (const char*)body);
    if (number == 2) snprintf(k->op, sizeof k->op, "%.*s", (int)length, (const char*)body);
    if (number == 5) read_attr(k, body, length);
  }
  for (const char* const* word = SHAPED_BY_DATA; *word; word++) k->always_waits |= strstr(k->op, *word) != NULL;
  TF_DeleteBuffer(node);
  TF_DeleteStatus(status);
  return k;
}

static void destroy(void* kernel) {
  Kernel* k = kernel;
  for (int i = 0; i < k->attr_count; i++) free(k->attrs[i].key), free(k->attrs[i].value);
  for (Shapes* next; k->known; k->known = next) next = k->known->next, free(k->known->key), free(k->known);
  free(k);
}

/* ---- the CPU kernel ---- */

static TFE_Context* host_context(void) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static TFE_Context* context;
  pthread_mutex_lock(&lock);
  if (!context) {
    static const char no_gpu[] = {0x0a, 0x07, 0x0a, 0x03, 'G', 'P', 'U', 0x10, 0x00}; /* ConfigProto: device_count {GPU: 0} */
    TF_Status* status = TF_NewStatus();
    TFE_ContextOptions* options = TFE_NewContextOptions();
    TFE_ContextOptionsSetConfig(options, no_gpu, sizeof no_gpu, status);
    context = TFE_NewContext(options, status);
    if (TF_GetCode(status) != TF_OK) fprintf(stderr, "emulated GPU: %s\n", TF_Message(status));
    TFE_DeleteContextOptions(options);
    TF_DeleteStatus(status);
  }
  pthread_mutex_unlock(&lock);
  return context;
}

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

static void execute(void* with) {
  Job* job = with;
  Kernel* k = job->kernel;
  TF_Status* status = job->status;
  TFE_TensorHandle *in[MOST_IN], *out[MOST_OUT];
  int given = 0, count = MOST_OUT;
  TFE_Op* op = TFE_NewOp(host_context(), k->op, status);
  for (int i = 0; i < k->attr_count && TF_GetCode(status) == TF_OK; i++)
    TFE_OpSetAttrValueProto(op, k->attrs[i].key, k->attrs[i].value, k->attrs[i].length, status);
  if (TF_GetCode(status) == TF_OK) TFE_OpSetDevice(op, "/job:localhost/replica:0/task:0/device:CPU:0", status);
  for (; given < job->inputs && TF_GetCode(status) == TF_OK; given++) {
    in[given] = TFE_NewTensorHandle(job->in[given], status);
    TFE_OpAddInput(op, in[given], status);
  }
  if (TF_GetCode(status) == TF_OK) TFE_Execute(op, out, &count, status);
  for (int i = 0; TF_GetCode(status) == TF_OK && i < count; i++) {
    TF_Tensor* made = TFE_TensorHandleResolve(out[i], status);
    TFE_DeleteTensorHandle(out[i]);
    if (TF_GetCode(status) != TF_OK) break;
    job->outputs = i + 1;
    if (job->keep) {
      job->results[i] = made;
    } else {
      if (job->out_data[i]) memcpy(job->out_data[i], TF_TensorData(made), smaller(TF_TensorByteSize(made), job->out_size[i]));
      TF_DeleteTensor(made);
    }
  }
  for (int i = 0; i < given; i++) TFE_DeleteTensorHandle(in[i]);
  if (op) TFE_DeleteOp(op);
  for (int i = 0; i < job->inputs; i++)
    if (TF_TensorType(job->in[i]) != TF_STRING) TF_DeleteTensor(job->in[i]); /* strings belong to the caller */
  if (job->keep) return;
  if (TF_GetCode(status) != TF_OK) fprintf(stderr, "emulated GPU: %s %s: %s\n", k->op, k->node, TF_Message(status));
  TF_DeleteStatus(status);
  free(job);
}

/* ---- the call ---- */

/* Return all that determines the output shapes: the dtypes and shapes of all inputs, and the values in host memory. */
static char* signature(TF_Tensor** in, const char* on_host, int inputs, size_t* length) {
  size_t room = 1;
  for (int i = 0; i < inputs; i++)
    room += 2 + 8 * (size_t)TF_NumDims(in[i]) + (on_host[i] ? TF_TensorByteSize(in[i]) : 0);
  char *key = malloc(room), *at = key;
  for (int i = 0; i < inputs; i++) {
    *at++ = (char)TF_TensorType(in[i]), *at++ = (char)TF_NumDims(in[i]);
    for (int d = 0; d < TF_NumDims(in[i]); d++, at += 8) memcpy(at, &(int64_t){TF_Dim(in[i], d)}, 8);
    if (on_host[i]) memcpy(at, TF_TensorData(in[i]), TF_TensorByteSize(in[i])), at += TF_TensorByteSize(in[i]);
  }
  *length = (size_t)(at - key);
  return key;
}

static Shapes* remembered(Kernel* k, const char* key, size_t length) {
  pthread_mutex_lock(&k->lock);
  Shapes* found = k->known;
  while (found && (found->key_length != length || memcmp(found->key, key, length))) found = found->next;
  pthread_mutex_unlock(&k->lock);
  return found;
}

static void remember(Kernel* k, Shapes* shapes, char* key, size_t length) {
  shapes->key = memcpy(malloc(length + 1), key, length), shapes->key_length = length;
  pthread_mutex_lock(&k->lock);
  shapes->next = k->known, k->known = shapes;
  pthread_mutex_unlock(&k->lock);
}

static void keep_memory(void* data, size_t length, void* with) {}
static void free_memory(void* data, size_t length, void* with) { free(data); }

/* Return a tensor that shares the memory of `t`. copied: copy the data, because TensorFlow may reuse host memory. */
static TF_Tensor* view(TF_Tensor* t, int copied) {
  int64_t dims[MOST_DIMS];
  int rank = TF_NumDims(t);
  for (int d = 0; d < rank; d++) dims[d] = TF_Dim(t, d);
  size_t size = TF_TensorByteSize(t);
  void* data = TF_TensorData(t);
  if (copied) {
    void* own = NULL;
    if (posix_memalign(&own, 64, size ? size : 1)) abort();
    data = size ? memcpy(own, data, size) : own;
  }
  return TF_NewTensor(TF_TensorType(t), dims, rank, data, size, copied ? free_memory : keep_memory, NULL);
}

/* Allocate outputs of known shapes and enqueue the call. */
static void call_known(Job* job, const Shapes* shapes, TF_OpKernelContext* context, SP_Stream stream, uint64_t least, TF_Status* status) {
  Kernel* k = job->kernel;
  for (int i = 0; i < TF_NumOutputs(context) && TF_GetCode(status) == TF_OK; i++) {
    TF_DataType type = TF_ExpectedOutputDataType(context, i);
    size_t size = TF_DataTypeSize(type);
    for (int d = 0; d < shapes->rank[i]; d++) size *= (size_t)shapes->size[i][d];
    TF_Tensor* out = TF_AllocateOutput(context, i, type, shapes->size[i], shapes->rank[i], size, status);
    if (TF_GetCode(status) != TF_OK) return;
    job->out_data[i] = TF_TensorData(out), job->out_size[i] = size;
    TF_DeleteTensor(out);
  }
  uint64_t ticket = enqueue(stream, execute, job, least, k->op, k->node);
  if (!setting("EMULATED_GPU_ASYNC", 1)) await(stream, ticket);
}

/* Copy the results to the outputs. Runs as a task of the stream, to keep its order. */
static void write_results(void* with) {
  Job* job = with;
  for (int i = 0; i < job->outputs; i++)
    if (job->out_data[i]) memcpy(job->out_data[i], TF_TensorData(job->results[i]), job->out_size[i]);
}

/* Run the call, wait, set its outputs, and write the output shapes to `shapes`. Return 0 on failure, or if `shapes` is
   too small. */
static int call_fresh(Job* job, Shapes* shapes, TF_OpKernelContext* context, SP_Stream stream, uint64_t least, TF_Status* status) {
  Kernel* k = job->kernel;
  int fits = 1;
  await(stream, enqueue(stream, execute, job, least, k->op, k->node));
  if (TF_GetCode(job->status) != TF_OK) TF_SetStatus(status, TF_GetCode(job->status), TF_Message(job->status));
  for (int i = 0; i < job->outputs; i++) {
    TF_Tensor* made = job->results[i];
    int64_t dims[MOST_DIMS];
    int rank = shapes->rank[i] = TF_NumDims(made);
    fits &= rank <= MOST_DIMS;
    for (int d = 0; d < rank && d < MOST_DIMS; d++) dims[d] = shapes->size[i][d] = TF_Dim(made, d);
    if (TF_GetCode(status) != TF_OK) {
      /* an earlier output failed: only free the others */
    } else if (TF_TensorType(made) == TF_STRING) {
      TF_SetOutput(context, i, made, status);
    } else {
      TF_Tensor* out = TF_AllocateOutput(context, i, TF_TensorType(made), dims, rank, TF_TensorByteSize(made), status);
      if (TF_GetCode(status) == TF_OK) {
        job->out_data[i] = TF_TensorData(out), job->out_size[i] = TF_TensorByteSize(made);
        TF_DeleteTensor(out);
      }
    }
  }
  await(stream, enqueue(stream, write_results, job, 0, NULL, NULL));
  for (int i = 0; i < job->outputs; i++) TF_DeleteTensor(job->results[i]);
  TF_DeleteStatus(job->status);
  free(job);
  return fits && TF_GetCode(status) == TF_OK;
}

static void compute(void* kernel, TF_OpKernelContext* context) {
  Kernel* k = kernel;
  TF_Status* status = TF_NewStatus();
  SP_Stream stream = TF_GetStream(context, status);
  int inputs = TF_NumInputs(context), outputs = TF_NumOutputs(context), strings = 0, waits = k->always_waits;
  uint64_t least = (uint64_t)(1000 * setting("EMULATED_GPU_KERNEL_US", 10));
  if (!strcmp(k->op, "SyncDevice")) { /* waits for the compute stream only, as in the CUDA build */
    await_all(stream);
    TF_DeleteStatus(status);
    return;
  }
  if (inputs > MOST_IN || outputs > MOST_OUT || fails(k->op)) {
    TF_SetStatus(status, TF_INTERNAL, fails(k->op) ? "CUBLAS_STATUS_EXECUTION_FAILED (emulated)" : "more inputs or outputs than the emulation takes");
    TF_OpKernelContext_Failure(context, status);
    TF_DeleteStatus(status);
    return;
  }
  TF_Tensor* in[MOST_IN];
  char on_host[MOST_IN];
  for (int i = 0; i < inputs; i++) {
    TF_GetInput(context, i, &in[i], status);
    on_host[i] = TF_IsHostMemoryInput(context, i, status);
    strings |= TF_TensorType(in[i]) == TF_STRING;
  }
  for (int i = 0; i < outputs; i++) waits |= TF_IsHostMemoryOutput(context, i, status);
  waits |= strings;
  size_t length;
  char* key = signature(in, on_host, inputs, &length);
  Shapes* known = waits ? NULL : remembered(k, key, length);
  Job* job = calloc(1, sizeof *job);
  job->kernel = k, job->inputs = inputs, job->status = TF_NewStatus(), job->keep = known == NULL;
  for (int i = 0; i < inputs; i++) job->in[i] = TF_TensorType(in[i]) == TF_STRING ? in[i] : view(in[i], on_host[i] && !strings);
  if (known) {
    call_known(job, known, context, stream, least, status);
  } else {
    Shapes* fresh = calloc(1, sizeof *fresh);
    if (call_fresh(job, fresh, context, stream, least, status) && !waits) remember(k, fresh, key, length);
    else free(fresh);
  }
  if (TF_GetCode(status) != TF_OK) TF_OpKernelContext_Failure(context, status);
  free(key);
  for (int i = 0; i < inputs; i++) TF_DeleteTensor(in[i]);
  TF_DeleteStatus(status);
}

/* ---- the table: op, type constraints, inputs and outputs in host memory ---- */

static const struct { const char *op, *types, *host; } TABLE[] = {
#include "kernels.inc"
};

static void register_kernel(const char* op, const char* types, const char* host) {
  char name[64], types_left[512], host_left[512], *rest;
  TF_Status* status = TF_NewStatus();
  TF_KernelBuilder* builder = TF_NewKernelBuilder(op, "GPU", create, compute, destroy);
  snprintf(types_left, sizeof types_left, "%s", types);
  snprintf(host_left, sizeof host_left, "%s", host);
  for (char* part = strtok_r(types_left, " ", &rest); part && TF_GetCode(status) == TF_OK; part = strtok_r(NULL, " ", &rest)) {
    int type = 0;
    sscanf(part, "%63[^=]=%d", name, &type);
    TF_KernelBuilder_TypeConstraint(builder, name, (TF_DataType)type, status);
  }
  for (char* part = strtok_r(host_left, " ", &rest); part; part = strtok_r(NULL, " ", &rest)) TF_KernelBuilder_HostMemory(builder, part);
  TF_KernelBuilder_Priority(builder, 100);
  if (TF_GetCode(status) == TF_OK) TF_RegisterKernelBuilder(op, builder, status);
  else TF_DeleteKernelBuilder(builder); /* a dtype that the C API cannot name */
  TF_DeleteStatus(status);
}

EXPORT void TF_InitKernel(void) {
  for (size_t i = 0; i < sizeof TABLE / sizeof *TABLE; i++) register_kernel(TABLE[i].op, TABLE[i].types, TABLE[i].host);
  register_paced();
}
