/*
 * Prints facts about a GPU and its driver, one a line: "name value unit". A fact that cannot be had
 * is "name error ..." with the driver's name of the error.
 *
 *     probe KERNELS [PTX...]
 *
 * KERNELS is probe.cu compiled (PTX or cubin); loading the other texts is timed. There is no MPI:
 * the second process is forked before the driver is initialized. All ends within 100 seconds.
 */
#include "probe.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS = 100 };

int channel, section;
struct message pending;

static void fault(int number)
{
    printf("%s error %s: fault, signal %d\n", fact, own.who, number);
    fflush(stdout);
    siglongjmp(leave_section, SECTION_FAILED);
}

static void watchdog(int number)
{
    static const char text[] = "watchdog error the probe was stopped after 100 s\n";
    (void)number;
    if (write(STDOUT_FILENO, text, sizeof text - 1) < 0)
        _exit(4);
    _exit(3);
}

static void guard(void)
{
    struct sigaction action = {.sa_handler = fault, .sa_flags = SA_NODEFER};
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGFPE, &action, NULL);
    signal(SIGALRM, watchdog);
    alarm(SECONDS);
}

static void alone(void (*facts)(void))
{
    if (!sigsetjmp(leave_section, 1))
        facts();
}

static void serve_section(void)
{
    if (section == 1) {
        set_up();
        say(READY, 0, NULL, 0, -1);
    } else {
        pair_sections[section - 2].child();
    }
}

/* The child sets itself up in section 1 and then serves the sections of two, which begin at 2. */
static void child_serves(void)
{
    static struct message start;
    for (;;) {
        if (sigsetjmp(leave_section, 1) == SECTION_FAILED)
            say(FAILED, 0, NULL, 0, -1);
        start = pending.value ? pending : hear(START, NULL);
        pending.value = 0;
        section = start.section;
        if (start.value == LAST_SECTION)
            return;
        fact = section == 1 ? "child_init" : pair_sections[section - 2].name;
        serve_section();
    }
}

static void together(void (*facts)(void), word what)
{
    section++;
    if (sigsetjmp(leave_section, 1))
        return;
    say(START, what, NULL, 0, -1);
    facts();
}

static void wait_ready(void)
{
    fact = "child_init";
    hear(READY, NULL);
}

static void nothing(void)
{
}

static void parent_asks(pid_t child)
{
    double started = now();
    alone(facts_of_system);
    alone(open_driver);
    alone(set_up);
    alone(facts_of_device);
    alone(facts_of_modules);
    alone(facts_of_launches);
    alone(facts_of_pointers);
    alone(facts_of_copies);
    alone(facts_of_strides);
    alone(facts_of_identity);
    alone(facts_of_allocators);
    together(wait_ready, NEXT_SECTION);
    for (int i = 0; i < pair_section_number; i++) {
        fact = pair_sections[i].name;
        together(pair_sections[i].parent, NEXT_SECTION);
    }
    together(nothing, LAST_SECTION);
    kill(child, SIGTERM);
    waitpid(child, NULL, 0);
    report("probe_time", (now() - started) / 1e9, "s");
}

int main(int count, char **words)
{
    int ends[2];
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends)) {
        report_text("start", "error there is no shared memory or no socket");
        return 1;
    }
    own.kernels_file = count > 1 ? words[1] : NULL;
    own.ptx_files = words + 2;
    own.ptx_number = count > 2 ? count - 2 : 0;
    pid_t child = fork();
    guard();
    channel = ends[child == 0];
    close(ends[child != 0]);
    own.who = child == 0 ? "child" : "parent";
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alone(open_driver);
        child_serves();
        return 0;
    }
    parent_asks(child);
    return 0;
}
