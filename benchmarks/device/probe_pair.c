/* Facts of two processes on one GPU: registered shared memory, IPC, and switching between them. */
#include "probe.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MB = 1024 * 1024, SHARED_SIZE = 64 * MB, IPC_SIZE = 64 * MB, TURNS = 400, ROUND = 1000 };
enum { SEED_PARENT = 11, SEED_CHILD = 22, SEED_AGAIN = 33 };

static void report_correct(const char *name, word wrong)
{
    char text[80];
    snprintf(text, sizeof text, "error %llu words are wrong", wrong);
    report_text(name, wrong ? text : "correct");
}

/* Maps and registers the shared file; the device's address of it. */
static CUdeviceptr map_registered(int file, void **mapped)
{
    CUdeviceptr device;
    char label[80];
    *mapped = mmap(NULL, SHARED_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (*mapped == MAP_FAILED)
        fail("the shared file cannot be mapped");
    if (own.who[0] == 'p')
        memset(*mapped, 0, SHARED_SIZE);
    double started = now();
    CALL(cuMemHostRegister, *mapped, 4 * MB,
         CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
    snprintf(label, sizeof label, "%s_register_4MB", own.who);
    report(label, (now() - started) / 4e3, "us/MB");
    CALL(cuMemHostGetDevicePointer, &device, *mapped, 0);
    snprintf(label, sizeof label, "%s_registered_same_address", own.who);
    report_text(label, device == (CUdeviceptr)*mapped ? "yes" : "no");
    return device;
}

static word wrong_on_host(const void *memory, size_t bytes, word seed)
{
    const word *words = memory;
    word wrong = 0;
    for (word i = 0; i < bytes / sizeof(word); i++)
        wrong += words[i] != (i + seed) * 0x9e3779b97f4a7c15ull;
    return wrong;
}

/* The parent's kernel writes, the child's CPU and kernel read, the child's kernel writes back. */
static void parent_registers(void)
{
    void *mapped;
    char name[80];
    int file = memfd_create("probe", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, SHARED_SIZE))
        fail("there is no memfd");
    say(READY, 0, NULL, 0, file);
    CUdeviceptr device = map_registered(file, &mapped);
    fill(device, 4 * MB, SEED_PARENT);
    say(HERE, 0, NULL, 0, -1);
    hear(DONE, NULL);
    report_correct("registered_cpu_sees_peer_kernel", wrong_on_host(mapped, 4 * MB, SEED_CHILD));
    report_correct("registered_kernel_sees_peer_kernel", wrong_words(device, 4 * MB, SEED_CHILD));
    CUdeviceptr memory;
    CALL(cuMemAlloc, &memory, 4 * MB);
    report("registered_d2h_4MB",
           NANOSECONDS(50, 1, CALL(cuMemcpyDtoHAsync, mapped, memory, 4 * MB, own.stream);
                       synchronize()) /
               1e3,
           "us");
    report("registered_h2d_4MB",
           NANOSECONDS(50, 1, CALL(cuMemcpyHtoDAsync, memory, mapped, 4 * MB, own.stream);
                       synchronize()) /
               1e3,
           "us");
    CALL(cuMemFree, memory);
    double started = now();
    CALL(cuMemHostUnregister, mapped);
    report("unregister_4MB", (now() - started) / 4e3, "us/MB");
    started = now();
    CALL(cuMemHostRegister, mapped, SHARED_SIZE,
         CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
    report("register_64MB", (now() - started) / 64e3, "us/MB");
    snprintf(name, sizeof name, "register_overlapping");
    OUTCOME(name, cuMemHostRegister, mapped, 4096, CU_MEMHOSTREGISTER_PORTABLE);
    CALL(cuMemHostUnregister, mapped);
    munmap(mapped, SHARED_SIZE);
    close(file);
}

static void child_registers(void)
{
    void *mapped;
    int file;
    hear(READY, &file);
    CUdeviceptr device = map_registered(file, &mapped);
    hear(HERE, NULL);
    report_correct("child_registered_cpu_sees_peer_kernel",
                   wrong_on_host(mapped, 4 * MB, SEED_PARENT));
    report_correct("child_registered_kernel_sees_peer_kernel",
                   wrong_words(device, 4 * MB, SEED_PARENT));
    fill(device, 4 * MB, SEED_CHILD);
    say(DONE, 0, NULL, 0, -1);
    CALL(cuMemHostUnregister, mapped);
    munmap(mapped, SHARED_SIZE);
    close(file);
}

static double free_megabytes(void)
{
    size_t free_bytes = 0, total;
    CALL(cuMemGetInfo, &free_bytes, &total);
    return (double)free_bytes / MB;
}

static void parent_ipc(void)
{
    CUdeviceptr memory;
    CUipcMemHandle handle;
    CALL(cuMemAlloc, &memory, IPC_SIZE);
    fill(memory, IPC_SIZE, SEED_PARENT);
    CALL(cuIpcGetMemHandle, &handle, memory);
    report("ipc_get_handle", NANOSECONDS(20, 20, CALL(cuIpcGetMemHandle, &handle, memory)) / 1e3,
           "us");
    say(READY, 0, &handle, sizeof handle, -1);
    hear(HERE, NULL);
    report_correct("ipc_peer_wrote", wrong_words(memory, IPC_SIZE, SEED_CHILD));
    double before = free_megabytes();
    double started = now();
    CALL(cuMemFree, memory);
    report("free_of_opened_64MB", (now() - started) / 1e3, "us");
    report("freed_while_peer_has_it_open", free_megabytes() - before, "MB");
    say(READY, 0, NULL, 0, -1);
    hear(DONE, NULL);
    report("freed_after_peer_closed", free_megabytes() - before, "MB");
}

/* Opened twice, as a library and its user may, then closed and opened again. */
static void reopen(CUipcMemHandle handle, CUdeviceptr peer)
{
    CUdeviceptr twice;
    CUresult result =
        RESULT(cuIpcOpenMemHandle, &twice, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    report_text("ipc_open_twice", error_name(result));
    if (result == CUDA_SUCCESS) {
        report_text("ipc_open_twice_same_address", twice == peer ? "yes" : "no");
        OUTCOME("ipc_close_of_second", cuIpcCloseMemHandle, twice);
    }
}

static void child_ipc(void)
{
    CUdeviceptr peer, memory;
    CUipcMemHandle handle;
    struct message message = hear(READY, NULL);
    memcpy(&handle, message.data, sizeof handle);
    CALL(cuMemAlloc, &memory, IPC_SIZE);
    double started = now();
    CALL(cuIpcOpenMemHandle, &peer, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    report("ipc_open_64MB", (now() - started) / 1e3, "us");
    started = now();
    CALL(cuIpcCloseMemHandle, peer);
    report("ipc_close_64MB", (now() - started) / 1e3, "us");
    started = now();
    CALL(cuIpcOpenMemHandle, &peer, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    report("ipc_open_again_64MB", (now() - started) / 1e3, "us");
    reopen(handle, peer);
    CALL(cuMemcpyDtoDAsync, memory, peer, IPC_SIZE, own.stream);
    synchronize();
    report_correct("ipc_copy_from_peer", wrong_words(memory, IPC_SIZE, SEED_PARENT));
    report_correct("ipc_kernel_reads_peer", wrong_words(peer, IPC_SIZE, SEED_PARENT));
    static const size_t sizes[] = {8, 64 * 1024, MB, 4 * MB, IPC_SIZE};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        report_bytes("ipc_copy_synchronize", sizes[i],
                     NANOSECONDS(50, 1, CALL(cuMemcpyDtoDAsync, memory, peer, sizes[i], own.stream);
                                 synchronize()));
    fill(peer, IPC_SIZE, SEED_CHILD);
    unsigned type;
    report_text(
        "ipc_pointer_attribute",
        error_name(RESULT(cuPointerGetAttribute, &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, peer)));
    OUTCOME("ipc_handle_of_opened", cuIpcGetMemHandle, &handle, peer);
    say(HERE, 0, NULL, 0, -1);
    hear(READY, NULL);
    report_text("ipc_close_after_free", error_name(RESULT(cuIpcCloseMemHandle, peer)));
    say(DONE, 0, NULL, 0, -1);
    CALL(cuMemFree, memory);
}

/* The parent records after a kernel of about a millisecond; the child waits for the event. */
static void parent_event(void)
{
    CUevent event;
    CUipcEventHandle handle;
    word rounds = 200000;
    void *arguments[] = {&rounds, &own.scratch};
    CALL(cuEventCreate, &event, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS);
    CALL(cuIpcGetEventHandle, &handle, event);
    say(READY, 0, &handle, sizeof handle, -1);
    hear(READY, NULL);
    launch(WORK, 1, 1, arguments);
    CALL(cuEventRecord, event, own.stream);
    say(HERE, 0, NULL, 0, -1);
    synchronize();
    shared->stamp = (word)now();
    hear(DONE, NULL);
    CALL(cuEventDestroy, event);
}

static void child_event(void)
{
    CUevent event;
    CUipcEventHandle handle;
    CUresult result;
    struct message message = hear(READY, NULL);
    memcpy(&handle, message.data, sizeof handle);
    shared->stamp = 0;
    double started = now();
    CALL(cuIpcOpenEventHandle, &event, handle);
    report("ipc_open_event", (now() - started) / 1e3, "us");
    say(READY, 0, NULL, 0, -1);
    hear(HERE, NULL);
    int polls = 0;
    started = now();
    while ((result = cu.cuEventQuery(event)) == CUDA_ERROR_NOT_READY && now() < started + 2e9)
        polls++;
    double seen = now();
    if (result)
        fail_call("cuEventQuery", result);
    while (!shared->stamp && now() < seen + 1e9) {
    }
    report("ipc_event_polls", polls, "");
    report("ipc_event_seen_after_synchronize_of_peer", (seen - (double)shared->stamp) / 1e3, "us");
    CALL(cuStreamWaitEvent, own.stream, event, 0);
    synchronize();
    report_text("ipc_event_stream_wait", "allowed");
    say(DONE, 0, NULL, 0, -1);
    CALL(cuEventDestroy, event);
}

static void small_kernel(void)
{
    launch(NOTHING, 1, 32, NULL);
    synchronize();
}

static void small_copy(void)
{
    CALL(cuMemcpyDtoDAsync, own.scratch + 64, own.scratch, 8, own.stream);
    synchronize();
}

/* Takes every second turn of a round: work, then the flag. */
static void alternate(unsigned first, unsigned end, void (*work)(void))
{
    for (unsigned turn = first; turn < end; turn += 2) {
        wait_turn(turn);
        work();
        shared->turn = turn + 1;
    }
}

/* Microseconds of one turn, of two processes that take turns. No two rounds have a turn in common.
 */
static void parent_alternates(const char *name, unsigned round, void (*work)(void))
{
    unsigned base = round * ROUND;
    hear(READY, NULL);
    double started = now();
    shared->turn = base;
    alternate(base, base + TURNS, work);
    wait_turn(base + TURNS);
    report(name, (now() - started) / TURNS / 1e3, "us");
}

static void child_alternates(unsigned round, void (*work)(void))
{
    say(READY, 0, NULL, 0, -1);
    alternate(round * ROUND + 1, round * ROUND + TURNS, work);
}

static void no_work(void)
{
}

static void parent_switches(void)
{
    report("one_process_peer_idle", NANOSECONDS(TURNS, 1, small_kernel()) / 1e3, "us");
    report("one_process_copy_peer_idle", NANOSECONDS(TURNS, 1, small_copy()) / 1e3, "us");
    parent_alternates("alternating_nothing", 1, no_work);
    parent_alternates("alternating_kernels", 2, small_kernel);
    parent_alternates("alternating_copies", 3, small_copy);
    parent_alternates("alternating_kernel_and_none", 4, small_kernel);
}

static void child_switches(void)
{
    child_alternates(1, no_work);
    child_alternates(2, small_kernel);
    child_alternates(3, small_copy);
    child_alternates(4, no_work);
}

/* Nanoseconds of one kernel that works for so many rounds. */
static double work_time(word rounds)
{
    void *arguments[] = {&rounds, &own.scratch};
    double started = now();
    launch(WORK, 1, 1, arguments);
    synchronize();
    return now() - started;
}

/* The rounds that take so many milliseconds. */
static word calibrate(double milliseconds)
{
    double times[5];
    for (int i = 0; i < 5; i++)
        times[i] = work_time(100000);
    return (word)(100000 * milliseconds * 1e6 / median(times, 5));
}

static void start_at_once(unsigned turn)
{
    if (own.who[0] == 'p') {
        hear(HERE, NULL);
        shared->turn = turn;
    } else {
        say(HERE, 0, NULL, 0, -1);
        wait_turn(turn);
    }
}

/* Both processes start a kernel of a few milliseconds at the same time. */
static void both_work(double milliseconds, unsigned turn)
{
    char label[80];
    double values[5];
    word rounds = 0;
    if (own.who[0] == 'p') {
        rounds = calibrate(milliseconds);
        say(READY, rounds, NULL, 0, -1);
    } else {
        rounds = hear(READY, NULL).value;
    }
    for (unsigned i = 0; i < 5; i++) {
        start_at_once(turn + i);
        values[i] = work_time(rounds) / 1e6;
    }
    snprintf(label, sizeof label, "%s_both_run_%gms_kernels", own.who, milliseconds);
    report(label, median(values, 5), "ms");
    if (own.who[0] == 'p')
        hear(DONE, NULL);
    else
        say(DONE, 0, NULL, 0, -1);
}

/* A small kernel of the parent while the child's kernels keep the GPU busy. */
static void parent_slices(void)
{
    double values[20], copies[20];
    both_work(2, 10000);
    both_work(20, 20000);
    hear(HERE, NULL);
    for (int i = 0; i < 20; i++) {
        double started = now();
        small_kernel();
        values[i] = (now() - started) / 1e3;
    }
    for (int i = 0; i < 20; i++) {
        double started = now();
        small_copy();
        copies[i] = (now() - started) / 1e3;
    }
    shared->stop = 1;
    report("small_kernel_beside_busy_peer", median(values, 20), "us");
    report("small_kernel_beside_busy_peer_worst", values[19], "us");
    report("small_copy_beside_busy_peer", median(copies, 20), "us");
}

static void child_slices(void)
{
    shared->stop = 0;
    shared->turn = 0;
    both_work(2, 10000);
    both_work(20, 20000);
    word rounds = calibrate(2);
    void *arguments[] = {&rounds, &own.scratch};
    say(HERE, 0, NULL, 0, -1);
    double limit = now() + 3e9;
    while (!shared->stop && now() < limit) {
        for (int i = 0; i < 4; i++)
            launch(WORK, 1, 1, arguments);
        synchronize();
    }
}

extern void parent_pool(void), child_pool(void), parent_vmm(void), child_vmm(void);

const struct pair_section pair_sections[] = {
    {"switches", parent_switches, child_switches},     {"ipc", parent_ipc, child_ipc},
    {"registered", parent_registers, child_registers}, {"ipc_event", parent_event, child_event},
    {"pool_export", parent_pool, child_pool},          {"vmm_export", parent_vmm, child_vmm},
    {"slices", parent_slices, child_slices},
};
const int pair_section_number = sizeof pair_sections / sizeof *pair_sections;
