/* Facts of one process about pointers: attributes and their cost, identity after reuse, and what
 * the other allocators' memory permits. */
#include "probe.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MB = 1024 * 1024 };

static CUresult ask_one(const void *pointer)
{
    unsigned type;
    return RESULT(cuPointerGetAttribute, &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                  (CUdeviceptr)pointer);
}

struct attributes {
    unsigned type, managed;
    int ordinal;
    CUcontext context;
    word id;
    CUdeviceptr start;
    size_t size;
};

static CUresult ask_all(const void *pointer, struct attributes *found)
{
    CUpointer_attribute which[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE,    CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_CONTEXT,
        CU_POINTER_ATTRIBUTE_BUFFER_ID,      CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
        CU_POINTER_ATTRIBUTE_RANGE_SIZE,
    };
    void *data[] = {&found->type, &found->managed, &found->ordinal, &found->context,
                    &found->id,   &found->start,   &found->size};
    memset(found, 0, sizeof *found);
    return RESULT(cuPointerGetAttributes, 7, which, data, (CUdeviceptr)pointer);
}

static void pointer_row(const char *kind, const void *pointer)
{
    char label[80], text[200];
    struct attributes found;
    CUdeviceptr base;
    size_t size;
    CUresult one = ask_one(pointer), all = ask_all(pointer, &found);
    snprintf(label, sizeof label, "attributes_%s", kind);
    snprintf(text, sizeof text, "one: %s; all: ", error_name(one));
    snprintf(text + strlen(text), sizeof text - strlen(text),
             "%s, type %u managed %u ordinal %d context %s id %llu size %zu", error_name(all),
             found.type, found.managed, found.ordinal,
             found.context == own.context ? "own"
             : found.context              ? "other"
                                          : "none",
             found.id, found.size);
    report_text(label, text);
    snprintf(label, sizeof label, "attribute_time_%s", kind);
    report(label, NANOSECONDS(20, 500, ask_one(pointer)), "ns");
    snprintf(label, sizeof label, "attributes_time_%s", kind);
    report(label, NANOSECONDS(20, 500, ask_all(pointer, &found)), "ns");
    snprintf(label, sizeof label, "address_range_time_%s", kind);
    report(label,
           NANOSECONDS(20, 500, RESULT(cuMemGetAddressRange, &base, &size, (CUdeviceptr)pointer)),
           "ns");
}

void facts_of_pointers(void)
{
    int on_stack;
    static int data;
    CUdeviceptr device, managed;
    void *heap = malloc(MB), *pinned;
    fact = "pointers";
    CALL(cuMemAlloc, &device, MB);
    CALL(cuMemAllocHost, &pinned, MB);
    pointer_row("device", (void *)device);
    pointer_row("device_inside", (char *)device + 12345);
    pointer_row("malloc", heap);
    pointer_row("stack", &on_stack);
    pointer_row("data", &data);
    pointer_row("pinned", pinned);
    pointer_row("null", NULL);
    fact = "managed";
    CALL(cuMemAllocManaged, &managed, MB, CU_MEM_ATTACH_GLOBAL);
    pointer_row("managed", (void *)managed);
    CALL(cuMemFree, managed);
    CALL(cuMemFreeHost, pinned);
    CALL(cuMemFree, device);
    free(heap);
}

static void try_sync_memops(const char *name, CUdeviceptr pointer)
{
    int on = 1;
    OUTCOME(name, cuPointerSetAttribute, &on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, pointer);
}

