/*
 * Memory of another process. A handle names the file of a block through /proc/PID/fd, and the
 * place of the allocation in it. One handle has one mapping in a context, which lasts until it was
 * closed as often as it was opened, even if its owner has freed the memory. TOWPATH_STUB_IPC=0
 * refuses all of it.
 */
#define _GNU_SOURCE
#include "stub.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAGIC = 0x49706331 };

_Static_assert(sizeof(struct name) <= sizeof(CUipcMemHandle), "a name fits into a handle");

/* A mapping; guarded by `memory`. */
struct opening {
    struct name name;
    CUcontext context;
    uint64_t base;
    unsigned count;
    struct opening *next;
};
static struct opening *openings;

static bool allowed(void) { return setting("TOWPATH_STUB_IPC", 1); }

struct name name_of_region(const struct region *region)
{
    const struct block *block = region->block;
    return (struct name){MAGIC, getpid(), block->file, shared_number(region->device), block->inode,
                         block->size, region->base - block->base, region->size, region->id};
}

CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr address)
{
    ENTER(cuIpcGetMemHandle);
    if (!handle) return CUDA_ERROR_INVALID_VALUE;
    if (!allowed()) return CUDA_ERROR_NOT_SUPPORTED;
    struct name name = {.magic = 0};
    pthread_rwlock_rdlock(&memory);
    struct region *region = find_region(address);
    if (region && region->kind == DEVICE) name = name_of_region(region);
    pthread_rwlock_unlock(&memory);
    if (!name.magic) return CUDA_ERROR_INVALID_VALUE;
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &name, sizeof name);
    return CUDA_SUCCESS;
}

/* The file that a name means, or -1 if its owner has freed the memory or ended. */
static int open_file(const struct name *name)
{
    char path[64];
    struct stat description;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", name->process, name->file);
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file >= 0 && (fstat(file, &description) || description.st_ino != name->inode)) {
        close(file);
        file = -1;
    }
    return file;
}

struct region *map_name(const struct name *name, enum kind kind, CUcontext context, CUresult *error)
{
    *error = CUDA_ERROR_INVALID_VALUE;
    int file = name->magic == MAGIC ? open_file(name) : -1;
    if (file < 0) return NULL;
    *error = CUDA_ERROR_OUT_OF_MEMORY;
    struct block *block = map_block(file, name->block_size);
    struct region *region =
        block ? add_region(kind, block->base + name->offset, name->size, context) : NULL;
    if (!region) {
        close(file);
        return NULL;
    }
    *error = CUDA_SUCCESS;
    block->context = context;
    block->opened = true;
    block->regions = 1;
    region->block = block;
    return region;
}

static CUresult open_name(const struct name *name, CUcontext context, uint64_t *base)
{
    CUresult error;
    struct opening *opening = malloc(sizeof *opening);
    struct region *region = opening ? map_name(name, OPENED, context, &error) : NULL;
    if (!region) {
        free(opening);
        return opening ? error : CUDA_ERROR_OUT_OF_MEMORY;
    }
    *opening = (struct opening){*name, context, region->base, 1, openings};
    openings = opening;
    *base = region->base;
    return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *address, CUipcMemHandle handle, unsigned flags)
{
    ENTER(cuIpcOpenMemHandle_v2);
    struct name name;
    memcpy(&name, &handle, sizeof name);
    if (!address || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS || name.magic != MAGIC)
        return CUDA_ERROR_INVALID_VALUE;
    if (!allowed()) return CUDA_ERROR_NOT_SUPPORTED;
    if (name.process == getpid()) return CUDA_ERROR_INVALID_CONTEXT;
    CUcontext context = current_context();
    if (!visible(name.device)) return CUDA_ERROR_INVALID_DEVICE;
    if (!peers(name.device, shared_number(context->device)))
        return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    uint64_t base = 0;
    CUresult result = CUDA_SUCCESS;
    pthread_rwlock_wrlock(&memory);
    struct opening *opening = openings;
    while (opening && !(opening->context == context && !memcmp(&opening->name, &name, sizeof name)))
        opening = opening->next;
    if (opening) {
        opening->count++;
        base = opening->base;
    } else {
        result = open_name(&name, context, &base);
    }
    pthread_rwlock_unlock(&memory);
    if (!result) *address = base;
    return result;
}

CUresult cuIpcCloseMemHandle(CUdeviceptr address)
{
    ENTER(cuIpcCloseMemHandle);
    CUresult result = CUDA_SUCCESS;
    pthread_rwlock_wrlock(&memory);
    struct opening **before = &openings;
    while (*before && (*before)->base != address) before = &(*before)->next;
    struct opening *opening = *before;
    if (!opening) {
        result = CUDA_ERROR_INVALID_VALUE;
    } else if (--opening->count == 0) {
        /* The region went before if the context was destroyed. */
        struct region *region = find_region(address);
        if (region && region->kind == OPENED) remove_region(region);
        *before = opening->next;
        free(opening);
    }
    pthread_rwlock_unlock(&memory);
    return result;
}
