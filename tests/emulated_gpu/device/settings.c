/* Settings from environment variables, and the clock, which TensorFlow's profiler also uses. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "emulated.h"

double setting(const char* name, double otherwise) {
  const char* text = getenv(name);
  return text && *text ? atof(text) : otherwise;
}

int fails(const char* what) {
  const char* text = getenv("EMULATED_GPU_FAIL");
  return text && !strcmp(text, what);
}

uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Sleep for most of the time, which leaves the host's cores free, then poll the clock, which is exact. */
void wait_until(uint64_t ns) {
  for (uint64_t now; (now = now_ns()) < ns;)
    if (ns - now > 80000) {
      uint64_t sleep = ns - now - 60000;
      nanosleep(&(struct timespec){(time_t)(sleep / 1000000000u), (long)(sleep % 1000000000u)}, NULL);
    }
}
