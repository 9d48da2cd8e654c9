/*
 * A libnvrtc that compiles nothing, for tests of what goes through koffi: the log says what arrived. Sources that begin with
 * "error" have errors, those that begin with "builtins" fail as where a library is missing. Prototypes are those of nvrtc.h.
 *
 * FAKE_NVRTC_VERSION: 1000 * major + 10 * minor.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default"))) int
enum { SUCCESS, INVALID_INPUT = 3, INVALID_PROGRAM, COMPILATION = 6, BUILTIN_OPERATION_FAILURE };

typedef struct {
  char log[4096];
  char source[1024];
  int isPtx;
} Program;

static int alive = 0;

EXPORT nvrtcVersion(int *major, int *minor) {
  const char *given = getenv("FAKE_NVRTC_VERSION");
  const int version = given == NULL ? 13000 : atoi(given);
  *major = version / 1000;
  *minor = version % 1000 / 10;
  return SUCCESS;
}

EXPORT nvrtcGetNumSupportedArchs(int *count) {
  *count = 2;
  return SUCCESS;
}

EXPORT nvrtcGetSupportedArchs(int *architectures) {
  architectures[0] = 80;
  architectures[1] = 90;
  return SUCCESS;
}

EXPORT nvrtcCreateProgram(
  Program **program, const char *source, const char *name, int headers, const char *const *texts, const char *const *names
) {
  if (strlen(source) >= sizeof((*program)->source)) return INVALID_INPUT;
  *program = calloc(1, sizeof(Program));
  strcpy((*program)->source, source);
  char *log = (*program)->log;
  log += sprintf(log, "%d alive; %s", ++alive, name);
  for (int i = 0; i < headers; ++i) log += sprintf(log, "; %s: %s", names[i], texts[i]);
  return SUCCESS;
}

EXPORT nvrtcCompileProgram(Program *program, int count, const char *const *options) {
  for (int i = 0; i < count; ++i) {
    strcat(strcat(program->log, "; "), options[i]);
    if (strstr(options[i], "compute_") != NULL) program->isPtx = 1;
  }
  if (strncmp(program->source, "error", 5) == 0) return COMPILATION;
  if (strncmp(program->source, "builtins", 8) == 0) return BUILTIN_OPERATION_FAILURE;
  return SUCCESS;
}

EXPORT nvrtcGetProgramLogSize(Program *program, size_t *size) {
  *size = strlen(program->log) + 1;
  return SUCCESS;
}

EXPORT nvrtcGetProgramLog(Program *program, char *log) {
  strcpy(log, program->log);
  return SUCCESS;
}

static int give(Program *program, int isPtx, char *bytes, size_t *size) {
  if (program->isPtx != isPtx) return INVALID_PROGRAM;
  char image[2048];
  sprintf(image, "%s of %s", isPtx ? "PTX" : "cubin", program->source);
  if (size != NULL) *size = strlen(image) + 1;
  else strcpy(bytes, image);
  return SUCCESS;
}

EXPORT nvrtcGetCUBINSize(Program *program, size_t *size) { return give(program, 0, NULL, size); }
EXPORT nvrtcGetCUBIN(Program *program, char *bytes) { return give(program, 0, bytes, NULL); }
EXPORT nvrtcGetPTXSize(Program *program, size_t *size) { return give(program, 1, NULL, size); }
EXPORT nvrtcGetPTX(Program *program, char *bytes) { return give(program, 1, bytes, NULL); }

EXPORT nvrtcDestroyProgram(Program **program) {
  free(*program);
  *program = NULL;
  --alive;
  return SUCCESS;
}