/* Whether a freed address comes back and with which id, and what setting SYNC_MEMOPS costs. */
void facts_of_identity(void)
{
    CUdeviceptr first, second;
    struct attributes before, freed, after;
    CUipcMemHandle old_handle, new_handle;
    int on = 1;
    fact = "identity";
    CALL(cuMemAlloc, &first, 4 * MB);
    try_sync_memops("sync_memops_malloc", first);
    report("sync_memops_set_time",
           NANOSECONDS(20, 20,
                       RESULT(cuPointerSetAttribute, &on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, first)),
           "ns");
    ask_all((void *)first, &before);
    CALL(cuIpcGetMemHandle, &old_handle, first);
    CALL(cuMemFree, first);
    report_text("attributes_after_free", error_name(ask_all((void *)first, &freed)));
    CALL(cuMemAlloc, &second, 4 * MB);
    ask_all((void *)second, &after);
    CALL(cuIpcGetMemHandle, &new_handle, second);
    report_text("address_reused", first == second ? "yes" : "no");
    report("buffer_id_before", (double)before.id, "");
    report("buffer_id_after", (double)after.id, "");
    report_text("ipc_handle_same_after_reuse",
                memcmp(&old_handle, &new_handle, sizeof old_handle) ? "no" : "yes");
    CUdeviceptr small[2];
    CALL(cuMemAlloc, &small[0], 256);
    CALL(cuMemAlloc, &small[1], 256);
    CUipcMemHandle small_handles[2];
    CALL(cuIpcGetMemHandle, &small_handles[0], small[0]);
    CALL(cuIpcGetMemHandle, &small_handles[1], small[1]);
    report("small_allocations_apart", (double)(small[1] - small[0]), "B");
    report_text("small_handles_same",
                memcmp(&small_handles[0], &small_handles[1], sizeof *small_handles) ? "no" : "yes");
    CALL(cuMemFree, small[0]);
    CALL(cuMemFree, small[1]);
    CALL(cuMemFree, second);
}

static void facts_of_async_memory(void)
{
    CUdeviceptr pointer;
    CUipcMemHandle handle;
    fact = "async";
    CALL(cuMemAllocAsync, &pointer, 4 * MB, own.stream);
    synchronize();
    pointer_row("async", (void *)pointer);
    OUTCOME("ipc_handle_of_async", cuIpcGetMemHandle, &handle, pointer);
    try_sync_memops("sync_memops_async", pointer);
    report("alloc_async_free_async",
           NANOSECONDS(50, 1, CUdeviceptr other; CALL(cuMemAllocAsync, &other, 4 * MB, own.stream);
                       CALL(cuMemFreeAsync, other, own.stream)) /
               1e3,
           "us");
    CALL(cuMemFreeAsync, pointer, own.stream);
    synchronize();
}

/* VMM memory that was not created for export. */
static void facts_of_private_vmm(void)
{
    CUmemAllocationProp property = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUmemAccessDesc access = {.location = property.location,
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle memory, again;
    CUdeviceptr address;
    CUipcMemHandle ipc;
    size_t granule = 0;
    int descriptor = -1;
    fact = "vmm_private";
    CALL(cuMemGetAllocationGranularity, &granule, &property, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    report("vmm_granularity", (double)granule / 1024, "KB");
    CALL(cuMemCreate, &memory, granule, &property, 0);
    CALL(cuMemAddressReserve, &address, granule, 0, 0, 0);
    CALL(cuMemMap, address, granule, 0, memory, 0);
    CALL(cuMemSetAccess, address, granule, &access, 1);
    pointer_row("vmm", (void *)address);
    OUTCOME("ipc_handle_of_vmm", cuIpcGetMemHandle, &ipc, address);
    try_sync_memops("sync_memops_vmm", address);
    OUTCOME("vmm_retain_handle", cuMemRetainAllocationHandle, &again, (void *)address);
    OUTCOME("vmm_private_export", cuMemExportToShareableHandle, &descriptor, memory,
            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    RESULT(cuMemUnmap, address, granule);
    RESULT(cuMemRelease, memory);
}

/* A dma-buf of ordinary memory: whether the driver gives one. */
static void facts_of_dma_buf(void)
{
    CUdeviceptr pointer;
    CUmemGenericAllocationHandle handle;
    int descriptor = -1;
    fact = "dma_buf";
    CALL(cuMemAlloc, &pointer, 4 * MB);
    OUTCOME("dma_buf_of_malloc", cuMemGetHandleForAddressRange, &descriptor, pointer, 4 * MB,
            CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
    OUTCOME("retain_handle_of_malloc", cuMemRetainAllocationHandle, &handle, (void *)pointer);
    if (descriptor >= 0)
        close(descriptor);
    CALL(cuMemFree, pointer);
}

void facts_of_allocators(void)
{
    static void (*const parts[])(void) = {facts_of_async_memory, facts_of_private_vmm,
                                          facts_of_dma_buf};
    static size_t next;
    /* A part that fails comes back here and the following one goes on. */
    next = 0;
    sigsetjmp(leave_section, 1);
    while (next < sizeof parts / sizeof *parts)
        parts[next++]();
}
