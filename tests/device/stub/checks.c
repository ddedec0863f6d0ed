/* Checks of the stub driver: `checks NAME` runs one, `checks` lists their names. */
#define _GNU_SOURCE
#include "checks.h"

static const struct check *const tables[] = {memory_checks, stream_checks, process_checks,
                                             kernel_checks, export_checks};
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
    static char text[1 << 20];
    const char *path = getenv("TOWPATH_CHECK_PTX");
    if (path) {
        FILE *file = fopen(path, "r");
        MUST(file);
        text[fread(text, 1, sizeof text - 1, file)] = 0;
        fclose(file);
        return text;
    }
    snprintf(text, sizeof text,
             ".version 7.8\n.target sm_70\n.address_size 64\n.visible .entry %s(\n) { ret; }\n",
             entry);
    return text;
}

/* The socket to the other process. */
static int other = -1;

int two_processes(void)
{
    int ends[2];
    MUST(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends));
    pid_t child = fork();
    MUST(child >= 0);
    other = ends[child == 0];
    close(ends[child != 0]);
    return child == 0;
}

void put(const void *data, size_t size) { MUST(write(other, data, size) == (ssize_t)size); }
void get(void *data, size_t size) { MUST(read(other, data, size) == (ssize_t)size); }

/* Sends or receives an open file. */
static int pass_file(int file, bool receive)
{
    char byte = 0, control[CMSG_SPACE(sizeof file)] = {0};
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (receive) {
        MUST(recvmsg(other, &message, 0) == 1);
        memcpy(&file, CMSG_DATA(header), sizeof file);
    } else {
        *header = (struct cmsghdr){CMSG_LEN(sizeof file), SOL_SOCKET, SCM_RIGHTS};
        memcpy(CMSG_DATA(header), &file, sizeof file);
        MUST(sendmsg(other, &message, 0) == 1);
    }
    return file;
}

void put_file(int file) { pass_file(file, false); }
int get_file(void) { return pass_file(-1, true); }

void both_end(int side)
{
    int status = 1;
    if (side) exit(0);
    MUST(wait(&status) > 0 && status == 0);
}

void fill(CUdeviceptr address, char value, size_t size)
{
    WORKS(cuMemsetD8_v2(address, (unsigned char)value, size));
    WORKS(cuCtxSynchronize());
}

char byte_at(CUdeviceptr address)
{
    char value;
    WORKS(cuMemcpyDtoH_v2(&value, address, 1));
    return value;
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
