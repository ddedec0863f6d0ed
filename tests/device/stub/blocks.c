/*
 * Device memory: blocks of 2 MiB at least, each a file in memory.
 *
 * Two ranges of addresses lie at a constant distance: the one that programs see has no access, so
 * that the processor faults there, and in the other one, the shadow, the stub reaches the same
 * bytes. A freed place is used again at once, the lowest one first. TOWPATH_STUB_MEMORY limits the
 * bytes of a device.
 */
#define _GNU_SOURCE
#include "stub.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define RANGE (64ull << 30)
enum { PLACES = (int)(RANGE / BLOCK), LOWEST_FILE = 600 };

static uint64_t range;
static bool used[PLACES];
static struct block *blocks;

__attribute__((constructor)) static void reserve(void)
{
    void *reserved = mmap(NULL, 2 * RANGE + BLOCK, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    range = reserved == MAP_FAILED ? 0 : ((uint64_t)reserved + BLOCK - 1) / BLOCK * BLOCK;
}

bool device_address(uint64_t address) { return range && address - range < RANGE; }
void *shadow_of(uint64_t address) { return (void *)(uintptr_t)(address + RANGE); }

/* The lowest free place of that many blocks, or -1. */
static int find_place(int count)
{
    for (int first = 0, free = 0; first + free < PLACES;) {
        if (used[first + free]) {
            first += free + 1;
            free = 0;
        } else if (++free == count) {
            return first;
        }
    }
    return -1;
}

/* Adds a block to the list, which is in the order of addresses. */
static void add(struct block *block)
{
    struct block **before = &blocks;
    while (*before && (*before)->base < block->base) before = &(*before)->next;
    block->next = *before;
    *before = block;
}

struct block *map_block(int file, uint64_t size)
{
    int count = (int)(size / BLOCK);
    int place = range && size <= RANGE ? find_place(count) : -1;
    struct block *block = place < 0 ? NULL : calloc(1, sizeof *block);
    if (!block) return NULL;
    struct stat description;
    block->base = range + (uint64_t)place * BLOCK;
    block->size = size;
    block->file = file;
    if (fstat(file, &description)
        || mmap(shadow_of(block->base), size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
                0) == MAP_FAILED) {
        free(block);
        return NULL;
    }
    block->inode = description.st_ino;
    for (int next = 0; next < count; next++) used[place + next] = true;
    add(block);
    return block;
}

static struct block *new_block(CUcontext context, CUmemoryPool pool, uint64_t size)
{
    uint64_t all = size;
    for (struct block *other = blocks; other; other = other->next)
        if (!other->opened && other->context->device == context->device) all += other->size;
    if (all > device_memory()) return NULL;
    int low = memfd_create("towpath-stub", MFD_CLOEXEC);
    if (low < 0) return NULL;
    /* Above the files of the program, so that its own numbers are those without the stub. */
    int file = fcntl(low, F_DUPFD_CLOEXEC, LOWEST_FILE);
    close(low);
    if (file < 0) return NULL;
    struct block *block = ftruncate(file, (off_t)size) ? NULL : map_block(file, size);
    if (!block) {
        close(file);
        return NULL;
    }
    block->context = context;
    block->pool = pool;
    return block;
}

/* The lowest free place of a shared block, or 0. */
static uint64_t gap(const struct block *block, uint64_t size)
{
    uint64_t address = block->base;
    while (address + size <= block->base + block->size) {
        struct region *next = next_region(address);
        if (!next || next->base >= address + size) return address;
        address = (next->base + next->size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    return 0;
}

struct block *place(CUcontext context, CUmemoryPool pool, uint64_t size, uint64_t *address)
{
    /* As in the real driver, small allocations are neighbours in one block. */
    bool shared = size <= BLOCK / 2;
    for (struct block *block = blocks; shared && block; block = block->next) {
        if (!block->shared || block->context != context || block->pool != pool) continue;
        *address = gap(block, size);
        if (*address) return block;
    }
    if (size > RANGE) return NULL;
    struct block *block = new_block(context, pool, (size + BLOCK - 1) / BLOCK * BLOCK);
    if (!block) return NULL;
    block->shared = shared;
    *address = block->base;
    return block;
}

void drop_from_block(struct block *block)
{
    if (--block->regions) return;
    mmap(shadow_of(block->base), block->size, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    close(block->file);
    for (uint64_t next = 0; next < block->size; next += BLOCK)
        used[(block->base + next - range) / BLOCK] = false;
    struct block **before = &blocks;
    while (*before != block) before = &(*before)->next;
    *before = block->next;
    free(block);
}
