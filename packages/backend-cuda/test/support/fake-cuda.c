/*
 * A libcuda over host memory, for tests of what goes through koffi: the bytes of every argument arrive, and what is
 * written comes back. Prototypes are those of cuda.h. Device pointers are host pointers. Kernels copy what they were
 * launched with to their first parameter. cuMemAllocAsync and cuMemFreeAsync are missing, as in a driver that is too old.
 *
 * FAKE_CUDA_VERSION, FAKE_CUDA_DEVICES and FAKE_CUDA_CAPABILITY (90 for 9.0) say what is there.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>

#ifndef CUDA_VERSION
typedef int CUresult, CUdevice, CUdevice_attribute, CUpointer_attribute, CUjit_option;
typedef int CUfunction_attribute, CUstreamCaptureMode, CUstreamCaptureStatus;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct { char bytes[16]; } CUuuid;
typedef struct {
  int id;
  char pad[4];
  union { char pad[64]; int programmaticStreamSerializationAllowed; void *pointer; } value;
} CUlaunchAttribute;
typedef struct {
  unsigned int gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute *attrs;
  unsigned int numAttrs;
} CUlaunchConfig;
#endif

_Static_assert(sizeof(CUlaunchConfig) == 56 && sizeof(CUlaunchAttribute) == 72, "sizes");
_Static_assert(offsetof(CUlaunchConfig, sharedMemBytes) == 24, "shared bytes");
_Static_assert(offsetof(CUlaunchConfig, hStream) == 32, "stream");
_Static_assert(offsetof(CUlaunchConfig, attrs) == 40, "attributes");
_Static_assert(offsetof(CUlaunchConfig, numAttrs) == 48, "attribute count");
_Static_assert(offsetof(CUlaunchAttribute, value) == 8, "attribute value");

#ifdef _WIN32
#define EXPORT __declspec(dllexport) CUresult
#else
#define EXPORT __attribute__((visibility("default"))) CUresult
#endif
#define INVALID_VALUE 1
#define NO_DEVICE 100
#define INVALID_CONTEXT 201
#define UNSUPPORTED_PTX_VERSION 222
#define NOT_FOUND 500
#define NOT_READY 600
#define PRIMARY ((CUcontext)0x00c0ffee00000001)
#define STREAM ((CUstream)0x7f00deadbeef0010)
#define ECHO ((CUfunction)0x7f00deadbeef0020)
#define EMPTY ((CUfunction)0x7f00deadbeef0030)

static CUcontext stack[16];
static int depth;

static int setting(const char *name, int otherwise) {
  const char *text = getenv(name);
  return text == NULL ? otherwise : atoi(text);
}

EXPORT cuInit(unsigned int flags) {
  if (flags != 0) return INVALID_VALUE;
  return setting("FAKE_CUDA_DEVICES", 1) == 0 ? NO_DEVICE : 0;
}
EXPORT cuDriverGetVersion(int *version) { *version = setting("FAKE_CUDA_VERSION", 13000); return 0; }
EXPORT cuGetErrorName(CUresult error, const char **text) {
  if (error == 999) return INVALID_VALUE;
  *text = error == INVALID_VALUE ? "CUDA_ERROR_INVALID_VALUE" : "CUDA_ERROR_FAKE";
  return 0;
}
EXPORT cuGetErrorString(CUresult error, const char **text) {
  if (error == 999) return INVALID_VALUE;
  *text = error == INVALID_VALUE ? "invalid argument" : "a fake failure";
  return 0;
}

EXPORT cuDeviceGetCount(int *count) { *count = setting("FAKE_CUDA_DEVICES", 1); return 0; }
EXPORT cuDeviceGet(CUdevice *device, int ordinal) { *device = ordinal; return 0; }
EXPORT cuDeviceGetName(char *name, int length, CUdevice device) {
  snprintf(name, length, "Fake card %d", device);
  return 0;
}
EXPORT cuDeviceGetUuid(CUuuid *uuid, CUdevice device) {
  for (int i = 0; i < 16; i++) uuid->bytes[i] = (char)(0xf0 + i + device);
  return 0;
}
EXPORT cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
  int capability = setting("FAKE_CUDA_CAPABILITY", 90);
  (void)device;
  *value = (int)attribute == 75 ? capability / 10 : (int)attribute == 76 ? capability % 10
    : (int)attribute == 1 ? 1024 : (int)attribute == 97 ? 232448 : 1000 + (int)attribute;
  return 0;
}
EXPORT cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
  (void)device;
  *bytes = (size_t)140 << 30;
  return 0;
}

EXPORT cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) { (void)device; *context = PRIMARY; return 0; }
EXPORT cuDevicePrimaryCtxRelease_v2(CUdevice device) { (void)device; return 0; }
EXPORT cuCtxGetCurrent(CUcontext *context) { *context = depth == 0 ? NULL : stack[depth - 1]; return 0; }
EXPORT cuCtxSetCurrent(CUcontext context) { depth = 1; stack[0] = context; return 0; }
EXPORT cuCtxPushCurrent_v2(CUcontext context) {
  if (context != PRIMARY || depth == 16) return INVALID_CONTEXT;
  stack[depth++] = context;
  return 0;
}
EXPORT cuCtxPopCurrent_v2(CUcontext *context) {
  if (depth == 0) return INVALID_CONTEXT;
  *context = stack[--depth];
  return 0;
}
EXPORT cuCtxGetDevice(CUdevice *device) { *device = 0; return depth == 0 ? INVALID_CONTEXT : 0; }
EXPORT cuCtxSynchronize(void) { return depth == 0 ? INVALID_CONTEXT : 0; }

EXPORT cuStreamCreate(CUstream *stream, unsigned int flags) {
  *stream = STREAM;
  return flags == 1 ? 0 : INVALID_VALUE;
}
EXPORT cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority) {
  *stream = STREAM;
  return flags == 1 && priority == -5 ? 0 : INVALID_VALUE;
}
EXPORT cuStreamDestroy_v2(CUstream stream) { return stream == STREAM ? 0 : INVALID_VALUE; }
EXPORT cuStreamSynchronize(CUstream stream) { return stream == STREAM ? 0 : INVALID_VALUE; }
EXPORT cuStreamQuery(CUstream stream) {
  static int asked;
  if (stream != STREAM) return INVALID_VALUE;
  return asked++ % 2 == 0 ? NOT_READY : 0;
}
EXPORT cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags) {
  return stream == STREAM && event != NULL && flags == 0 ? 0 : INVALID_VALUE;
}
static int capturing;
EXPORT cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  if (stream != STREAM || mode != 2) return INVALID_VALUE;
  capturing = 1;
  return 0;
}
EXPORT cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  if (stream != STREAM || !capturing) return INVALID_VALUE;
  capturing = 0;
  *graph = (CUgraph)0x7f00deadbeef0040;
  return 0;
}
EXPORT cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status) {
  *status = capturing;
  return stream == STREAM ? 0 : INVALID_VALUE;
}
EXPORT cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags) {
  *exec = (CUgraphExec)0x7f00deadbeef0050;
  return graph == (CUgraph)0x7f00deadbeef0040 && flags == 0 ? 0 : INVALID_VALUE;
}
EXPORT cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  return exec == (CUgraphExec)0x7f00deadbeef0050 && stream == STREAM ? 0 : INVALID_VALUE;
}
EXPORT cuGraphExecDestroy(CUgraphExec exec) { return exec == (CUgraphExec)0x7f00deadbeef0050 ? 0 : INVALID_VALUE; }
EXPORT cuGraphDestroy(CUgraph graph) { return graph == (CUgraph)0x7f00deadbeef0040 ? 0 : INVALID_VALUE; }

EXPORT cuEventCreate(CUevent *event, unsigned int flags) {
  unsigned int *made = malloc(sizeof *made);
  *made = flags;
  *event = (CUevent)made;
  return 0;
}
EXPORT cuEventDestroy_v2(CUevent event) { free(event); return 0; }
EXPORT cuEventRecord(CUevent event, CUstream stream) { return event != NULL && stream == STREAM ? 0 : INVALID_VALUE; }
EXPORT cuEventQuery(CUevent event) { return event != NULL ? 0 : INVALID_VALUE; }
EXPORT cuEventSynchronize(CUevent event) { return event != NULL ? 0 : INVALID_VALUE; }
EXPORT cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end) {
  *milliseconds = 1.25f;
  return *(unsigned int *)start == 0 && *(unsigned int *)end == 0 ? 0 : INVALID_VALUE;
}

EXPORT cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes) {
  if (bytes > ((size_t)1 << 40)) return 2;
  *pointer = (CUdeviceptr)(uintptr_t)malloc(bytes);
  return 0;
}
EXPORT cuMemFree_v2(CUdeviceptr pointer) { free((void *)(uintptr_t)pointer); return 0; }
EXPORT cuMemAllocHost_v2(void **pointer, size_t bytes) { *pointer = calloc(1, bytes); return 0; }
EXPORT cuMemFreeHost(void *pointer) { free(pointer); return 0; }
EXPORT cuMemcpyHtoD_v2(CUdeviceptr target, const void *source, size_t bytes) {
  memcpy((void *)(uintptr_t)target, source, bytes);
  return 0;
}
EXPORT cuMemcpyDtoH_v2(void *target, CUdeviceptr source, size_t bytes) {
  memcpy(target, (void *)(uintptr_t)source, bytes);
  return 0;
}
EXPORT cuMemcpyHtoDAsync_v2(CUdeviceptr target, const void *source, size_t bytes, CUstream stream) {
  return stream == STREAM ? cuMemcpyHtoD_v2(target, source, bytes) : INVALID_VALUE;
}
EXPORT cuMemcpyDtoHAsync_v2(void *target, CUdeviceptr source, size_t bytes, CUstream stream) {
  return stream == STREAM ? cuMemcpyDtoH_v2(target, source, bytes) : INVALID_VALUE;
}
EXPORT cuMemcpyDtoDAsync_v2(CUdeviceptr target, CUdeviceptr source, size_t bytes, CUstream stream) {
  if (stream != STREAM) return INVALID_VALUE;
  memmove((void *)(uintptr_t)target, (void *)(uintptr_t)source, bytes);
  return 0;
}
EXPORT cuMemsetD8Async(CUdeviceptr target, unsigned char value, size_t count, CUstream stream) {
  if (stream != STREAM) return INVALID_VALUE;
  memset((void *)(uintptr_t)target, value, count);
  return 0;
}
EXPORT cuMemsetD32Async(CUdeviceptr target, unsigned int value, size_t count, CUstream stream) {
  if (stream != STREAM) return INVALID_VALUE;
  for (size_t i = 0; i < count; i++) ((unsigned int *)(uintptr_t)target)[i] = value;
  return 0;
}
EXPORT cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
  *free_bytes = (size_t)123 << 32;
  *total = (size_t)456 << 32;
  return 0;
}
EXPORT cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr pointer) {
  if ((int)attribute != 1 || pointer < 4096) return INVALID_VALUE;
  *(CUcontext *)data = PRIMARY;
  return 0;
}

EXPORT cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int count, CUjit_option *options, void **values) {
  const char *text = image;
  int broken = strncmp(text, ".version 9", 10) == 0;
  for (unsigned int i = 0; i + 1 < count; i++) {
    size_t size = (size_t)values[i + 1];
    /* Each buffer is followed by its size. */
    if ((int)options[i] % 2 == 1 && (int)options[i + 1] != (int)options[i] + 1) return INVALID_VALUE;
    if ((int)options[i] == 3) snprintf(values[i], size, "%s", broken ? "" : "info: 12 registers");
    if ((int)options[i] == 5) snprintf(values[i], size, "%s", broken ? "fatal: unsupported .version" : "");
  }
  if (broken) return UNSUPPORTED_PTX_VERSION;
  *module = (CUmodule)0x7f00deadbeef0060;
  return 0;
}
EXPORT cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  if (module != (CUmodule)0x7f00deadbeef0060) return INVALID_VALUE;
  if (strcmp(name, "echo") != 0 && strcmp(name, "empty") != 0) return NOT_FOUND;
  *function = strcmp(name, "echo") == 0 ? ECHO : EMPTY;
  return 0;
}
EXPORT cuModuleUnload(CUmodule module) { return module == (CUmodule)0x7f00deadbeef0060 ? 0 : INVALID_VALUE; }
static int allowed_shared;
EXPORT cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function) {
  static const int values[] = {512, 256, 0, 8, 40, 70, 90};
  if (function != ECHO && function != EMPTY) return INVALID_VALUE;
  *value = (int)attribute == 8 ? allowed_shared : values[(int)attribute];
  return 0;
}
EXPORT cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  if (function != ECHO || (int)attribute != 8) return INVALID_VALUE;
  allowed_shared = value;
  return 0;
}
EXPORT cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int threads, size_t shared) {
  *blocks = threads / 64 + (int)(shared / 1024);
  return function == ECHO ? 0 : INVALID_VALUE;
}

