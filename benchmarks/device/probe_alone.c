/* Facts that one process sees alone: system, device, modules, launches, copies. */
#include "probe.h"

#include <gnu/libc-version.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

enum { KB = 1024, MB = 1024 * 1024 };

void facts_of_system(void)
{
    struct utsname name;
    uname(&name);
    report_text("kernel", name.release);
    report_text("glibc", gnu_get_libc_version());
}

void facts_of_device(void)
{
    static const struct {
        const char *name;
        CUdevice_attribute attribute;
    } rows[] = {
        {"compute_mode", CU_DEVICE_ATTRIBUTE_COMPUTE_MODE},
        {"compute_major", CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
        {"compute_minor", CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
        {"multiprocessors", CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
        {"l2_bytes", CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE},
        {"async_engines", CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT},
        {"unified_addressing", CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING},
        {"pageable_memory_access", CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS},
        {"concurrent_managed", CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS},
        {"host_register", CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED},
        {"registered_host_pointer_same",
         CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM},
        {"memory_pools", CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED},
        {"pool_handle_types", CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES},
        {"vmm", CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED},
        {"vmm_descriptor", CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED},
        {"gpudirect_rdma", CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED},
        {"dma_buf", CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED},
        {"ipc_events", CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED},
    };
    CUdevice device;
    int version = 0;
    size_t bytes = 0;
    char name[100] = "";
    fact = "device";
    CALL(cuDriverGetVersion, &version);
    report("driver_version", version, "");
    CALL(cuDeviceGet, &device, 0);
    CALL(cuDeviceGetName, name, sizeof name, device);
    report_text("device_name", name);
    CALL(cuDeviceTotalMem, &bytes, device);
    report("device_memory", (double)bytes / MB, "MB");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int value = 0;
        CUresult result = RESULT(cuDeviceGetAttribute, &value, rows[i].attribute, device);
        if (result)
            report_text(rows[i].name, error_name(result));
        else
            report(rows[i].name, value, "");
    }
}

static void load(const char *path, const char *text, int again)
{
    CUmodule module;
    char label[300];
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    double started = now();
    CUresult result = RESULT(cuModuleLoadData, &module, text);
    double took = now() - started;
    snprintf(label, sizeof label, "load_%s_%s", again ? "again" : "first", name);
    if (result) {
        report_text(label, error_name(result));
        return;
    }
    report(label, took / 1e6, "ms");
    RESULT(cuModuleUnload, module);
}

void facts_of_modules(void)
{
    fact = "modules";
    for (int i = 0; i < own.ptx_number; i++) {
        char *text = read_file(own.ptx_files[i]);
        if (!text) {
            report_text(own.ptx_files[i], "error cannot be read");
            continue;
        }
        load(own.ptx_files[i], text, 0);
        load(own.ptx_files[i], text, 1);
        free(text);
    }
}

/* Polls until the pinned flag has this value, 1 s at most. */
static void poll_flag(unsigned value)
{
    double limit = now() + 1e9;
    while (own.flags[0] != value)
        if (now() > limit)
            fail("the flag does not come");
}

static void launch_and_flag(unsigned value)
{
    void *arguments[] = {&own.flags_device, &value};
    launch(RAISE_FLAG, 1, 1, arguments);
    poll_flag(value);
}

static void launch_and_write_value(unsigned value)
{
    launch(NOTHING, 1, 32, NULL);
    CALL(cuStreamWriteValue32, own.stream, own.flags_device, value, 0);
    poll_flag(value);
}

static void record_and_query(CUevent event)
{
    CUresult result;
    launch(NOTHING, 1, 32, NULL);
    CALL(cuEventRecord, event, own.stream);
    while ((result = cu.cuEventQuery(event)) == CUDA_ERROR_NOT_READY) {
    }
    if (result)
        fail_call("cuEventQuery", result);
}

static void query_stream(void)
{
    CUresult result;
    launch(NOTHING, 1, 32, NULL);
    while ((result = cu.cuStreamQuery(own.stream)) == CUDA_ERROR_NOT_READY) {
    }
    if (result)
        fail_call("cuStreamQuery", result);
}

void facts_of_launches(void)
{
    CUevent event;
    unsigned value = 0;
    fact = "launches";
    report("launch_synchronize",
           NANOSECONDS(300, 1, launch(NOTHING, 1, 32, NULL); synchronize()) / 1e3, "us");
    report("launch_call", NANOSECONDS(20, 50, launch(NOTHING, 1, 32, NULL)) / 1e3, "us");
    synchronize();
    CALL(cuEventCreate, &event, CU_EVENT_DISABLE_TIMING);
    report("launch_event_query", NANOSECONDS(300, 1, record_and_query(event)) / 1e3, "us");
    report("launch_stream_query", NANOSECONDS(300, 1, query_stream()) / 1e3, "us");
    report("event_query_done", NANOSECONDS(20, 100, cu.cuEventQuery(event)), "ns");
    report("stream_synchronize_idle", NANOSECONDS(20, 100, synchronize()), "ns");
    report("launch_flag_polled", NANOSECONDS(300, 1, launch_and_flag(++value)) / 1e3, "us");
    synchronize();
    fact = "launch_write_value_polled";
    report(fact, NANOSECONDS(300, 1, launch_and_write_value(++value)) / 1e3, "us");
    fact = "contexts";
    report(
        "context_push_pop",
        NANOSECONDS(20, 100, cu.cuCtxPushCurrent(own.context); cu.cuCtxPopCurrent(&(CUcontext){0})),
        "ns");
    report("context_get_current", NANOSECONDS(20, 100, cu.cuCtxGetCurrent(&(CUcontext){0})), "ns");
    unsigned flags;
    int active;
    report("primary_context_state",
           NANOSECONDS(20, 100, cu.cuDevicePrimaryCtxGetState(0, &flags, &active)), "ns");
}

/* One size of copies between the device and host memory of one kind. */
static void host_copies(const char *kind, char *host, CUdeviceptr device, size_t bytes)
{
    char label[80];
    size_t sizes = bytes;
#define ROW(name, statement)                                                                       \
    snprintf(label, sizeof label, name "_%s_%zu", kind, sizes);                                    \
    report(label, NANOSECONDS(100, 1, statement) / 1e3, "us")
    ROW("d2h_sync", CALL(cuMemcpyDtoH, host, device, bytes));
    ROW("h2d_sync", CALL(cuMemcpyHtoD, device, host, bytes));
    ROW("d2h_async_synchronize", CALL(cuMemcpyDtoHAsync, host, device, bytes, own.stream);
        synchronize());
    ROW("h2d_async_synchronize", CALL(cuMemcpyHtoDAsync, device, host, bytes, own.stream);
        synchronize());
#undef ROW
}

static void rates(char *pinned, CUdeviceptr from, CUdeviceptr to, size_t bytes)
{
    double size = (double)bytes;
    report("d2h_rate_pinned_64MB",
           size / NANOSECONDS(5, 1, CALL(cuMemcpyDtoHAsync, pinned, from, bytes, own.stream);
                              synchronize()),
           "GB/s");
    report("h2d_rate_pinned_64MB",
           size / NANOSECONDS(5, 1, CALL(cuMemcpyHtoDAsync, from, pinned, bytes, own.stream);
                              synchronize()),
           "GB/s");
    report("d2d_rate_64MB",
           size / NANOSECONDS(10, 1, CALL(cuMemcpyDtoDAsync, to, from, bytes, own.stream);
                              synchronize()),
           "GB/s");
    static const size_t sizes[] = {8, 64 * KB, MB, 4 * MB, 16 * MB};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        report_bytes("d2d_async_synchronize", sizes[i],
                     NANOSECONDS(100, 1, CALL(cuMemcpyDtoDAsync, to, from, sizes[i], own.stream);
                                 synchronize()));
    report("d2d_async_call",
           NANOSECONDS(20, 20, CALL(cuMemcpyDtoDAsync, to, from, 8, own.stream)) / 1e3, "us");
    synchronize();
}

void facts_of_copies(void)
{
    enum { SIZE = 64 * MB };
    CUdeviceptr from, to;
    char *pinned, *pageable = malloc(SIZE);
    static const size_t sizes[] = {8, KB, 64 * KB};
    fact = "copies";
    if (!pageable)
        fail("there is no memory");
    memset(pageable, 1, SIZE);
    CALL(cuMemAlloc, &from, SIZE);
    CALL(cuMemAlloc, &to, SIZE);
    double started = now();
    CALL(cuMemAllocHost, (void **)&pinned, SIZE);
    report("alloc_pinned_64MB", (now() - started) / 1e6, "ms");
    memset(pinned, 1, SIZE);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        host_copies("pageable", pageable, from, sizes[i]);
        host_copies("pinned", pinned, from, sizes[i]);
    }
    rates(pinned, from, to, SIZE);
    report("d2h_rate_pageable_64MB",
           SIZE / NANOSECONDS(3, 1, CALL(cuMemcpyDtoH, pageable, from, SIZE)), "GB/s");
    CALL(cuMemFreeHost, pinned);
    CALL(cuMemFree, from);
    CALL(cuMemFree, to);
    free(pageable);
}

struct strides {
    CUdeviceptr from;
    word from_stride;
    CUdeviceptr to;
    word to_stride, words;
};

static void strided(struct strides *s)
{
    void *arguments[] = {&s->from, &s->from_stride, &s->to, &s->to_stride, &s->words};
    launch(STRIDED, (unsigned)((s->words + 255) / 256), 256, arguments);
}

/* The wall time of one launch and its synchronization, and the time of each of 20 in a row. */
static void strided_row(const char *name, struct strides s)
{
    char label[80];
    snprintf(label, sizeof label, "%s_synchronize", name);
    report(label, NANOSECONDS(50, 1, strided(&s); synchronize()) / 1e3, "us");
    snprintf(label, sizeof label, "%s_each_of_20", name);
    report(label,
           NANOSECONDS(10, 1, for (int i = 0; i < 20; i++) strided(&s); synchronize()) / 20e3,
           "us");
}

/* 4 MB of 8-byte blocks with a stride of 64 B. */
void facts_of_strides(void)
{
    enum { WORDS = 4 * MB / 8, SPAN = 32 * MB };
    CUdeviceptr from, to, mapped_device;
    void *mapped;
    fact = "strides";
    CALL(cuMemAlloc, &from, SPAN);
    CALL(cuMemAlloc, &to, SPAN);
    CALL(cuMemAllocHost, &mapped, 4 * MB);
    CALL(cuMemHostGetDevicePointer, &mapped_device, mapped, 0);
    strided_row("pack_4MB_8_64", (struct strides){from, 8, to, 1, WORDS});
    strided_row("unpack_4MB_8_64", (struct strides){from, 1, to, 8, WORDS});
    strided_row("strided_copy_4MB_8_64", (struct strides){from, 8, to, 8, WORDS});
    strided_row("contiguous_copy_4MB", (struct strides){from, 1, to, 1, WORDS});
    strided_row("pack_to_pinned_4MB_8_64", (struct strides){from, 8, mapped_device, 1, WORDS});
    strided_row("unpack_from_pinned_4MB_8_64", (struct strides){mapped_device, 1, to, 8, WORDS});
    strided_row("pack_to_pinned_64KB_8_64",
                (struct strides){from, 8, mapped_device, 1, 64 * KB / 8});
    strided_row("pack_64KB_8_64", (struct strides){from, 8, to, 1, 64 * KB / 8});
    CALL(cuMemFreeHost, mapped);
    CALL(cuMemFree, from);
    CALL(cuMemFree, to);
}
