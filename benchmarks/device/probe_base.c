/* The ground of the probe: the driver's calls, reports, failures, messages between the processes.
 */
#include "probe.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct driver cu;
struct setting own;
struct shared *shared;
sigjmp_buf leave_section;
const char *fact = "start";

double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

double median(double *values, int number)
{
    qsort(values, (size_t)number, sizeof *values, ascending);
    return values[number / 2];
}

void report(const char *name, double value, const char *unit)
{
    printf("%s %.6g %s\n", name, value, unit);
    fflush(stdout);
}

void report_bytes(const char *name, size_t bytes, double nanoseconds)
{
    char label[80];
    snprintf(label, sizeof label, "%s_%zu", name, bytes);
    report(label, nanoseconds / 1e3, "us");
}

void report_text(const char *name, const char *text)
{
    printf("%s %s\n", name, text);
    fflush(stdout);
}

const char *error_name(CUresult result)
{
    const char *name = NULL;
    static char number[32];
    if (result == CUDA_SUCCESS)
        return "allowed";
    if (cu.cuGetErrorName && cu.cuGetErrorName(result, &name) == CUDA_SUCCESS && name)
        return name;
    snprintf(number, sizeof number, "CUresult_%d", (int)result);
    return number;
}

void fail(const char *text)
{
    printf("%s error %s: %s\n", fact, own.who, text);
    fflush(stdout);
    siglongjmp(leave_section, SECTION_FAILED);
}

void fail_call(const char *call, CUresult result)
{
    char text[200];
    snprintf(text, sizeof text, "%s (%s)", error_name(result), call);
    fail(text);
}

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

void open_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library)
        fail(dlerror());
#define RESOLVE(name)                                                                              \
    *(void **)&cu.name = dlsym(library, TEXT(name));                                               \
    if (!cu.name)                                                                                  \
        report_text("missing_call", TEXT(name));
    CALLS(RESOLVE)
#undef RESOLVE
}

char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    char *text = size < 0 ? NULL : calloc(1, (size_t)size + 1);
    if (text && fread(text, 1, (size_t)size, file) != (size_t)size) {
        free(text);
        text = NULL;
    }
    fclose(file);
    return text;
}

void set_up(void)
{
    static const char *names[KERNELS] = {"nothing", "raise_flag", "work",
                                         "fill",    "compare",    "strided"};
    CUdevice device;
    char label[80];
    double started = now();
    fact = "init";
    CALL(cuInit, 0);
    snprintf(label, sizeof label, "%s_cuInit", own.who);
    report(label, (now() - started) / 1e6, "ms");
    started = now();
    CALL(cuDeviceGet, &device, 0);
    CALL(cuDevicePrimaryCtxRetain, &own.context, device);
    CALL(cuCtxSetCurrent, own.context);
    snprintf(label, sizeof label, "%s_primary_context", own.who);
    report(label, (now() - started) / 1e6, "ms");
    CALL(cuStreamCreate, &own.stream, CU_STREAM_NON_BLOCKING);
    CALL(cuMemAlloc, &own.scratch, 4096);
    CALL(cuMemAllocHost, (void **)&own.flags, 4096);
    memset((void *)own.flags, 0, 4096);
    CALL(cuMemHostGetDevicePointer, &own.flags_device, (void *)own.flags, 0);
    fact = "probe_kernels";
    char *text = own.kernels_file ? read_file(own.kernels_file) : NULL;
    if (!text)
        fail("the file of kernels cannot be read");
    CALL(cuModuleLoadData, &own.module, text);
    free(text);
    for (int i = 0; i < KERNELS; i++)
        CALL(cuModuleGetFunction, &own.kernels[i], own.module, names[i]);
}

void launch(enum kernel kernel, unsigned blocks, unsigned threads, void **arguments)
{
    if (!own.kernels[kernel])
        fail("there is no kernel");
    CALL(cuLaunchKernel, own.kernels[kernel], blocks, 1, 1, threads, 1, 1, 0, own.stream, arguments,
         NULL);
}

void synchronize(void)
{
    CALL(cuStreamSynchronize, own.stream);
}

void fill(CUdeviceptr to, size_t bytes, word seed)
{
    word words = bytes / sizeof(word);
    void *arguments[] = {&to, &words, &seed};
    launch(FILL, 264, 256, arguments);
    synchronize();
}

word wrong_words(CUdeviceptr from, size_t bytes, word seed)
{
    word words = bytes / sizeof(word), wrong = 0;
    void *arguments[] = {&from, &words, &seed, &own.scratch};
    CALL(cuMemcpyHtoD, own.scratch, &wrong, sizeof wrong);
    launch(COMPARE, 264, 256, arguments);
    synchronize();
    CALL(cuMemcpyDtoH, &wrong, own.scratch, sizeof wrong);
    return wrong;
}

void say(int kind, word value, const void *data, size_t size, int descriptor)
{
    struct message message = {section, kind, value, {0}};
    char room[CMSG_SPACE(sizeof descriptor)] = {0};
    struct iovec vector = {&message, sizeof message};
    struct msghdr header = {.msg_iov = &vector, .msg_iovlen = 1};
    if (size)
        memcpy(message.data, data, size < sizeof message.data ? size : sizeof message.data);
    if (descriptor >= 0) {
        header.msg_control = room;
        header.msg_controllen = sizeof room;
        struct cmsghdr *extra = CMSG_FIRSTHDR(&header);
        extra->cmsg_level = SOL_SOCKET;
        extra->cmsg_type = SCM_RIGHTS;
        extra->cmsg_len = CMSG_LEN(sizeof descriptor);
        memcpy(CMSG_DATA(extra), &descriptor, sizeof descriptor);
    }
    if (sendmsg(channel, &header, MSG_NOSIGNAL) < 0) {
        if (!strcmp(own.who, "child"))
            _exit(5);
        fail("the peer is gone");
    }
}

/* The next message of any section; the descriptor in it, or -1. */
static struct message receive(int milliseconds, int *descriptor)
{
    struct message message;
    char room[CMSG_SPACE(sizeof *descriptor)];
    struct iovec vector = {&message, sizeof message};
    struct msghdr header = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    struct pollfd ready = {channel, POLLIN, 0};
    if (poll(&ready, 1, milliseconds) <= 0)
        fail("the peer does not answer");
    if (recvmsg(channel, &header, 0) != (ssize_t)sizeof message)
        fail("the peer is gone");
    struct cmsghdr *extra = CMSG_FIRSTHDR(&header);
    *descriptor = -1;
    if (extra && extra->cmsg_type == SCM_RIGHTS)
        memcpy(descriptor, CMSG_DATA(extra), sizeof *descriptor);
    return message;
}

struct message hear(int kind, int *descriptor)
{
    for (;;) {
        int came;
        struct message message = receive(kind == START ? 110000 : 10000, &came);
        if (kind != START && message.kind == START) {
            /* The parent has given this section up: the main loop starts the next one. */
            pending = message;
            siglongjmp(leave_section, SECTION_GIVEN_UP);
        }
        if (kind == START ? message.kind == START : message.section == section) {
            if (message.kind == FAILED)
                siglongjmp(leave_section, SECTION_FAILED);
            if (message.kind != kind)
                fail("the peer answered out of order");
            if (descriptor)
                *descriptor = came;
            else if (came >= 0)
                close(came);
            return message;
        }
        if (came >= 0)
            close(came);
    }
}

void wait_turn(unsigned value)
{
    double limit = now() + 3e9;
    while (shared->turn != value)
        if (now() > limit)
            fail("the peer does not take its turn");
}
