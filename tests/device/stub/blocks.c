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
#include <stdio.h>
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

uint64_t take_addresses(uint64_t size)
{
    int count = (int)(size / BLOCK);
    int place = range && size <= RANGE ? find_place(count) : -1;
    for (int next = 0; place >= 0 && next < count; next++) used[place + next] = true;
    return place < 0 ? 0 : range + (uint64_t)place * BLOCK;
}

void give_addresses(uint64_t base, uint64_t size)
{
    for (uint64_t next = 0; next < size; next += BLOCK) used[(base + next - range) / BLOCK] = false;
}

bool map_shadow(uint64_t base, uint64_t size, int file, uint64_t offset)
{
    return mmap(shadow_of(base), size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
                (off_t)offset) != MAP_FAILED;
}

void unmap_shadow(uint64_t base, uint64_t size)
{
    mmap(shadow_of(base), size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
         -1, 0);
}

int new_file(CUdevice device, uint64_t size)
{
    char name[32];
    snprintf(name, sizeof name, "towpath-stub-%d", shared_number(device));
    int low = memfd_create(name, MFD_CLOEXEC);
    if (low < 0) return -1;
    /* Above the files of the program, so that its own numbers are those without the stub. */
    int file = fcntl(low, F_DUPFD_CLOEXEC, LOWEST_FILE);
    close(low);
    if (file < 0 || ftruncate(file, (off_t)size) == 0) return file;
    close(file);
    return -1;
}

CUdevice device_of_file(int file)
{
    char path[64], name[64] = "";
    int shared;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (readlink(path, name, sizeof name - 1) < 0) return -1;
    if (sscanf(name, "/memfd:towpath-stub-%d", &shared) != 1) return -1;
    for (CUdevice device = 0; valid_device(device); device++)
        if (shared_number(device) == shared) return device;
    return -1;
}

struct block *map_block(int file, uint64_t size)
{
    struct stat description;
    struct block *block = fstat(file, &description) ? NULL : calloc(1, sizeof *block);
    uint64_t base = block ? take_addresses(size) : 0;
    if (base && map_shadow(base, size, file, 0)) {
        block->base = base;
        block->size = size;
        block->file = file;
        block->inode = description.st_ino;
        add(block);
        return block;
    }
    if (base) give_addresses(base, size);
    free(block);
    return NULL;
}

static struct block *new_block(CUcontext context, CUmemoryPool pool, uint64_t size)
{
    uint64_t all = size;
    for (struct block *other = blocks; other; other = other->next)
        if (!other->opened && other->context->device == context->device) all += other->size;
    if (all > device_memory()) return NULL;
    int file = new_file(context->device, size);
    if (file < 0) return NULL;
    struct block *block = map_block(file, size);
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
    unmap_shadow(block->base, block->size);
    close(block->file);
    give_addresses(block->base, block->size);
    struct block **before = &blocks;
    while (*before != block) before = &(*before)->next;
    *before = block->next;
    free(block);
}