/* Eight bytes of each parameter of `echo` after the first, then grid, block and shared bytes, to the first. */
static CUresult launch(CUfunction function, const unsigned int *shape, CUstream stream, void **parameters, void **extra, unsigned int attribute) {
  if (stream != STREAM || extra != NULL || depth == 0) return INVALID_VALUE;
  if (function == EMPTY) return 0;
  static const size_t sizes[] = {4, 4, 4, 8, 8, 8, 12};
  char *out;
  memcpy(&out, parameters[0], 8);
  for (int i = 0; i < 7; i++) memcpy(out + 16 * i, parameters[i + 1], sizes[i]);
  memcpy(out + 112, shape, 7 * sizeof *shape);
  memcpy(out + 140, &attribute, 4);
  return 0;
}
EXPORT cuLaunchKernel(CUfunction function, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared, CUstream stream, void **parameters, void **extra) {
  const unsigned int shape[] = {gx, gy, gz, bx, by, bz, shared};
  return launch(function, shape, stream, parameters, extra, 0);
}
EXPORT cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra) {
  const CUlaunchAttribute *attribute = config->attrs;
  if (config->numAttrs != 1) return INVALID_VALUE;
  const unsigned int said = 1000 * (unsigned int)attribute->id + (unsigned int)attribute->value.programmaticStreamSerializationAllowed;
  return launch(function, &config->gridDimX, config->hStream, parameters, extra, said);
}
