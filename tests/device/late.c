/*
 * The driver is loaded after MPI_Init and after messages, by another thread, in which alone a
 * context is current. This program is not linked with the driver.
 */
#include "driver.h"

#include "pattern.h"

#include <dlfcn.h>
#include <pthread.h>

#define DRIVER(name) ((__typeof__(&name))dlsym(driver, #name))
#define WORKS(call) CHECK((call) == 0, "the driver refuses it")

enum { SIZE = 300000 };

static void *driver;
static CUdeviceptr buffers[2];
static unsigned char bytes[SIZE];

static void exchange(void *from, void *to)
{
    int partner = check_size == 2 ? 1 - check_rank : check_rank;
    MPI_Sendrecv(from, SIZE, MPI_BYTE, partner, 0, to, SIZE, MPI_BYTE, partner, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static void *load(void *unused)
{
    CUcontext context;
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    REQUIRE(driver, "%s", dlerror());
    WORKS(DRIVER(cuInit)(0));
    WORKS(DRIVER(cuDevicePrimaryCtxRetain)(&context, 0));
    WORKS(DRIVER(cuCtxPushCurrent_v2)(context));
    for (int i = 0; i < 2; i++)
        WORKS(DRIVER(cuMemAlloc_v2)(&buffers[i], SIZE));
    pattern_fill(bytes, SIZE, 1);
    WORKS(DRIVER(cuMemcpyHtoD_v2)(buffers[0], bytes, SIZE));
    WORKS(DRIVER(cuCtxSynchronize)());
    return unused;
}

static void *compare(void *unused)
{
    CUcontext context;
    WORKS(DRIVER(cuDevicePrimaryCtxRetain)(&context, 0));
    WORKS(DRIVER(cuCtxPushCurrent_v2)(context));
    WORKS(DRIVER(cuMemcpyDtoH_v2)(bytes, buffers[1], SIZE));
    CHECK_PATTERN(bytes, SIZE, 1);
    return unused;
}

static void in_thread(void *(*function)(void *))
{
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, function, NULL) == 0, "no thread");
    pthread_join(thread, NULL);
}

int main(int count, char **words)
{
    static unsigned char received[SIZE];
    start_threads(&count, &words);
    pattern_fill(bytes, SIZE, 2);
    exchange(bytes, received);
    CHECK_PATTERN(received, SIZE, 2);
    CHECK(!dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), "the library has loaded the driver");
    in_thread(load);
    exchange((void *)(uintptr_t)buffers[0], (void *)(uintptr_t)buffers[1]);
    in_thread(compare);
    exchange((void *)(uintptr_t)buffers[1], received);
    CHECK_PATTERN(received, SIZE, 1);
    CUcontext current = (CUcontext)1;
    WORKS(DRIVER(cuCtxGetCurrent)(&current));
    CHECK(!current, "a context is current in a thread that has none");
    return finish();
}
