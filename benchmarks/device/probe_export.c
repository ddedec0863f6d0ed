/* Memory that is created to be exported as a descriptor: a pool's, and VMM memory. */
#include "probe.h"

#include <string.h>
#include <unistd.h>

enum { SIZE = 4 * 1024 * 1024 };
enum { SEED_PARENT = 44, SEED_CHILD = 55 };

static void report_seen(const char *name, word wrong)
{
    report_text(name, wrong ? "error the words are wrong" : "correct");
}

void parent_pool(void)
{
    CUmemPoolProps property = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                               .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                               .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUmemoryPool pool;
    CUdeviceptr memory;
    CUmemPoolPtrExportData exported;
    CUipcMemHandle ipc;
    int descriptor = -1;
    CALL(cuMemPoolCreate, &pool, &property);
    CALL(cuMemPoolExportToShareableHandle, &descriptor, pool,
         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    CALL(cuMemAllocFromPoolAsync, &memory, SIZE, pool, own.stream);
    fill(memory, SIZE, SEED_PARENT);
    OUTCOME("ipc_handle_of_exportable_pool", cuIpcGetMemHandle, &ipc, memory);
    double started = now();
    CALL(cuMemPoolExportPointer, &exported, memory);
    report("pool_export_pointer", (now() - started) / 1e3, "us");
    say(READY, 0, &exported, sizeof exported, descriptor);
    close(descriptor);
    hear(DONE, NULL);
    report_seen("pool_peer_wrote", wrong_words(memory, SIZE, SEED_CHILD));
    CALL(cuMemFreeAsync, memory, own.stream);
    synchronize();
}

void child_pool(void)
{
    CUmemoryPool pool;
    CUdeviceptr memory;
    CUmemPoolPtrExportData exported;
    int descriptor;
    struct message message = hear(READY, &descriptor);
    memcpy(&exported, message.data, sizeof exported);
    double started = now();
    CALL(cuMemPoolImportFromShareableHandle, &pool, (void *)(uintptr_t)descriptor,
         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    report("pool_import", (now() - started) / 1e3, "us");
    started = now();
    CALL(cuMemPoolImportPointer, &memory, pool, &exported);
    report("pool_import_pointer", (now() - started) / 1e3, "us");
    report_seen("pool_kernel_reads_peer", wrong_words(memory, SIZE, SEED_PARENT));
    fill(memory, SIZE, SEED_CHILD);
    CALL(cuMemFree, memory);
    say(DONE, 0, NULL, 0, -1);
    close(descriptor);
}

static CUdeviceptr map_vmm(CUmemGenericAllocationHandle handle, size_t bytes)
{
    CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUdeviceptr address;
    CALL(cuMemAddressReserve, &address, bytes, 0, 0, 0);
    CALL(cuMemMap, address, bytes, 0, handle, 0);
    CALL(cuMemSetAccess, address, bytes, &access, 1);
    return address;
}

/* The handle is taken from the address, as a library has to do it. */
void parent_vmm(void)
{
    CUmemAllocationProp found,
        property = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                    .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUmemGenericAllocationHandle handle, retained;
    int descriptor = -1;
    memset(&found, 0, sizeof found);
    CALL(cuMemCreate, &handle, SIZE, &property, 0);
    CUdeviceptr memory = map_vmm(handle, SIZE);
    CALL(cuMemRetainAllocationHandle, &retained, (void *)(memory + 4096));
    CALL(cuMemGetAllocationPropertiesFromHandle, &found, retained);
    report("vmm_handle_types", found.requestedHandleTypes, "");
    fill(memory, SIZE, SEED_PARENT);
    double started = now();
    CALL(cuMemExportToShareableHandle, &descriptor, retained,
         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    report("vmm_export", (now() - started) / 1e3, "us");
    say(READY, 0, NULL, 0, descriptor);
    close(descriptor);
    hear(DONE, NULL);
    report_seen("vmm_peer_wrote", wrong_words(memory, SIZE, SEED_CHILD));
    CALL(cuMemUnmap, memory, SIZE);
    CALL(cuMemRelease, retained);
    CALL(cuMemRelease, handle);
}

void child_vmm(void)
{
    CUmemGenericAllocationHandle handle;
    int descriptor;
    hear(READY, &descriptor);
    double started = now();
    CALL(cuMemImportFromShareableHandle, &handle, (void *)(uintptr_t)descriptor,
         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    CUdeviceptr memory = map_vmm(handle, SIZE);
    report("vmm_import_and_map", (now() - started) / 1e3, "us");
    report_seen("vmm_kernel_reads_peer", wrong_words(memory, SIZE, SEED_PARENT));
    fill(memory, SIZE, SEED_CHILD);
    CALL(cuMemUnmap, memory, SIZE);
    CALL(cuMemRelease, handle);
    say(DONE, 0, NULL, 0, -1);
    close(descriptor);
}
