/* Checks of the stub driver: `checks NAME` runs one, `checks` lists their names. */
#define _GNU_SOURCE
#include "checks.h"

static const struct check *const tables[] = {memory_checks, stream_checks, process_checks,
                                             kernel_checks};
enum { TABLES = sizeof tables / sizeof *tables };

CUcontext start(void)
{
    CUcontext context;
    WORKS(cuInit(0));
    WORKS(cuDevicePrimaryCtxRetain(&context, 0));
    WORKS(cuCtxSetCurrent(context));
    return context;
}

static sigjmp_buf faulted;
static void on_fault(int number)
{
    (void)number;
    siglongjmp(faulted, 1);
}

bool readable(const void *address)
{
    struct sigaction action = {.sa_handler = on_fault}, before;
    sigaction(SIGSEGV, &action, &before);
    volatile bool result = false;
    if (sigsetjmp(faulted, 1) == 0) {
        (void)*(const volatile char *)address;
        result = true;
    }
    sigaction(SIGSEGV, &before, NULL);
    return result;
}

const char *ptx(const char *entry)
{
    static char text[256];
    snprintf(text, sizeof text,
             ".version 7.8\n.target sm_70\n.address_size 64\n.visible .entry %s(\n) { ret; }\n",
             entry);
    return text;
}

int main(int count, char **arguments)
{
    for (int table = 0; table < TABLES; table++) {
        for (const struct check *check = tables[table]; check->name; check++) {
            if (count == 1) {
                puts(check->name);
            } else if (strcmp(check->name, arguments[1]) == 0) {
                check->run();
                return 0;
            }
        }
    }
    return count == 1 ? 0 : 2;
}
