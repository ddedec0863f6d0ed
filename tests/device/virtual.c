/*
 * Virtual memory (TEST_MEMORY=virtual) between two ranks: it is opened by descriptors and not held
 * after it is freed, its addresses may get other physical memory, few descriptors are open, and
 * where the kernel refuses descriptors, messages go another way.
 *
 *     virtual MESSAGES [refused]     MESSAGES from memory that changes with each one; the kernel
 *                                    refuses pidfd_getfd, as it does in many containers
 */
#define _GNU_SOURCE
#include "memory.h"

#include <dirent.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SIZE = 3 << 20, ROUNDS = 8, KEPT = 64, OTHERS = 16 };
enum { FILE_TYPE = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR };

static bool refused;

/* Lets a system call fail in this process from now on. */
static void refuse(unsigned number)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {4, rules};
    REQUIRE(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no filter can be set");
    REQUIRE(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), "no filter can be set");
}

/* The descriptors that are open here: all, or those of device memory. */
static int descriptors(bool of_memory)
{
    DIR *directory = opendir("/proc/self/fd");
    int found = 0;
    for (struct dirent *entry; (entry = readdir(directory));) {
        char path[300], name[64] = "";
        snprintf(path, sizeof path, "/proc/self/fd/%s", entry->d_name);
        if (readlink(path, name, sizeof name - 1) > 0)
            found += !of_memory || strstr(name, "towpath-stub");
    }
    closedir(directory);
    return found;
}

static unsigned long imports(void)
{
    return towpath_stub_calls("cuMemImportFromShareableHandle");
}

static void pass(const void *from, Memory to)
{
    int partner = 1 - check_rank;
    MPI_Sendrecv(from, (int)to.size, MPI_BYTE, partner, 0, to.bytes, (int)to.size, MPI_BYTE,
                 partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void exchange(Memory from, Memory to, unsigned seed)
{
    set_pattern(from, seed + check_rank);
    pass(from.bytes, to);
    CHECK_MEMORY(to, to.size, seed + 1 - check_rank);
}

/* All imports of both ranks. */
static unsigned long all_imports(void)
{
    unsigned long all = imports();
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static void stays_open(Memory from, Memory to)
{
    exchange(from, to, 1);
    unsigned long before = all_imports();
    for (int round = 0; round < ROUNDS; round++)
        exchange(from, to, round);
    CHECK(refused ? before == 0 : before > 0, "%lu allocations are opened", before);
    CHECK(all_imports() == before, "an allocation is opened twice");
}

/*
 * The next messages of the pair tell that memory has been freed: two of them, or if messages go
 * through other memory, which is asked for in turn, some more.
 */
static void is_not_held(Memory small, Memory other)
{
    /* Refused messages go through memory of the library, which it keeps. */
    int before = 0, messages = refused ? 20 : 2, own = refused ? ROUNDS / 2 : 0;
    for (int round = ROUNDS; round >= 0; round--) {
        Memory from = memory_of(true, SIZE + (round << 21)), to = memory_of(true, from.size);
        exchange(from, to, round);
        free_memory(from);
        free_memory(to);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < messages; i++)
            exchange(small, other, round + i);
        MPI_Barrier(MPI_COMM_WORLD);
        int now = descriptors(true);
        if (round == ROUNDS)
            before = now;
        CHECK(now <= before + own, "round %d: %d descriptors of memory instead of %d", round, now,
              before);
    }
}

/* As PyTorch does: addresses stay reserved and get other memory. */
static void is_mapped_anew(Memory other)
{
    Memory memory = memory_of(true, SIZE);
    CUdeviceptr address = device_address_of(memory.bytes);
    for (int round = 0; round < ROUNDS; round++) {
        exchange(memory, other, 10 * round);
        exchange(other, memory, 10 * round + 5);
        CALLED(cuMemUnmap(address, whole_pieces(SIZE)));
        map_new(address, whole_pieces(SIZE), FILE_TYPE);
    }
    free_memory(memory);
}

/* Two allocations side by side; a message is in one of them or in both. */
static void lies_side_by_side(Memory to)
{
    CUdeviceptr address;
    size_t half = whole_pieces(SIZE);
    CALLED(cuMemAddressReserve(&address, 2 * half, 0, 0, 0));
    map_new(address, half, FILE_TYPE);
    map_new(address + half, half, FILE_TYPE);
    char *bytes = (char *)(uintptr_t)address;
    Memory first = {true, half, bytes}, second = {true, half, bytes + half};
    unsigned long before = all_imports();
    exchange((Memory){true, SIZE, second.bytes}, to, 3);
    CHECK(refused || all_imports() > before, "the second allocation is not opened");
    set_pattern(first, 5 + check_rank);
    set_pattern(second, 7 + check_rank);
    pass(bytes + half - SIZE / 2, to);
    long wrong = first_wrong(to, 0, SIZE / 2, 6 - check_rank, half - SIZE / 2);
    CHECK(wrong < 0, "byte %ld of the first allocation is wrong", wrong);
    wrong = first_wrong(to, SIZE / 2, SIZE / 2, 8 - check_rank, 0);
    CHECK(wrong < 0, "byte %ld of the second allocation is wrong", wrong);
    CALLED(cuMemUnmap(address, half));
    CALLED(cuMemUnmap(address + half, half));
    CALLED(cuMemAddressFree(address, 2 * half));
}

/* Messages from memory that changes with each one. */
static void few_descriptors_are_open(int messages)
{
    Memory kept[OTHERS] = {{0}}, to = memory_of(true, 4096);
    int before = descriptors(false), partner = 1 - check_rank;
    for (int i = 0; i < messages; i++) {
        Memory *from = &kept[i % OTHERS];
        if (from->bytes)
            free_memory(*from);
        *from = memory_of(true, 4096);
        MPI_Sendrecv(from->bytes, 4096, MPI_BYTE, partner, 0, to.bytes, 4096, MPI_BYTE, partner, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    int now = descriptors(false);
    /* Each of the program's own has one in the stub, as has each that is opened. */
    CHECK(now <= before + OTHERS + 2 * KEPT, "%d descriptors are open, before %d", now, before);
    for (int i = 0; i < OTHERS; i++)
        free_memory(kept[i]);
    free_memory(to);
}

int main(int count, char **words)
{
    start(&count, &words);
    REQUIRE(check_size == 2 && count > 1, "usage: virtual MESSAGES [refused], with two ranks");
    start_device(check_rank);
    refused = count > 2 && !strcmp(words[2], "refused");
    if (refused)
        refuse(SYS_pidfd_getfd);
    Memory from = memory_of(true, SIZE), to = memory_of(true, SIZE);
    stays_open(from, to);
    is_not_held(from, to);
    is_mapped_anew(to);
    lies_side_by_side(to);
    few_descriptors_are_open(atoi(words[1]));
    free_memory(from);
    free_memory(to);
    return finish();
}
